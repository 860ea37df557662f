package completion

import (
	"slices"
	"strings"
)

// positional is a place for an argument: "RUN|ADDRESS ..." has two names and is repeated.
type positional struct {
	names    []string
	repeated bool
}

// positionals reads an ArgsUsage. Brackets say what may be left out, which means nothing here.
func positionals(usage string) (out []positional) {
	or := false
	for token := range strings.FieldsSeq(strings.NewReplacer("[", " ", "]", " ").Replace(usage)) {
		last := len(out) - 1
		switch {
		case token == "...":
			if last >= 0 {
				out[last].repeated = true
			}
		case token == "|":
			or = true
		case or && last >= 0:
			out[last].names = append(out[last].names, strings.Split(token, "|")...)
			or = false
		default:
			out = append(out, positional{names: strings.Split(token, "|")})
		}
	}
	return out
}

// named completes a word that may be any of names: a placeholder in capitals, or the word itself.
func named(names []string, typed string, before []string, src Source) Answer {
	a := Answer{Kind: Words}
	for _, n := range names {
		switch {
		case n == "" || n == "-":
		case n == strings.ToLower(n):
			a.List = append(a.List, Candidate{Value: n})
		case slices.Contains([]string{"FILE", "PLANFILE", "PATH"}, n):
			a.Kind = Files
		case n == "DIR":
			if a.Kind != Files {
				a.Kind = Dirs
			}
		default:
			if list, ok := src.Named(n, typed, before); ok {
				a.List = append(a.List, list...)
			}
		}
	}
	return a
}
