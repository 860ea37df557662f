package view

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Why explains the decision about one instance.
type Why struct {
	Address  string
	State    State
	Sentence string // the reason where no fact of the key moved: "it never ran", "one attempt more is wanted"
	Newest   RunRef // the result it was compared with; zero where there is none
	Changed  []Fact
	Same     []Fact // only Facet and Text are used
	Notes    []string
}

// RunRef names a run.
type RunRef struct {
	Run  string
	Age  time.Duration
	Host string
}

func (r RunRef) text(o Options) string {
	s := "run " + o.symbols(ShortRun(clean(r.Run))) + ", " + Age(r.Age)
	if r.Host != "" {
		s += ", " + clean(r.Host)
	}
	return s
}

// Fact is one fact of a key, with its change.
type Fact struct {
	Facet    string // "inputs", "host_class"
	Text     string // "sortlib/merge.py", or the whole facet in one line
	Old, New string
	Hint     string // a command that shows more, or ""
}

// Write writes the explanation.
func (v *Why) Write(w io.Writer, o Options) error {
	p := newPage(o)
	p.put(0, line{{v.headline(o), plain}})
	if len(v.Changed) > 0 {
		p.blank()
		p.facts(v.Changed)
	}
	if len(v.Same) > 0 {
		p.put(0, line{{"same:", faint}})
		p.facts(v.Same)
	}
	for _, n := range v.Notes {
		p.put(2, line{{"  " + clean(n), plain}})
	}
	return p.writeTo(w)
}

func (v *Why) headline(o Options) string {
	verb := map[State]string{Cached: "cached", Run: "runs", TopUp: "runs again", MayRun: "may run", Start: "is started", Blocked: "blocked", Excluded: "excluded"}[v.State]
	if verb == "" {
		verb = string(v.State)
	}
	if v.Sentence != "" {
		text := verb + ", because " + clean(v.Sentence)
		if v.Newest.Run != "" {
			text += " (" + v.Newest.text(o) + ")"
		}
		if len(v.Changed) > 0 {
			return text + ":"
		}
		return text + "."
	}
	var newest string
	if v.Newest.Run != "" {
		newest = " (" + v.Newest.text(o) + ")"
	}
	if len(v.Changed) == 0 {
		return verb + ", because everything in its key is as in the newest result" + newest + "."
	}
	facets := map[string]bool{}
	for _, f := range v.Changed {
		facets[f.Facet] = true
	}
	return fmt.Sprintf("%s, because %s from the newest result%s:", verb, countFacets(len(facets)), newest)
}

func countFacets(n int) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	if n == 1 {
		return "one facet differs"
	}
	if n < len(words) {
		return words[n] + " facets differ"
	}
	return Count(n) + " facets differ"
}

// facts writes facts in columns: facet, text, change, hint. The facet's name stands once.
func (p *page) facts(list []Fact) {
	facet, text := 12, 0
	for _, f := range list {
		facet = max(facet, utf8.RuneCountInString(f.Facet))
		if f.Old != "" || f.New != "" || f.Hint != "" {
			text = max(text, utf8.RuneCountInString(clean(f.Text)))
		}
	}
	limit := 48
	if p.o.Width > 0 {
		limit = max(12, (p.o.Width-facet-4)/2)
	}
	text = min(text, limit)
	last := ""
	for _, f := range list {
		name := clean(f.Facet)
		if !strings.Contains(name, ".") { // a facet, not a fact of the machine, whose name is looked up
			name = strings.ReplaceAll(name, "_", " ")
		}
		if name == last {
			name = ""
		} else {
			last = name
		}
		l := line{{"  ", plain}}.add(strong, name).pad(facet + 4)
		if f.Old == "" && f.New == "" && f.Hint == "" {
			p.put(facet+4, l.add(plain, clean(f.Text)))
			continue
		}
		l = l.add(plain, cutMiddle(clean(f.Text), text, p.g.ellipsis)).pad(facet + 4 + text + 4)
		if f.Old != "" || f.New != "" {
			l = l.add(work, change(f.Old, f.New, p.g))
		}
		if f.Hint != "" {
			l = l.add(plain, "     ").add(faint, clean(f.Hint))
		}
		p.put(facet+4, l)
	}
}

// Diff compares two runs.
type Diff struct {
	A, B       RunRef
	Address    string // of both, or "A and B"
	Verdict    string // "comparable", "comparable with covariates", "incomparable"
	Why        []string
	Changed    []Fact // of the keys
	Covariates []Fact // of the machines; Facet is not shown
}

// Write writes the comparison.
func (v *Diff) Write(w io.Writer, o Options) error {
	p := newPage(o)
	st := good
	switch {
	case strings.HasPrefix(v.Verdict, "incomparable"):
		st = bad
	case v.Verdict != "comparable":
		st = work
	}
	p.put(2, line{{clean(v.Address), strong}})
	p.put(5, line{{"  a  " + v.A.text(o), plain}})
	p.put(5, line{{"  b  " + v.B.text(o), plain}})
	verdict := line{}.add(st, strings.ReplaceAll(clean(v.Verdict), "_", " "))
	switch len(v.Why) {
	case 0:
		p.put(2, verdict)
	case 1:
		p.put(2, verdict.add(plain, ": "+o.symbols(clean(v.Why[0]))))
	default:
		p.put(2, verdict.add(plain, ":"))
		for _, y := range v.Why {
			p.put(4, line{{"  " + p.g.minus + " " + o.symbols(clean(y)), plain}})
		}
	}
	if len(v.Changed) > 0 {
		p.blank()
		p.put(0, line{{"what was varied:", plain}})
		p.facts(v.Changed)
	} else if len(v.Why) == 0 {
		p.put(0, line{{"Nothing in their keys differs: they are attempts at the same measurement.", plain}})
	}
	if len(v.Covariates) > 0 {
		p.put(0, line{{"covariates (recorded, in no key):", plain}})
		list := make([]Fact, len(v.Covariates))
		for i, c := range v.Covariates {
			list[i] = Fact{Facet: c.Text, Text: change(c.Old, c.New, p.g)}
		}
		p.facts(list)
	}
	return p.writeTo(w)
}
