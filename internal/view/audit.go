package view

import (
	"fmt"
	"io"
)

// Audit is one result that was made again.
type Audit struct {
	Address  string
	Same     bool
	Compared int      // artifacts that were compared
	Reasons  []string // why it failed this time
	Changed  []Fact   // artifacts with other bytes; only Text, Old and New are used
	Kept     string   // the run that differs
}

// Write writes the verdict, and what differs below it.
func (v *Audit) Write(w io.Writer, o Options) error {
	p := newPage(o)
	mark, st, verdict := p.g.ok, good, "the same: "+Plural(v.Compared, "artifact", "artifacts")
	switch {
	case v.Same:
	case len(v.Changed) > 0:
		mark, st, verdict = p.g.fail, bad, fmt.Sprintf("differs in %s", Plural(len(v.Changed), "artifact", "artifacts"))
	default:
		mark, st, verdict = p.g.fail, bad, "failed this time"
	}
	p.put(2, line{}.add(st, mark).add(plain, " ").add(strong, clean(v.Address)).add(plain, "   "+verdict))
	for _, r := range v.Reasons {
		p.put(4, line{{"    " + clean(r), plain}})
	}
	p.facts(v.Changed)
	if v.Kept != "" {
		p.put(4, line{{"    kept: flameox show " + clean(v.Kept), plain}})
	}
	return p.writeTo(w)
}
