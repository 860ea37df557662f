package view

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// State is what will become of a stage.
type State string

// The states of a plan.
const (
	Cached   State = "cached"
	Run      State = "run"
	TopUp    State = "top-up"
	MayRun   State = "may run"
	Start    State = "start" // a server
	Blocked  State = "blocked"
	Excluded State = "excluded"
)

func (s State) style() style {
	switch s {
	case Cached:
		return good
	case Run, TopUp, Start:
		return work
	case Blocked:
		return bad
	}
	return faint
}

// Plan says what an apply would do.
type Plan struct {
	Blocks   []Block
	Estimate Estimate
	All      bool   // every instance has a line of its own
	Saved    string // the file the plan was saved to, or ""
	On       string // the machine it was made for as if on it; "" for this one
	Class    string // what that machine is, in one line
}

// Block is a block of the configuration with its instances.
type Block struct {
	Name      string // "capture.pyperf.sort"
	Instances []Instance
}

// Instance is the decision about one instance.
type Instance struct {
	Key        string // "n=1000", or "" for the only one
	State      State
	Have, Want int       // results, of a top-up
	Because    []Because // why it is not cached; the first is shown
	Where      Where     // of a cached one, the result that stands for it; zero shows nothing
	Why, Do    string    // of a blocked one, and the one thing to do
}

// Because is one cause: a fact with its change, or a sentence.
type Because struct {
	Fact     string // "sortlib/merge.py", "after capture.pyperf.sort", "never ran"
	Verb     string // "changed", or ""
	Old, New string // short digests or values; "" where there are none
}

// Where is when and on what host a result was made.
type Where struct {
	Age  time.Duration
	Host string
}

func (w Where) text() string {
	switch {
	case w == Where{}:
		return ""
	case w.Host == "":
		return Age(w.Age)
	}
	return Age(w.Age) + " on " + clean(w.Host)
}

// Estimate is how long the work will take.
type Estimate struct {
	Total     time.Duration // of the stages of which something is known
	MayRun    time.Duration // what those that may run would take on top, as far as it is known
	Runs      int           // earlier runs it comes from
	Unknown   int           // stages to run of which nothing is known
	Elsewhere bool          // some of those runs were on another class of host
}

// How much of a block, and how many blocks without work, are shown in full.
const (
	sameShown   = 2  // instances with one answer before the rest becomes a line
	sameAllowed = 4  // as many are all shown
	rowsShown   = 24 // lines of one block, whatever the answers
	blocksShown = 40 // blocks that are wholly cached
)

// Write writes the plan.
func (v *Plan) Write(w io.Writer, o Options) error {
	p := newPage(o)
	key := v.keyWidth(o)
	if v.On != "" {
		p.put(0, line{{"As on ", plain}, {clean(v.On), strong}}.add(faint, v.class()))
		p.blank()
	}
	idle, hidden := 0, 0
	for _, b := range v.Blocks {
		if allCached(b) {
			if idle++; idle > blocksShown && !v.All {
				hidden++
				continue
			}
		}
		p.put(2, line{{clean(b.Name), strong}})
		for _, r := range v.rows(b, p.g) {
			l := line{{"  ", plain}}.add(r.keyStyle, cutEnd(r.key, key, p.g.ellipsis)).pad(key + 4)
			l = l.add(r.state.style(), string(r.state))
			if len(r.detail) > 0 {
				l = append(l.pad(key+4+9), r.detail...)
			}
			p.put(key+4+9, l)
		}
	}
	if hidden > 0 {
		p.put(0, line{{fmt.Sprintf("(%s more)", Plural(hidden, "block", "blocks")), faint}}.add(good, "  cached"))
	}
	if len(v.Blocks) > 0 {
		p.blank()
	}
	p.put(0, line{{o.symbols(v.summary()), plain}})
	if v.Saved != "" {
		p.put(0, line{{"Saved. Run it with  ", plain}, {"flameox apply " + ShellQuote(v.Saved), strong}})
	}
	return p.writeTo(w)
}

// class is what stands behind the name of the machine.
func (v *Plan) class() string {
	if v.Class == "" {
		return ""
	}
	return " (" + clean(v.Class) + ")"
}

func allCached(b Block) bool {
	for _, i := range b.Instances {
		if i.State != Cached {
			return false
		}
	}
	return len(b.Instances) > 0
}

// keyWidth is the width of the column of instances: as wide as the longest that is shown, within limits.
func (v *Plan) keyWidth(o Options) int {
	n := 12
	for _, b := range v.Blocks {
		for i, inst := range b.Instances {
			if i == rowsShown && !v.All {
				break
			}
			n = max(n, utf8.RuneCountInString(inst.Key))
		}
	}
	if o.Width > 0 {
		return min(n, max(10, o.Width/3))
	}
	return min(n, 60)
}

// row is one line below a block.
type row struct {
	key      string
	keyStyle style
	state    State
	detail   line
}

// rows are the lines of a block: instances with the same answer are one line after the first two.
func (v *Plan) rows(b Block, gl glyphs) []row {
	type group struct {
		n, shown int
	}
	groups := map[string]*group{}
	of := make([]*group, len(b.Instances))
	for n, i := range b.Instances {
		answer := string(Cached) // when and where each was made is no reason for a line
		if i.State != Cached {
			answer = string(i.State) + "\x00" + detail(i, gl).text()
		}
		if groups[answer] == nil {
			groups[answer] = &group{}
		}
		of[n] = groups[answer]
		of[n].n++
	}
	var out []row
	rest := map[State]int{} // instances of answers that have no line left
	for n, i := range b.Instances {
		g := of[n]
		switch same := g.n > sameAllowed && !v.All; {
		case v.All, !same && len(out) < rowsShown, same && g.shown < sameShown && len(out) < rowsShown:
			out = append(out, row{key: clean(i.Key), state: i.State, detail: detail(i, gl)})
			g.shown++
		case same && g.shown == sameShown:
			r := row{key: fmt.Sprintf("(%s more)", Count(g.n-sameShown)), keyStyle: faint, state: i.State}
			if i.State != Cached {
				r.detail = detail(i, gl)
			}
			out = append(out, r)
			g.shown++
		case same && g.shown > sameShown: // they are in the line of the others
		default:
			rest[i.State]++
		}
	}
	for _, s := range []State{Blocked, Run, TopUp, MayRun, Start, Cached, Excluded} {
		if rest[s] > 0 {
			out = append(out, row{key: fmt.Sprintf("(%s more)", Count(rest[s])), keyStyle: faint, state: s, detail: line{{"each for its own reason: flameox why ADDRESS", faint}}})
		}
	}
	return out
}

func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.s)
	}
	return b.String()
}

// detail is what stands beside an instance's state.
func detail(i Instance, g glyphs) (l line) {
	switch i.State {
	case Cached:
		return l.add(faint, i.Where.text())
	case Blocked:
		l = l.add(plain, clean(i.Why))
		if i.Do != "" {
			l = l.add(plain, ": "+clean(i.Do))
		}
		return l
	case TopUp:
		l = l.add(plain, fmt.Sprintf("%s of %s", Count(i.Have), Count(i.Want)))
		if len(i.Because) > 0 {
			l = l.add(plain, ", ")
		}
	}
	if len(i.Because) == 0 {
		return l
	}
	l = append(l, i.Because[0].line(g)...)
	if n := len(i.Because) - 1; n > 0 {
		l = l.add(faint, fmt.Sprintf("  and %s more", Count(n)))
	}
	return l
}

func (b Because) line(g glyphs) (l line) {
	l = l.add(plain, clean(b.Fact))
	if b.Verb != "" {
		l = l.add(plain, " "+clean(b.Verb))
	}
	if b.Old != "" || b.New != "" {
		l = l.add(plain, "  ").add(faint, change(b.Old, b.New, g))
	}
	return l
}

// change is "old → new"; a missing side says so.
func change(old, new string, g glyphs) string {
	if old == "" {
		old = "nothing"
	}
	if new == "" {
		new = "nothing"
	}
	return clean(old) + nbsp + g.arrow + nbsp + clean(new)
}

// summary is the last line: what there is to do and how long it takes.
func (v *Plan) summary() string {
	counts := map[State]int{}
	for _, b := range v.Blocks {
		for _, i := range b.Instances {
			counts[i.State]++
		}
	}
	var parts []string
	for _, c := range []struct {
		state State
		text  string
	}{{Run, "to run"}, {TopUp, "to top up"}, {MayRun, "may run"}, {Start, "to start"}, {Blocked, "blocked"}, {Cached, "cached"}, {Excluded, "excluded"}} {
		if counts[c.state] > 0 {
			parts = append(parts, Count(counts[c.state])+" "+c.text)
		}
	}
	if len(parts) == 0 {
		return "Nothing to do: there are no stages."
	}
	text := strings.Join(parts, ", ") + "."
	if counts[Run]+counts[TopUp]+counts[MayRun] == 0 {
		if counts[Blocked] == 0 {
			return "Nothing to do: " + text
		}
		return text
	}
	return text + v.Estimate.text(v.On)
}

// text is the estimate for the machine on, or for this one.
func (e Estimate) text(on string) string {
	up := ""
	if e.MayRun > 0 {
		up = "up to " + Duration(e.MayRun) + " more if what may run does"
	}
	var text string
	switch {
	case e.Total == 0 && e.Unknown == 0 && up != "":
		return " U" + up[1:] + "."
	case e.Total == 0 && e.Unknown > 0:
		return " How long is not known yet."
	case e.Total == 0:
		return ""
	case e.Elsewhere:
		text = " ~" + Duration(e.Total) + ", going by another class of host"
		if e.Runs > 0 {
			text += " (" + Plural(e.Runs, "earlier run", "earlier runs") + ")"
		}
	default:
		if on == "" {
			on = "this host"
		}
		text = " About " + Duration(e.Total) + " on " + clean(on)
		if e.Runs > 0 {
			text += " (from " + Plural(e.Runs, "earlier run", "earlier runs") + ")"
		}
	}
	if e.Unknown > 0 {
		text += ", not counting " + Plural(e.Unknown, "stage", "stages") + " with no valid run yet"
	}
	if up != "" {
		text += ", " + up
	}
	return text + "."
}
