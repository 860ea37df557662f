// Package tail reads the end of what a program wrote, where it mostly says why it ended.
package tail

import (
	"io"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// Size is how much of the end is looked at, in bytes.
const Size = 4096

// Lines are the lines that are not blank of the last Size bytes of r, which has size bytes, without the white space around them.
func Lines(r io.Reader, size int64) []string {
	if skip := size - Size; skip > 0 {
		if _, err := io.CopyN(io.Discard, r, skip); err != nil {
			return nil
		}
	}
	b, err := io.ReadAll(io.LimitReader(r, Size))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// nodeEnds is what Node writes last where nothing caught an error, whatever the error was; nodeError is the line that says it.
var (
	nodeEnds  = pattern.Lazy{Expr: `^Node\.js v\d`}
	nodeError = pattern.Lazy{Expr: `^[A-Za-z_$][\w$.]*(Error|Exception)\b.*:`}
)

// Reason is the line that says most: the last one, or the error that Node had thrown.
func Reason(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	if !nodeEnds.MatchString(last) {
		return last
	}
	for _, line := range slices.Backward(lines) {
		if nodeError.MatchString(line) || strings.HasPrefix(line, "Error:") {
			return line
		}
	}
	return last
}
