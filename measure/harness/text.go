package harness

import (
	"bytes"
	"strings"
)

// LastLine is the last line of a program's messages that says something, "" where there is none.
func LastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return clip(strings.TrimSpace(lines[len(lines)-1]))
}

// Exception is the line in which Python says what was wrong: the last one that is neither indented nor the head of a traceback. Lines for which wrapper holds count only where there is no other.
func Exception(stderr []byte, wrapper func(line string) bool) string {
	found, wrapped := "", ""
	for raw := range bytes.SplitSeq(stderr, []byte("\n")) {
		line := strings.TrimRight(string(raw), "\r ")
		if line == "" || line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "Traceback (") || strings.HasPrefix(line, "During handling of") || strings.HasPrefix(line, "The above exception") {
			continue
		}
		if wrapper != nil && wrapper(line) {
			wrapped = line
			continue
		}
		found = line
	}
	if found == "" {
		found = wrapped
	}
	return clip(found)
}

// clip keeps a message to what fits in a sentence.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if r := []rune(s); len(r) > 400 {
		return string(r[:400]) + "…"
	}
	return s
}
