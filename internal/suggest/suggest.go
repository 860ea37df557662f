// Package suggest finds the name that somebody meant when they wrote one that does not exist.
package suggest

import "strings"

// Nearest is the known name nearest to name, or "" when none is near enough to be what was meant: letters' case does not count, and
// about one letter in three may differ, one of short names. Of equally near names it is the first. Where none is near, the first one that goes on behind
// name with a hyphen is: who writes otlp means otlp-json more likely than nothing.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := Distance(name, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	for _, k := range known {
		if best == "" && name != "" && strings.HasPrefix(strings.ToLower(k), name+"-") {
			best = k
		}
	}
	return best
}

// longest bounds the names that are compared: the cost grows with the product of their lengths.
const longest = 512

// Distance is the number of bytes to insert, remove, replace or swap with their neighbour to make b of a; of names too long to be typing errors, the longer length.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
