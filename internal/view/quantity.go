package view

import (
	"math"
	"strconv"
	"time"
)

// nanoseconds are the lengths of the units of time that producers write.
var nanoseconds = map[string]float64{
	"ns": 1, "nanoseconds": 1, "nanosecond": 1, "us": 1e3, "µs": 1e3, "microseconds": 1e3, "microsecond": 1e3,
	"ms": 1e6, "milliseconds": 1e6, "millisecond": 1e6, "s": 1e9, "seconds": 1e9, "second": 1e9,
}

// Quantity is a weight in a producer's unit as a person compares it: times and sizes in the unit that suits, anything else as a number with its unit.
func Quantity(n int64, unit string) string {
	if n == 0 {
		return "0"
	}
	if f, ok := nanoseconds[unit]; ok {
		if ns := float64(n) * f; math.Abs(ns) < math.MaxInt64 {
			return Duration(time.Duration(ns))
		}
	}
	switch unit {
	case "bytes", "byte":
		return Bytes(n)
	case "", "count":
		return count64(n)
	}
	return count64(n) + " " + unit
}

// count64 is a number with its thousands apart.
func count64(n int64) string {
	if n == math.MinInt64 {
		return strconv.FormatInt(n, 10)
	}
	return Count(int(n))
}

// Percent is a share of a whole: "33.4 %", "< 0.1 %"; "" where there is no whole.
func Percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	p := 100 * float64(part) / float64(whole)
	switch {
	case part == 0:
		return "0 %"
	case math.Abs(p) < 0.05:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}
