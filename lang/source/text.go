package source

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Fault is the kind of a Problem.
type Fault int

// The faults.
const (
	NotText   Fault = iota + 1 // invalid UTF-8, a byte order mark, a NUL byte
	TooDeep                    // nested too deeply for a recursive parser
	BadNumber                  // a number nobody can mean
	Escaped                    // an escape that stands for a NUL byte
)

// Problem is something in a text that no parser should see.
type Problem struct {
	Fault Fault
	Range hcl.Range
	Why   string
}

// MaxDepth is how many brackets, operators and template parts may enclose or follow one another in one expression.
const MaxDepth = 400

// maxExponent bounds the powers of ten of a number: printing 1e1000000000 takes gigabytes.
const maxExponent = 308

// CheckText finds what makes src not a text: the first such problem, or nil.
func CheckText(src []byte, filename string) *Problem {
	at := func(offset, length int, why string) *Problem {
		return &Problem{NotText, rangeAt(src, filename, offset, length), why}
	}
	switch {
	case bytes.HasPrefix(src, []byte{0xEF, 0xBB, 0xBF}):
		return at(0, 3, "The file begins with a byte order mark. Save it as UTF-8 without one.")
	case bytes.HasPrefix(src, []byte{0xFF, 0xFE}), bytes.HasPrefix(src, []byte{0xFE, 0xFF}):
		return at(0, 2, "The file is UTF-16. Save it as UTF-8.")
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return at(i, 1, "The file holds a NUL byte, which no text has.")
	}
	if utf8.Valid(src) {
		return nil
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return at(i, 1, fmt.Sprintf("The byte 0x%02X is not valid UTF-8. Save the file as UTF-8.", src[i]))
		}
		i += n
	}
	return nil
}

// rangeAt is the range of length bytes at offset. The column counts characters, as hcl does.
func rangeAt(src []byte, filename string, offset, length int) hcl.Range {
	line := 1 + bytes.Count(src[:offset], []byte{'\n'})
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	column := 1 + utf8.RuneCount(src[start:offset])
	return hcl.Range{
		Filename: filename,
		Start:    hcl.Pos{Line: line, Column: column, Byte: offset},
		End:      hcl.Pos{Line: line, Column: column + 1, Byte: offset + length},
	}
}

// CheckConfig finds what would exhaust the stack or the memory of the parser or of what evaluates the result, at
// most one problem of each fault. src must have passed CheckText.
func CheckConfig(src []byte, filename string) []Problem {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	return check(tokens, false)
}

// CheckTemplate is CheckConfig for the text of a template.
func CheckTemplate(src []byte, filename string) []Problem {
	tokens, _ := hclsyntax.LexTemplate(src, filename, hcl.InitialPos)
	return check(tokens, true)
}

// CheckExpression is CheckConfig for an expression.
func CheckExpression(src []byte, filename string) []Problem {
	tokens, _ := hclsyntax.LexExpression(src, filename, hcl.InitialPos)
	return check(tokens, false)
}

// check follows the brackets. Every open bracket has a count of what could nest in the expression it stands
// in; a comma, or a line's end where one ends an expression, starts anew. The sum of all
// counts is at least the depth of the syntax tree.
func check(tokens hclsyntax.Tokens, template bool) []Problem {
	type level struct {
		count    int
		newlines bool // a line's end separates
		flat     bool // a template: its parts lie side by side
	}
	stack := []level{{newlines: true, flat: template}}
	depth := 0
	var problems []Problem
	var deep, number, escaped bool
	add := func(t hclsyntax.Token) {
		stack[len(stack)-1].count++
		depth++
		if depth > MaxDepth && !deep {
			deep = true
			problems = append(problems, Problem{TooDeep, t.Range, fmt.Sprintf("More than %d brackets, operators or template parts are nested or chained here. Split the expression with locals.", MaxDepth)})
		}
	}
	reset := func() {
		top := &stack[len(stack)-1]
		depth -= top.count
		top.count = 0
	}
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			add(t)
			stack = append(stack, level{newlines: t.Type == hclsyntax.TokenOBrace,
				flat: t.Type == hclsyntax.TokenOQuote || t.Type == hclsyntax.TokenOHeredoc})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(stack) > 1 {
				reset()
				stack = stack[:len(stack)-1]
			}
			if t.Type == hclsyntax.TokenTemplateSeqEnd && stack[len(stack)-1].flat && stack[len(stack)-1].count > 0 {
				// The parts of a template lie side by side. What nests, the body of a directive, was counted at its keyword.
				stack[len(stack)-1].count--
				depth--
			}
		case hclsyntax.TokenIdent:
			// The body of %{if} and %{for} nests in it although its own bracket is closed. Where it ends is not
			// followed: a template of hundreds of directives is refused too.
			if n := len(stack); n > 1 && stack[n-2].flat && (string(t.Bytes) == "if" || string(t.Bytes) == "for") {
				stack[n-2].count++
				depth++
				if depth > MaxDepth && !deep {
					add(t)
				}
			}
		case hclsyntax.TokenComma:
			reset()
		case hclsyntax.TokenNewline:
			if stack[len(stack)-1].newlines {
				reset()
			}
		case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent, hclsyntax.TokenBang,
			hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenQuestion, hclsyntax.TokenColon, hclsyntax.TokenDot:
			add(t)
		case hclsyntax.TokenQuotedLit:
			if !escaped && escapesNUL(t.Bytes) {
				escaped = true
				problems = append(problems, Problem{Escaped, t.Range, "The escape stands for a NUL byte, which no argument of a program can have."})
			}
		case hclsyntax.TokenNumberLit:
			if !number && hugeNumber(t.Bytes) {
				number = true
				problems = append(problems, Problem{BadNumber, t.Range, fmt.Sprintf("Numbers have at most %d digits and powers of ten between -%d and %d.", maxDigits, maxExponent, maxExponent)})
			}
		}
	}
	return problems
}

// escapesNUL says whether a quoted literal has \u0000 or \U00000000 in it.
func escapesNUL(b []byte) bool {
	for i := bytes.IndexByte(b, '\\'); i >= 0 && i+1 < len(b); {
		if rest := b[i+1:]; bytes.HasPrefix(rest, []byte("u0000")) || bytes.HasPrefix(rest, []byte("U00000000")) {
			return true
		}
		i += 2 // the escaped character may be a backslash itself
		next := bytes.IndexByte(b[min(i, len(b)):], '\\')
		if next < 0 {
			return false
		}
		i += next
	}
	return false
}

// maxDigits bounds a literal; beyond it arithmetic with 512 bits has long lost the tail.
const maxDigits = 400

func hugeNumber(b []byte) bool {
	if len(b) > maxDigits {
		return true
	}
	i := bytes.IndexAny(b, "eE")
	if i < 0 {
		return false
	}
	n, err := strconv.Atoi(string(b[i+1:]))
	return err != nil || n > maxExponent || n < -maxExponent
}

// HugeNumber says whether a decimal number is larger, smaller or longer than a configuration may hold.
func HugeNumber(s string) bool { return hugeNumber([]byte(s)) }
