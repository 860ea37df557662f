package completion

import (
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// word is a piece of a command line in a shell.
type word struct {
	text  string // without quotes
	quote byte   // ' or " where one is still open
	// broken is how much of text lies before what the shell replaces: bash replaces only what is behind the last of its word breaks.
	broken int
}

// split reads a line up to the cursor as a POSIX shell does: the last word is the one being typed, "" after a space.
// breaks are characters that begin a new word for readline and not for the shell.
func split(line, breaks string) []word {
	var out []word
	var w word
	begun := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case w.quote == '\'':
			if c == '\'' {
				w.quote = 0
			} else {
				w.text += line[i : i+1]
			}
		case w.quote == '"' && c == '"':
			w.quote = 0
		case c == '\\' && i+1 < len(line) && (w.quote == 0 || strings.IndexByte("\"\\$`", line[i+1]) >= 0):
			i++
			w.text += line[i : i+1]
			begun = true
		case w.quote == '"':
			w.text += line[i : i+1]
		case c == '\'' || c == '"':
			w.quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				out = append(out, w)
			}
			w, begun = word{}, false
		default:
			w.text += line[i : i+1]
			begun = true
			if strings.IndexByte(breaks, c) >= 0 {
				w.broken = len(w.text)
			}
		}
	}
	return append(out, w)
}

var assignment = pattern.Lazy{Expr: `^[A-Za-z_][A-Za-z0-9_]*=`}

// arguments are the words behind the command's own name; variables that are set for it stand before that.
func arguments(words []word) []word {
	for i, w := range words {
		if !assignment.MatchString(w.text) {
			return words[min(i+1, len(words)-1):]
		}
	}
	return words[len(words)-1:]
}

const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-"

// replacement is what bash puts in the place of the typed part of w for value, which begins with w's text.
func (w word) replacement(value string) string {
	if w.quote != 0 {
		// Inside of quotes there are no word breaks, and readline keeps the opening quote.
		if w.quote == '"' {
			return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value)
		}
		return value
	}
	var b strings.Builder
	for _, r := range value[w.broken:] {
		if r < 0x80 && !strings.ContainsRune(harmless, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
