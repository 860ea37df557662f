package render

import (
	"strings"
	"unicode"
)

// wide are the ranges of characters that take two columns on a terminal: CJK, Hangul, fullwidth forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115F, 1}, {0x231A, 0x231B, 1}, {0x23E9, 0x23EC, 1}, {0x2614, 0x2615, 1}, {0x2648, 0x2653, 1}, {0x26A1, 0x26A1, 1},
		{0x2705, 0x2705, 1}, {0x2728, 0x2728, 1}, {0x274C, 0x274C, 1}, {0x2753, 0x2755, 1}, {0x2795, 0x2797, 1}, {0x2B50, 0x2B50, 1},
		{0x2E80, 0x303E, 1}, {0x3041, 0x33FF, 1}, {0x3400, 0x4DBF, 1}, {0x4E00, 0x9FFF, 1}, {0xA000, 0xA4CF, 1}, {0xA960, 0xA97F, 1},
		{0xAC00, 0xD7A3, 1}, {0xF900, 0xFAFF, 1}, {0xFE30, 0xFE6F, 1}, {0xFF00, 0xFF60, 1}, {0xFFE0, 0xFFE6, 1},
	},
	R32: []unicode.Range32{
		{0x16FE0, 0x18DFF, 1}, {0x1AFF0, 0x1B2FF, 1}, {0x1F004, 0x1F004, 1}, {0x1F0CF, 0x1F0CF, 1}, {0x1F18E, 0x1F18E, 1}, {0x1F191, 0x1F19A, 1},
		{0x1F200, 0x1F320, 1}, {0x1F32D, 0x1F335, 1}, {0x1F337, 0x1F393, 1}, {0x1F3A0, 0x1F3CA, 1}, {0x1F3E0, 0x1F3F0, 1}, {0x1F3F8, 0x1F43E, 1},
		{0x1F440, 0x1F4FC, 1}, {0x1F4FF, 0x1F53D, 1}, {0x1F54B, 0x1F567, 1}, {0x1F5FB, 0x1F64F, 1}, {0x1F680, 0x1F6C5, 1}, {0x1F900, 0x1F9FF, 1},
		{0x1FA70, 0x1FAFF, 1}, {0x20000, 0x2FFFD, 1}, {0x30000, 0x3FFFD, 1},
	},
}

// runeWidth is how many columns a terminal gives a character. A tab counts one here; excerpts copy it.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1 // control characters are shown as one visible character
	case unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F:
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// visibleRune is r, or a stand-in where r would move the cursor, change colours or reorder the text.
func visibleRune(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return "?"
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0xFEFF:
		return "?"
	}
	return string(r)
}

// visible is s on one line, with every character that is not text made visible.
func visible(s string) string {
	clean := true
	for _, r := range s {
		if r < 0x20 || r >= 0x7F {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteString(visibleRune(r))
	}
	return b.String()
}
