package reference

// meta are the blocks that every configuration has. Their names and defaults are those that the language accepts; a test compares.
func meta() []Block {
	return []Block{
		{
			Type: "check", Labels: []string{"name"}, Doc: "What must hold after apply. Where it does not, apply ends with exit code 4.",
			Nested: []Nested{{
				Type: "assert", Repeated: true, Doc: "one condition; at least one is there",
				Arguments: conditions("results may be read", "expression over results"),
			}},
		},
		{
			Type: "flameox", Labels: []string{}, Once: true, Doc: "Settings of the experiment. Its values are literal.",
			Arguments: []Argument{
				{Name: "required_version", Type: "string", Doc: `versions of flameox that can read this, such as ">= 0.3, < 1.0"`},
				{Name: "project", Type: "string", Doc: "name of the project in results"},
				{Name: "source", Type: "string", Doc: "where the project's source is published"},
				{Name: "env", Type: "list of strings", Doc: `environment variables that env("NAME") may read`},
			},
			Nested: []Nested{
				{Type: "defaults", Doc: "values of stages' arguments where a stage does not give its own", Arguments: []Argument{
					{Name: "attempts", Type: "whole number", Doc: "how many valid attempts there must be"},
					{Name: "exclusive", Type: "bool", Doc: "whether nothing else may run meanwhile"},
					{Name: "reuse", Type: "string", Doc: `"auto", "never" or an age`},
					{Name: "sensitive", Type: "string", Doc: "who may see the artifacts"},
					{Name: "labels", Type: "strings by name", Doc: "names and values to select and group results by; a stage's own are added to them"},
				}},
				{Type: "store", Doc: "where results are kept", Arguments: []Argument{
					{Name: "path", Type: "string", Doc: "directory of the store, relative to the configuration"},
					{Name: "keep", Type: "duration", Default: `"90d"`, Doc: "how long runs are kept"},
				}},
			},
		},
		{
			Type: "locals", Labels: []string{}, Doc: "Named values, written local.<name> in expressions.",
			Any: "a value; it may mention variables and other local values",
		},
		{
			Type: "output", Labels: []string{"name"}, Doc: "A value that is shown after apply.",
			Arguments: []Argument{
				{Name: "description", Type: "string", Doc: "what the value is"},
				{Name: "sensitive", Type: "bool", Default: "false", Doc: "show it only when asked for by name"},
				{Name: "value", Type: "expression over results", Required: true, Doc: "the value, which may read results"},
			},
		},
		{
			Type: "variable", Labels: []string{"name"},
			Doc: "A value from outside, written var.<name> in expressions: -var, -var-file, FLAMEOX_VAR_<name>, or its default, in this order.",
			Arguments: []Argument{
				{Name: "description", Type: "string", Doc: "what the variable is for"},
				{Name: "sensitive", Type: "bool", Default: "false", Doc: "its value enters no key, plan, log or document"},
				{Name: "nullable", Type: "bool", Default: "true", Doc: "whether null is a value; where not, a null from outside means the default"},
				{Name: "type", Type: "type", Doc: "string, number, bool, list(…), set(…), map(…), object({ … }), any; without it any"},
				{Name: "default", Type: "any value", Doc: "the value where none is given; without it one has to be given"},
			},
			Nested: []Nested{{
				Type: "validation", Repeated: true, Doc: "what a value has to satisfy", Arguments: conditions("variables may be read", "any value"),
			}},
		},
	}
}

func conditions(what, typ string) []Argument {
	return []Argument{
		{Name: "condition", Type: typ, Required: true, Doc: "true where it holds; " + what},
		{Name: "error_message", Type: typ, Required: true, Doc: "what to say where it does not"},
	}
}
