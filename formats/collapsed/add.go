package collapsed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/textline"
)

// The codes of limitations and refusals.
const (
	EmptyFile    = "payload_empty"
	Truncated    = "payload_truncated"
	NotCollapsed = "not_collapsed_stacks"
	Differential = "two_counts"
	Fractional   = "counts_not_whole"
	LongLine     = "line_too_long"
	InvalidLines = "lines_invalid"
	EndUnknown   = "last_line_unfinished"
	NoStacks     = "no_samples"
)

// Error says why a text cannot be read as what it is declared to be.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

// known is how many bytes of names are kept to be found again.
const known = 64 << 20

// AddTo reads a text and adds every stack to an aggregation of one metric, a count. frame is how a name is called in tables, nil where it is no
// part of the stack; it is asked once for most. An error is an *Error where the text is at fault, else the aggregation's.
func AddTo(ctx context.Context, r io.Reader, b *profile.Builder, frame func(name string) *profile.Frame) (Summary, []evidence.Limitation, error) {
	type found struct {
		ref  profile.Ref
		none bool
	}
	refs := map[string]found{}
	size := 0
	var path []profile.Ref
	weight, counts := make([]int64, 1), make([]uint64, 1)
	sum, err := Read(r, func(s Stack) error {
		if s.Line%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := b.CheckDepth(bytes.Count(s.Text, []byte(";")) + 1); err != nil {
			return err
		}
		path = path[:0]
		for name := range s.Frames() {
			f, ok := refs[string(name)]
			if !ok {
				named := frame(string(name))
				if f.none = named == nil; !f.none {
					var err error
					if f.ref, err = b.Frame(*named); err != nil {
						return err
					}
				}
				if size += len(name) + 64; size > known {
					clear(refs)
					size = len(name) + 64
				}
				refs[string(name)] = f
			}
			if !f.none {
				path = append(path, f.ref)
			}
		}
		// Each of the counted stacks was met by itself.
		weight[0], counts[0] = s.Count, uint64(s.Count)
		return b.AddCounted(path, weight, counts, nil)
	})
	if err != nil {
		return sum, nil, refusal(err)
	}
	switch {
	case sum.Lines == 0:
		return sum, nil, &Error{EmptyFile, "the file has no bytes: nothing was written, or the writer was killed"}
	case sum.Fractions > 0:
		return sum, nil, &Error{Fractional, fmt.Sprintf("%d lines have a count with decimals (%s), and a part of a count means nothing", sum.Fractions, sum.First)}
	case sum.Foreign():
		return sum, nil, &Error{NotCollapsed, fmt.Sprintf("the file is no collapsed stacks: %d of its lines are none, beside %d that could be; the first is %s", sum.Invalid, sum.Stacks, sum.First)}
	case sum.Differential():
		return sum, nil, &Error{Differential, "every line ends in two numbers, as in a file that compares two profiles, and nothing says which is meant; collapse each profile by itself"}
	}
	return sum, sum.limitations(), nil
}

func (s *Summary) limitations() (list []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	invalid := s.Invalid
	if s.Cut {
		invalid--
		say(Truncated, "the file breaks off in line %d, which has no count", s.Lines)
	} else if s.Unfinished {
		say(EndUnknown, "the last line has no line end, so nothing shows whether its count is whole")
	}
	if invalid > 0 {
		say(InvalidLines, "%d of %d lines are no stacks with a count, and no comments; they are left out, the first is %s", invalid, s.Lines, s.First)
	}
	if s.Stacks == 0 {
		say(NoStacks, "the file is whole and has no stack")
	}
	return list
}

func refusal(err error) error {
	var long *textline.LongError
	if errors.As(err, &long) {
		return &Error{LongLine, "the file is no collapsed stacks that can be read: " + long.Error()}
	}
	return err
}
