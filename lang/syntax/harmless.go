package syntax

import (
	"bytes"

	"github.com/flameox/flameox/lang/source"
)

// nests marks the bytes that every token has which source.CheckConfig counts as nesting: brackets, quotes, operators, the parts of a
// template, and the f of "if" and "for".
var nests = [256]bool{
	'{': true, '[': true, '(': true, '"': true, '<': true, '$': true, '%': true, '*': true, '/': true, '+': true, '-': true, '!': true,
	'&': true, '|': true, '=': true, '>': true, '?': true, ':': true, '.': true, 'f': true,
}

// harmless says whether it follows from the bytes alone that source.CheckConfig has nothing to object to. It is much cheaper
// than a list of tokens, and may say no of what is harmless.
func harmless(src []byte) bool {
	count := 0
	digits := 0
	for i, c := range src {
		if nests[c] {
			// A single = sets an argument and nests nothing; of two that stand side by side one is counted.
			if c != '=' || i > 0 && src[i-1] == '=' || i > 0 && src[i-1] == '!' {
				if count++; count > source.MaxDepth {
					return false
				}
			}
		}
		switch {
		case c >= '0' && c <= '9' || c == '.' && digits > 0:
			if digits++; digits > 300 {
				return false // longer than any number that is one
			}
		case digits > 0 && (c == 'e' || c == 'E'):
			return false // may be the power of ten of a number
		default:
			digits = 0
		}
	}
	return !bytes.Contains(src, []byte(`\u0000`)) && !bytes.Contains(src, []byte(`\U0000`))
}
