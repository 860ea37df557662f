package profile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/evidence"
)

// Metric is one quantity that samples carry a weight of.
type Metric struct {
	Name string // as the producer names it: cpu, samples, alloc_space
	Unit string
}

// Options say how a profile is aggregated.
type Options struct {
	Metrics []Metric
	Primary int // index of the metric by which rows are heavy: the producer's default
	Budget  evidence.Budget
}

// Ref is a frame that a Builder knows.
type Ref uint32

// Builder sums samples. It is not safe for concurrent use.
type Builder struct {
	opt Options

	frames  []Frame
	frameAt map[Frame]Ref

	// nodes is the tree of stack prefixes; node 0 is the empty stack.
	nodes  []node
	nodeAt map[uint64]uint32 // parent<<32 | frame

	labels  []labelSet // set 0 is no labels
	labelAt map[string]uint32

	stacks  []stack
	stackAt map[stack]uint32
	weights []int64  // stack × metric
	samples []uint64 // stack × metric: records with a weight other than zero

	total     []uint64 // per metric: sum of absolute weights, the bound of every other sum
	counted   []uint64 // per metric: sum of samples, likewise
	net       []int64
	records   uint64
	frameless uint64
	badText   uint64
	memory    int64

	met, text          int64 // frames and bytes of text that were walked so far
	maxFrames, maxText int64 // their limits; tests lower them

	// The last stack that was added: neighbours share most of their frames, and what they share need not be looked up again.
	lastFrames []Ref
	lastNodes  []uint32
}

type node struct{ parent, frame uint32 }

type stack struct{ node, labels uint32 }

type label struct{ key, value string }

type labelSet []label

// OverflowError says that the weights of a metric do not fit 64 bits. Nothing wraps: the profile is refused.
type OverflowError struct {
	Metric Metric
	Record uint64 // from 1
}

// Error says which sample was too much.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("adding sample record %d: the total of metric %s (%s) no longer fits a signed 64-bit number; the profile is refused rather than wrapped", e.Record, e.Metric.Name, e.Metric.Unit)
}

// New starts an aggregation. At least one metric is needed, and Primary must be one of them; anything else
// is a mistake of the caller and panics.
func New(opt Options) *Builder {
	if len(opt.Metrics) == 0 || opt.Primary < 0 || opt.Primary >= len(opt.Metrics) {
		panic("profile: no metrics, or the primary metric is none of them")
	}
	return &Builder{
		opt:     opt,
		frameAt: map[Frame]Ref{},
		nodes:   []node{{}},
		nodeAt:  map[uint64]uint32{},
		labels:  []labelSet{nil},
		labelAt: map[string]uint32{"": 0},
		stackAt: map[stack]uint32{},
		total:   make([]uint64, len(opt.Metrics)),
		counted: make([]uint64, len(opt.Metrics)),
		net:     make([]int64, len(opt.Metrics)),

		maxFrames: MaxFrames,
		maxText:   MaxText,
	}
}

// Reserve keeps rows of the budget for what the caller writes beside the profile.
func (b *Builder) Reserve(rows int64) {
	if b.opt.Budget.Rows > 0 {
		b.opt.Budget.Rows = max(1, b.opt.Budget.Rows-rows)
	}
}

// Frame makes f known. Equal frames are one.
func (b *Builder) Frame(f Frame) (Ref, error) {
	names := int64(len(f.Language) + len(f.Function) + len(f.Module) + len(f.File) + len(f.BuildID))
	if err := b.meetText(names); err != nil {
		return 0, err
	}
	bad := f.validUTF8()
	if r, ok := b.frameAt[f]; ok {
		return r, nil
	}
	if bad {
		b.badText++
	}
	// Repaired names may be longer than those that were met: each bad byte becomes three. Every metric has three sums.
	if bad {
		names *= 3
	}
	if err := b.room(400+names+24*int64(len(b.opt.Metrics)), "frames"); err != nil {
		return 0, err
	}
	r := Ref(len(b.frames))
	b.frames = append(b.frames, f)
	b.frameAt[f] = r
	return r, nil
}

// Add adds one sample record: its frames root to leaf, one weight per metric, and the producer's labels. A
// record without frames counts for the frame "[unknown]". Add keeps neither frames, weights nor labels.
func (b *Builder) Add(frames []Ref, weights []int64, labels map[string]string) error {
	return b.AddCounted(frames, weights, nil, labels)
}

// AddCounted adds one record that stands for several of the producer's own: counts has, for each metric, how many stand behind
// the weight, and is not kept. Where it is nil each weight other than zero counts once.
func (b *Builder) AddCounted(frames []Ref, weights []int64, counts []uint64, labels map[string]string) error {
	if len(weights) != len(b.opt.Metrics) || counts != nil && len(counts) != len(weights) {
		return fmt.Errorf("adding sample record %d: it has %d weights and %d counts for %d metrics", b.records+1, len(weights), len(counts), len(b.opt.Metrics))
	}
	if b.records == 0 {
		if err := b.checkMetrics(); err != nil {
			return err
		}
	}
	if err := b.meetFrames(len(frames)); err != nil {
		return err
	}
	for m, w := range weights {
		abs := uint64(w)
		if w < 0 {
			abs = -abs
		}
		// Every sum of any subset of the weights is within the sum of their absolute values, so this
		// one check keeps all of them from wrapping.
		n := uint64(1)
		if counts != nil {
			n = counts[m]
		}
		if b.total[m]+abs < abs || b.total[m]+abs > math.MaxInt64 || b.counted[m]+n < n {
			return &OverflowError{Metric: b.opt.Metrics[m], Record: b.records + 1}
		}
	}
	if len(frames) == 0 {
		r, err := b.Frame(unknown)
		if err != nil {
			return err
		}
		frames = []Ref{r}
		b.frameless++
	}
	at, err := b.walk(frames)
	if err != nil {
		return err
	}
	set, err := b.labelSet(labels)
	if err != nil {
		return err
	}
	i, err := b.stack(stack{at, set})
	if err != nil {
		return err
	}
	base := int(i) * len(weights)
	for m, w := range weights {
		if w == 0 {
			continue
		}
		n := uint64(1)
		if counts != nil {
			n = counts[m]
		}
		b.weights[base+m] += w
		b.samples[base+m] += n
		b.counted[m] += n
		if w < 0 {
			b.total[m] -= uint64(w)
		} else {
			b.total[m] += uint64(w)
		}
		b.net[m] += w
	}
	b.records++
	return nil
}

// walk is the node of a stack.
func (b *Builder) walk(frames []Ref) (uint32, error) {
	shared := 0
	for shared < min(len(frames), len(b.lastNodes)) && frames[shared] == b.lastFrames[shared] {
		shared++
	}
	b.lastFrames, b.lastNodes = append(b.lastFrames[:shared], frames[shared:]...), b.lastNodes[:shared]
	at := uint32(0)
	if shared > 0 {
		at = b.lastNodes[shared-1]
	}
	for _, f := range frames[shared:] {
		next, err := b.child(at, uint32(f))
		if err != nil {
			return 0, err
		}
		b.lastNodes = append(b.lastNodes, next)
		at = next
	}
	return at, nil
}

func (b *Builder) child(parent, frame uint32) (uint32, error) {
	key := uint64(parent)<<32 | uint64(frame)
	if n, ok := b.nodeAt[key]; ok {
		return n, nil
	}
	if err := b.room(48, "stacks"); err != nil {
		return 0, err
	}
	if len(b.nodes) >= math.MaxUint32 {
		return 0, &evidence.BudgetError{What: "distinct stack prefixes", Table: "stacks", Limit: math.MaxUint32}
	}
	n := uint32(len(b.nodes))
	b.nodes = append(b.nodes, node{parent, frame})
	b.nodeAt[key] = n
	return n, nil
}

func (b *Builder) stack(s stack) (uint32, error) {
	if i, ok := b.stackAt[s]; ok {
		return i, nil
	}
	if err := b.room(48+32*int64(len(b.opt.Metrics)), "stacks"); err != nil {
		return 0, err
	}
	if len(b.stacks) >= math.MaxUint32 {
		return 0, &evidence.BudgetError{What: "distinct stacks", Table: "stacks", Limit: math.MaxUint32}
	}
	i := uint32(len(b.stacks))
	b.stacks = append(b.stacks, s)
	b.stackAt[s] = i
	for range b.opt.Metrics {
		b.weights = append(b.weights, 0)
		b.samples = append(b.samples, 0)
	}
	return i, nil
}

func (b *Builder) labelSet(labels map[string]string) (uint32, error) {
	if len(labels) == 0 {
		return 0, nil
	}
	set := make(labelSet, 0, len(labels))
	bytes := int64(0)
	for k, v := range labels {
		bytes += int64(len(k) + len(v))
		if err := b.CheckLabels(bytes); err != nil {
			return 0, err
		}
		if err := b.meetText(int64(len(k) + len(v))); err != nil {
			return 0, err
		}
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			k, v = strings.ToValidUTF8(k, "\uFFFD"), strings.ToValidUTF8(v, "\uFFFD")
			b.badText++
		}
		set = append(set, label{k, v})
	}
	slices.SortFunc(set, func(x, y label) int {
		if c := strings.Compare(x.key, y.key); c != 0 {
			return c
		}
		return strings.Compare(x.value, y.value)
	})
	// Replacing bad bytes can make two keys one; the first value in order stays.
	set = slices.CompactFunc(set, func(x, y label) bool { return x.key == y.key })
	var key strings.Builder
	for _, l := range set {
		key.WriteString(strconv.Itoa(len(l.key)) + "," + strconv.Itoa(len(l.value)) + ":")
		key.WriteString(l.key)
		key.WriteString(l.value)
	}
	k := key.String()
	if i, ok := b.labelAt[k]; ok {
		return i, nil
	}
	if err := b.room(64+64*int64(len(set))+3*int64(len(k)), "stacks"); err != nil {
		return 0, err
	}
	i := uint32(len(b.labels))
	b.labels = append(b.labels, set)
	b.labelAt[k] = i
	return i, nil
}

func (s labelSet) asMap() map[string]string {
	if len(s) == 0 {
		return nil
	}
	m := make(map[string]string, len(s))
	for _, l := range s {
		m[l.key] = l.value
	}
	return m
}

// size is the bytes of a set's text.
func (s labelSet) size() (n int64) {
	for _, l := range s {
		n += int64(len(l.key) + len(l.value))
	}
	return n
}
