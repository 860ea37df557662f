package view

import (
	"io"
	"strconv"
	"strings"
)

// ProfileHead is what stands above what is shown of a profile.
type ProfileHead struct {
	Address     string
	Run         RunRef
	Metric      string
	Total       string   // in the metric's unit
	Others      []string // metrics that the profile has beside it
	State       string   // of the evidence
	Overhead    string   // what profiling cost, or ""
	Limitations []Note
}

func (p *page) profileHead(h *ProfileHead) {
	p.put(4, line{{clean(h.Address), strong}}.add(plain, "   "+h.Run.text(p.o)))
	l := line{{"  ", plain}}.add(strong, clean(h.Metric)).add(plain, "  "+p.o.symbols(h.Total)+" in all")
	if h.State != "" && h.State != "complete" {
		l = l.add(plain, "   ").add(work, "the evidence is "+clean(h.State))
	}
	if len(h.Others) > 0 {
		l = l.add(faint, "   (-metric: "+clean(strings.Join(h.Others, ", "))+")")
	}
	p.put(4, l)
}

// shownNotes is how many limitations an answer names; the rest is a command away.
const shownNotes = 3

func (p *page) profileFoot(h *ProfileHead) {
	if len(h.Limitations) > 0 {
		p.put(0, line{{"limitations:", faint}})
		p.notes(h.Limitations[:min(shownNotes, len(h.Limitations))])
		if more := len(h.Limitations) - shownNotes; more > 0 {
			p.put(4, line{{"  (" + strconv.Itoa(more) + " more: flameox show " + ShellQuote(clean(h.Address)) + ")", faint}})
		}
	}
	if h.Overhead != "" {
		p.put(2, line{{"overhead of profiling: ", faint}, {clean(p.o.symbols(h.Overhead)), plain}})
	}
}

// HotFrame is a frame with its weights. What is empty is left out.
type HotFrame struct {
	Self, SelfShare  string
	Inclusive, Share string
	Name, Place      string
}

// Hotspots is the heaviest frames of a profile.
type Hotspots struct {
	Head   ProfileHead
	Frames []HotFrame
	All    int
	Shown  string // share of the self weight that has been shown with this page
	More   string // the command that goes on, or ""
}

// Write writes the list.
func (v *Hotspots) Write(w io.Writer, o Options) error {
	p := newPage(o)
	p.profileHead(&v.Head)
	p.blank()
	t := &Table{Columns: []Column{{Title: "self", Right: true, Keep: true}, {Right: true, Keep: true}, {Title: "inclusive", Right: true, Keep: true}, {Right: true, Keep: true}, {Title: "function"}, {Title: "where", Path: true}}}
	for _, f := range v.Frames {
		t.Rows = append(t.Rows, []string{f.Self, f.SelfShare, f.Inclusive, f.Share, f.Name, f.Place})
	}
	p.table(t, 2)
	text := Plural(len(v.Frames), "frame", "frames") + " of " + Count(v.All)
	if v.Shown != "" {
		text += "; so far " + v.Shown + " of all self weight"
	}
	p.more(text, v.More)
	p.profileFoot(&v.Head)
	return p.writeTo(w)
}

func (p *page) more(text, command string) {
	l := line{{text + ".", plain}}
	if command != "" {
		l = l.add(plain, " More: ").add(strong, clean(command))
	}
	p.put(2, l)
}

// Calls is who calls a frame, or whom it calls.
type Calls struct {
	Head             ProfileHead
	Callers          bool
	Name, Place      string
	Self, SelfShare  string
	Inclusive, Share string
	Calls            []HotFrame // Inclusive is the weight of the call, Share its share of the frame's inclusive weight
	All              int
	More             string
}

// Write writes the list.
func (v *Calls) Write(w io.Writer, o Options) error {
	p := newPage(o)
	p.profileHead(&v.Head)
	l := line{{"  ", plain}}.add(strong, clean(v.Name)).add(faint, "  "+clean(v.Place)).
		add(plain, "   self "+p.o.symbols(joined(v.Self, v.SelfShare))+", inclusive "+p.o.symbols(joined(v.Inclusive, v.Share)))
	p.put(4, l)
	p.blank()
	if len(v.Calls) == 0 {
		text := "calls nothing that was sampled: it is a leaf."
		if v.Callers {
			text = "has no caller: it is a root of the stacks."
		}
		p.put(2, line{{"It " + text, plain}})
	} else {
		title, one, many := "callee", "callee", "callees"
		if v.Callers {
			title, one, many = "caller", "caller", "callers"
		}
		t := &Table{Columns: []Column{{Title: "weight", Right: true, Keep: true}, {Right: true, Keep: true}, {Title: title}, {Title: "where", Path: true}}}
		for _, f := range v.Calls {
			t.Rows = append(t.Rows, []string{f.Inclusive, f.Share, f.Name, f.Place})
		}
		p.table(t, 2)
		p.more(Plural(len(v.Calls), one, many)+" of "+Count(v.All)+"; shares are of the frame's inclusive weight", v.More)
	}
	p.profileFoot(&v.Head)
	return p.writeTo(w)
}

func joined(weight, share string) string {
	if share == "" {
		return weight
	}
	return weight + " (" + share + ")"
}

// Stacks is the heaviest stacks of a profile.
type Stacks struct {
	Head          ProfileHead
	With          string // only stacks with this frame, or ""
	Stacks        []StackLine
	Before        int // stacks on the pages before
	All           int
	Weight, Share string // of all of them
	More          string
}

// StackLine is a stack, leaf first.
type StackLine struct {
	Weight, Share string
	Labels        []string
	Frames        []HotFrame
	Above         int // frames nearer the root that are not shown
}

// Write writes the stacks.
func (v *Stacks) Write(w io.Writer, o Options) error {
	p := newPage(o)
	p.profileHead(&v.Head)
	for i, s := range v.Stacks {
		p.blank()
		l := line{{"  " + Count(v.Before+i+1) + ".  ", plain}}.add(strong, p.o.symbols(s.Weight)).add(plain, "  "+s.Share)
		if len(s.Labels) > 0 {
			l = l.add(faint, "   "+clean(strings.Join(s.Labels, ", ")))
		}
		p.put(6, l)
		t := &Table{Columns: []Column{{}, {Path: true}}}
		for _, f := range s.Frames {
			t.Rows = append(t.Rows, []string{f.Name, f.Place})
		}
		p.table(t, 6)
		if s.Above > 0 {
			p.put(6, line{{"      (" + Plural(s.Above, "frame", "frames") + " more to the root: -depth 0)", faint}})
		}
	}
	p.blank()
	text := Plural(len(v.Stacks), "stack", "stacks") + " of " + Count(v.All)
	if v.With != "" {
		text += " with " + clean(v.With)
	}
	text += ", which weigh " + p.o.symbols(joined(v.Weight, v.Share)) + " together"
	p.more(text, v.More)
	p.profileFoot(&v.Head)
	return p.writeTo(w)
}
