package paging

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// CursorFlag goes on.
var CursorFlag = &cli.StringFlag{Name: "cursor", Usage: "go on behind `CURSOR`, which the answer before ended with"}

// LimitFlag bounds an answer to n rows where nothing else is asked for.
func LimitFlag(n int) *cli.IntFlag {
	return &cli.IntFlag{Name: "limit", Value: n, Usage: "at most `N` rows, up to 1000"}
}

// mostRows is what one answer may hold: an answer is read, and what is processed further is exported or queried.
const mostRows = 1000

// Question is what a cursor holds for.
type Question [16]byte

// Ask makes a question of everything that decides which rows an answer has and in which order: what is read, by content, and the words that were asked with.
func Ask(read []string, words ...string) Question {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	put("flameox cursor 1")
	put(strconv.Itoa(len(words)))
	for _, w := range words {
		put(w)
	}
	for _, r := range read {
		put(r)
	}
	return Question(h.Sum(nil)[:16])
}

// Page is which rows of an answer are wanted.
type Page struct {
	limit int
	after []byte // identity of the last row of the page before; nil for the first page
	of    Question
}

// Of reads the flags. Where the cursor was given for another question it is an error.
func Of(c *cli.Context, q Question) (Page, error) {
	p := Page{limit: c.Int("limit"), of: q}
	if p.limit < 1 || p.limit > mostRows {
		return p, flags.Usage(c, "-limit is %d; give 1 to %d", p.limit, mostRows)
	}
	text := c.String("cursor")
	if text == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != 2*len(q) {
		return p, fmt.Errorf("-cursor is %q, which is no cursor; the last line of an answer names the next one", text)
	}
	if Question(raw[:len(q)]) != q {
		return p, errors.New("the cursor belongs to another question: another run, metric, frame or order, or the rows were extracted anew; ask again without -cursor")
	}
	p.after = raw[len(q):]
	return p, nil
}

// Cut is the rows from begin to end of the page, and the cursor of the page behind it, "" for the last. key is what tells row i from all others.
func (p Page) Cut(n int, key func(i int) string) (begin, end int, next string, err error) {
	if p.after != nil {
		for begin = 0; begin < n && !bytes.Equal(identity(key(begin)), p.after); begin++ {
		}
		if begin == n {
			return 0, 0, "", errors.New("the cursor names a row that is not in the answer; ask again without -cursor")
		}
		begin++
	}
	end = min(n, begin+p.limit)
	if end < n {
		next = base64.RawURLEncoding.EncodeToString(append(append([]byte(nil), p.of[:]...), identity(key(end-1))...))
	}
	return begin, end, next, nil
}

func identity(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:len(Question{})]
}

// More is the command that shows the page behind next: the one that was typed, with the cursor; "" where there is none. kept are the flags that
// belong to the question.
func More(c *cli.Context, next string, kept ...string) string {
	if next == "" {
		return ""
	}
	var words []string
	for _, at := range c.Lineage() { // the command first, then what it is a part of, then the program
		if at.Command != nil && at.Command.Name != "" && at.Command.Name != "flameox" {
			words = append([]string{at.Command.Name}, words...)
		}
	}
	words = append([]string{"flameox"}, words...)
	words = append(words, c.Args().Slice()...)
	for _, f := range append(kept, "limit", cmdline.SensitiveFlag.Name) {
		switch v := c.Value(f).(type) {
		case bool:
			if v {
				words = append(words, "-"+f)
			}
		default:
			if c.IsSet(f) {
				words = append(words, "-"+f, fmt.Sprint(v))
			}
		}
	}
	for i, w := range words {
		words[i] = view.ShellQuote(w)
	}
	return strings.Join(append(words, "-cursor", next), " ")
}
