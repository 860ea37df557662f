// Package units reads durations and sizes the way people write them: a number and its unit.
//
// A bare number is refused on purpose. "timeout = 30" has meant seconds, milliseconds and
// nanoseconds in the tools our users come from, and a measurement that was cut short by a factor of a
// thousand looks like a result. The package never guesses a unit and never rounds silently.
package units

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// DurationExamples and BytesExamples show how a value is written; they end error messages.
const (
	DurationExamples = `"250ms", "30s", "1m30s" or "24h"`
	BytesExamples    = `"512 MiB", "4GB" or "1.5 GiB"`
)

var durationUnits = map[string]int64{
	"ns": 1,
	"us": int64(time.Microsecond),
	"µs": int64(time.Microsecond), // U+00B5
	"μs": int64(time.Microsecond), // U+03BC
	"ms": int64(time.Millisecond),
	"s":  int64(time.Second),
	"m":  int64(time.Minute),
	"h":  int64(time.Hour),
	"d":  24 * int64(time.Hour),
	"w":  7 * 24 * int64(time.Hour),
}

var byteUnits = map[string]int64{
	"B":  1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
}

// Duration reads one or more numbers with units: "1m30s", "1.5 h", "90d". Spaces are allowed, signs are
// not. The error says what is wrong with s; it does not repeat where s was found.
func Duration(s string) (time.Duration, error) {
	n, err := parse(s, durationUnits, true, "ns, us, ms, s, m, h, d or w")
	if err != nil {
		return 0, fmt.Errorf("%w; write for example %s", err, DurationExamples)
	}
	return time.Duration(n), nil
}

// Bytes reads one number with a unit: "512 MiB", "4GB", "1.5 GiB". kB, MB, GB are powers of 1000; KiB, MiB, GiB of 1024.
func Bytes(s string) (int64, error) {
	n, err := parse(s, byteUnits, false, "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB")
	if err != nil {
		return 0, fmt.Errorf("%w; write for example %s", err, BytesExamples)
	}
	return n, nil
}

func parse(s string, units map[string]int64, several bool, known string) (int64, error) {
	rest := strings.TrimSpace(s)
	if rest == "" {
		return 0, fmt.Errorf("it is empty")
	}
	if rest == "0" {
		return 0, nil
	}
	if len(rest) > 64 {
		return 0, fmt.Errorf("it is too long")
	}
	total := new(big.Rat)
	for first := true; rest != ""; first = false {
		if !first && !several {
			return 0, fmt.Errorf("%q follows the unit", rest)
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '_' })
		switch {
		case end == 0 && rest[0] == '-':
			return 0, fmt.Errorf("it is negative")
		case end == 0:
			return 0, fmt.Errorf("%q does not begin with a number", rest)
		case end < 0:
			return 0, fmt.Errorf("%q has no unit (%s)", rest, known)
		}
		number, ok := new(big.Rat).SetString(strings.ReplaceAll(rest[:end], "_", ""))
		if !ok {
			return 0, fmt.Errorf("%q is not a number", rest[:end])
		}
		rest = strings.TrimLeft(rest[end:], " ")
		end = strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' || r == ' ' || r == '.' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := units[rest[:end]]
		if !ok {
			return 0, fmt.Errorf("%q is not a unit (%s)", rest[:end], known)
		}
		rest = strings.TrimLeft(rest[end:], " ")
		total.Add(total, number.Mul(number, new(big.Rat).SetInt64(unit)))
	}
	if !total.IsInt() {
		return 0, fmt.Errorf("it is not a whole number of the smallest unit")
	}
	if !total.Num().IsInt64() || total.Num().Int64() == math.MaxInt64 {
		return 0, fmt.Errorf("it is too large")
	}
	return total.Num().Int64(), nil
}
