package cmdline

import "github.com/urfave/cli/v2"

// JSONFlag asks for a document instead of text.
var JSONFlag = &cli.BoolFlag{Name: "json", Usage: "print a JSON document; its schema is in schemas/"}

// VarFlags set variables.
var VarFlags = []cli.Flag{
	&cli.StringSliceFlag{Name: "var", Usage: "set a variable: `NAME=VALUE`; may be repeated"},
	&cli.StringSliceFlag{Name: "var-file", Usage: "set variables from `FILE`; may be repeated"},
}

// NoShortcutFlag bypasses what is remembered of files; the workspace obeys it.
var NoShortcutFlag = &cli.BoolFlag{Name: "no-shortcut", Usage: "believe nothing that was remembered of files and artifacts: hash them again"}

// SelectFlags choose stages, and set variables.
var SelectFlags = append([]cli.Flag{
	&cli.StringSliceFlag{Name: "target", Usage: "only the stages that `ADDRESS` selects and what they need; * and ? are allowed; may be repeated"},
	&cli.StringSliceFlag{Name: "exclude", Usage: "leave out the stages that `ADDRESS` selects; may be repeated"},
	&cli.StringSliceFlag{Name: "replace", Usage: "run the stages that `ADDRESS` selects although they have valid results; may be repeated"},
}, VarFlags...)

// SensitiveFlag shows what is kept back without it.
var SensitiveFlag = &cli.BoolFlag{Name: "include-sensitive", Usage: "also what is sensitive, and what derives from it"}
