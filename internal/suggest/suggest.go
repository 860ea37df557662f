// Package suggest finds the name that somebody meant when they wrote one that does not exist.
package suggest

import "strings"

// Nearest is the known name nearest to name, or "" when none is near enough to be what was meant: letters' case does not count, and
// about one letter in three may differ. Of equally near names it is the first.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := Distance(name, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// longest bounds the names that are compared: the cost grows with the product of their lengths.
const longest = 512

// Distance is the number of bytes to insert, remove or replace to make b of a; of names too long to be typing errors, the longer length.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
