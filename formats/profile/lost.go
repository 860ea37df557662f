package profile

import (
	"fmt"
	"strconv"
)

// What a budget cost, by weight of the primary metric.

func (s *sums) lostSelf(kept []Ref) (lost int64) {
	for _, f := range s.order[len(kept):] {
		lost += abs(s.self[int(f)*s.m+s.primary])
	}
	return lost
}

// lostEdges is the heaviest thing that can be said of edges: a sample that has several dropped edges counts
// for each, so the sum is capped at the profile's total.
func (s *sums) lostEdges(kept, all []int) (lost int64) {
	if len(kept) == len(all) {
		return 0
	}
	have := make(map[int]bool, len(kept))
	for _, j := range kept {
		have[j] = true
	}
	total := int64(s.b.total[s.primary])
	for _, j := range all {
		if !have[j] {
			lost += min(abs(s.edgeWeights[j*s.m+s.primary]), total-lost)
		}
	}
	return lost
}

func (s *sums) lostStacks(kept, all []stackRow) (lost int64) {
	for _, r := range all {
		lost += abs(r.weights[s.primary])
	}
	for _, r := range kept {
		lost -= abs(r.weights[s.primary])
	}
	return lost
}

func (s *sums) unsymbolized() (n int) {
	for _, f := range s.order {
		if s.b.frames[f].Function == "" {
			n++
		}
	}
	return n
}

func count(n int, what string) string { return number(int64(n)) + " " + what }

// number writes thousands apart: 9,998.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 1
	if n < 0 {
		start = 2
	}
	for i := len(s) - 3; i >= start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func amount(n int64, m Metric) string {
	if m.Unit == "" {
		return number(n)
	}
	return number(n) + " " + m.Unit
}

func share(part int64, total uint64) string {
	if total == 0 {
		return "0 %"
	}
	p := 100 * float64(part) / float64(total)
	if part != 0 && p < 0.1 {
		return "less than 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", p)
}
