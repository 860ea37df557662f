package config

// Where a value comes from, beside the name of a flag or of a variable of the environment.
const (
	FromFile    = FileName
	FromDefault = "default"
	FromHarness = "default of the harness"
	FromNowhere = "" // nothing says it, and nothing is built in
)

// Value is a setting with where it comes from.
type Value[T any] struct {
	Value T
	From  string
}

// Set says whether anything gave a value.
func (v Value[T]) Set() bool { return v.From != FromNowhere }

// Pick is the first of a flag, the file and what is built in that says anything: zero values say nothing.
func Pick[T comparable](flag string, said, file, builtin T) Value[T] {
	var nothing T
	switch {
	case said != nothing:
		return Value[T]{said, flag}
	case file != nothing:
		return Value[T]{file, FromFile}
	case builtin != nothing:
		return Value[T]{builtin, FromDefault}
	}
	return Value[T]{}
}
