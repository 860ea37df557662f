package profile

import (
	"fmt"

	"github.com/flameox/flameox/evidence"
)

// The limits of an aggregation. Formats let few bytes stand for many frames: one location may hold a million
// inlined calls, every sample may refer to it a thousand times, and a label or a name is an index of a text of any length. Memory
// does not bound the work of walking those, so the work has bounds of its own, beyond every real profile that fits the
// default budget: profilers cut stacks at 127 to 4,096 frames, and a gigabyte of samples refers to fewer frames.
const (
	// MaxDepth is the number of frames that one sample's stack may have. A reader that expands stacks stops there.
	MaxDepth = 1 << 16
	// MaxFrames is the number of frames that the stacks of all samples may have together, each counted as often as it is met.
	MaxFrames = 1 << 28
	// MaxText is the number of bytes that the names of frames and the labels of samples may have together, likewise.
	MaxText = 2 << 30
	// MaxLabels is the number of bytes that the labels of one sample may have. A reader that joins values stops there.
	MaxLabels = 16 << 20
	// MaxMetricName is the number of bytes of a metric's name and of its unit, which every row repeats.
	MaxMetricName = 4096

	// What is written of stacks is bounded alike: beyond it the lightest are dropped.
	maxStackFrames = 1 << 26
	maxStackText   = 1 << 30
)

// LimitError says which limit of an aggregation a profile goes beyond. No option raises one.
type LimitError struct {
	Record uint64 // sample record, from 1, at which it was noticed
	What   string // what there is too much of: "frames in one stack"
	Limit  int64
}

// Error says what the limit is and what to do.
func (e *LimitError) Error() string {
	return fmt.Sprintf("adding sample record %s: the profile has more than the %s %s that can be summed; it is damaged, or its producer has to record less: shallower stacks, fewer or shorter labels, a lower rate",
		number(int64(e.Record)), number(e.Limit), e.What)
}

// CheckDepth refuses a stack of n frames where they are too many. Add does too, but a reader that expands a stack
// asks before it holds the frames.
func (b *Builder) CheckDepth(n int) error {
	if n > MaxDepth {
		return b.beyond("frames in one stack", MaxDepth)
	}
	return nil
}

// CheckLabels refuses n bytes of labels of one sample where they are too many, likewise before a reader holds them.
func (b *Builder) CheckLabels(n int64) error {
	if n > MaxLabels {
		return b.beyond("bytes in the labels of one sample", MaxLabels)
	}
	return nil
}

// meetFrames counts n frames against MaxDepth and MaxFrames.
func (b *Builder) meetFrames(n int) error {
	if err := b.CheckDepth(n); err != nil {
		return err
	}
	if b.met += int64(n); b.met > b.maxFrames {
		return b.beyond("frames in the stacks of all samples together", b.maxFrames)
	}
	return nil
}

// meetText counts n bytes against MaxText.
func (b *Builder) meetText(n int64) error {
	if b.text += n; b.text > b.maxText {
		return b.beyond("bytes in the names of frames and the labels of samples together", b.maxText)
	}
	return nil
}

func (b *Builder) checkMetrics() error {
	for _, m := range b.opt.Metrics {
		if len(m.Name) > MaxMetricName || len(m.Unit) > MaxMetricName {
			return b.beyond("bytes in the name or unit of one metric", MaxMetricName)
		}
	}
	return nil
}

func (b *Builder) beyond(what string, limit int64) error {
	return &LimitError{Record: b.records + 1, What: what, Limit: limit}
}

// room accounts for n more bytes. Finish needs about as much again, so Add stops at half of the budget.
func (b *Builder) room(n int64, table string) error { return b.charge(n, table, b.opt.Budget.Memory/2) }

// charge accounts for n more bytes of at most limit.
func (b *Builder) charge(n int64, table string, limit int64) error {
	b.memory += n
	if b.opt.Budget.Memory > 0 && b.memory > limit {
		return &evidence.BudgetError{What: "bytes of memory", Table: table, Limit: b.opt.Budget.Memory}
	}
	return nil
}
