package publish

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/flameox/flameox/internal/digest"
)

// LeftOut is a part, or a row of the runs table, that should be visible and is not, because it could not be read. The rest of
// the view does without it, and every publication tries it again.
type LeftOut struct {
	Table    string        `json:"table"`
	Run      string        `json:"run"`
	Provider string        `json:"provider,omitempty"` // "" of a row of the runs table
	From     string        `json:"from,omitempty"`     // address of the stage that made it
	Digest   digest.Digest `json:"digest"`
	Lost     bool          `json:"lost,omitempty"`  // its file is gone or holds other bytes than Digest says
	Given    bool          `json:"given,omitempty"` // it was given up on purpose: nobody is told
	Why      string        `json:"why"`             // a clause
	Try      string        `json:"try"`             // what helps, a clause
}

// String says what was left out, why, and what to do.
func (l LeftOut) String() string {
	what := fmt.Sprintf("table %s of run %s", l.Table, l.Run)
	if l.Provider != "" {
		what += " by " + l.Provider
	}
	if l.From != "" {
		what += " (" + l.From + ")"
	}
	return fmt.Sprintf("%s: %s; %s", what, l.Why, l.Try)
}

// mostWarnings bounds what is said at once.
const mostWarnings = 5

// Warnings tells people what is left out: in full where it is news, as a number where it was said before.
func (r Report) Warnings() []string {
	news := missed(r.NewlyOut)
	lines := warnings(news)
	if n := len(missed(r.LeftOut)) - len(news); n > 0 {
		lines = append(lines, fmt.Sprintf("the published evidence is still without %s that an earlier apply left out; `flameox query` names them", parts(n)))
	}
	return lines
}

// Warnings tells people what the generation is without.
func (g *Generation) Warnings() []string { return warnings(missed(g.m.LeftOut)) }

// missed are those that nobody gave up.
func missed(list []LeftOut) []LeftOut {
	return slices.DeleteFunc(slices.Clone(list), func(l LeftOut) bool { return l.Given })
}

func warnings(list []LeftOut) (lines []string) {
	for _, l := range list[:min(len(list), mostWarnings)] {
		lines = append(lines, "the published evidence is without "+l.String())
	}
	if n := len(list) - mostWarnings; n > 0 {
		lines = append(lines, fmt.Sprintf("the published evidence is without %s more", parts(n)))
	}
	return lines
}

func parts(n int) string {
	if n == 1 {
		return "1 part"
	}
	return fmt.Sprintf("%d parts", n)
}

// leftOut makes one. why can hold text of a damaged file, so it is bounded and printable.
func leftOut(table string, s source, why, try string) LeftOut {
	const most = 400
	why = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, why)
	if runes := []rune(why); len(runes) > most {
		why = string(runes[:most]) + "…"
	}
	return LeftOut{Given: s.given, Table: table, Run: s.run, Provider: s.provider, From: s.from, Digest: s.digest, Why: why, Try: try}
}

// again says how a stage is run although its result stands.
func again(from string) string {
	if from == "" {
		return "run the extraction again with `flameox apply -replace ADDRESS`"
	}
	return fmt.Sprintf("run it again with `flameox apply -replace '%s'`", from)
}

// same says whether two name the same content in the same place, whatever is wrong with it.
func (l LeftOut) same(o LeftOut) bool {
	return l.Table == o.Table && l.Run == o.Run && l.Provider == o.Provider && l.Digest == o.Digest
}

// newlyOut is what of list is not in before; both are sorted.
func newlyOut(list, before []LeftOut) (out []LeftOut) {
	for _, l := range list {
		if _, there := slices.BinarySearchFunc(before, l, compareLeftOut); !there {
			out = append(out, l)
		}
	}
	return out
}

func compareLeftOut(a, b LeftOut) int {
	return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Run, b.Run), strings.Compare(a.Provider, b.Provider),
		bytes.Compare(a.Digest[:], b.Digest[:]))
}

func sortLeftOut(list []LeftOut) { slices.SortFunc(list, compareLeftOut) }

// sameLeftOut compares two sorted lists. The sentences are left aside: a better one is no reason to publish.
func sameLeftOut(a, b []LeftOut) bool {
	return slices.EqualFunc(a, b, func(x, y LeftOut) bool { return x.same(y) && x.Lost == y.Lost })
}
