// Package interchange writes evidence in the formats of other tools: profiles for pprof, speedscope, flame graph scripts and Perfetto, samples
// for benchstat.
//
// The weights of what is written add up to those of the profile: what a budget left out of the rows is one frame of its own. What a format cannot hold
// is a Loss, which says what and how much; what would be wrong in it (a weight below zero as a width) is refused.
//
// It is for other tools. A file that was written here says nothing that the evidence does not, and less.
package interchange
