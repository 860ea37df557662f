package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count is a number of things: "9,998".
func Count(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural is a number with its noun: "1 stage", "9,998 stages".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Duration is a length of time as a person compares it: "14.3 ms", "41.2 s", "1 m 40 s", "2 h 5 m", "3 d 4 h".
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999500*time.Nanosecond:
		return scaled(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return scaled(float64(d)/1e6) + " ms"
	case d < 59950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 59*time.Minute+59500*time.Millisecond:
		d = d.Round(time.Second)
		return two(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	case d < 23*time.Hour+59*time.Minute+30*time.Second:
		d = d.Round(time.Minute)
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	}
	d = d.Round(time.Hour)
	return two(d/(24*time.Hour), "d", d%(24*time.Hour)/time.Hour, "h")
}

func two(a time.Duration, ua string, b time.Duration, ub string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, ua)
	}
	return fmt.Sprintf("%d %s %d %s", a, ua, b, ub)
}

// scaled writes a number from 1 to 1000 with three digits.
func scaled(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Clock is a running time: "0:12", "1:02:03".
func Clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Age is how long ago something was: "12 s ago", "5 m ago", "2 h ago", "3 d ago", "2 y ago". A time in the future, of another
// machine's clock, is "just now".
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d m ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 2*365*24*time.Hour:
		return fmt.Sprintf("%d d ago", d/(24*time.Hour))
	}
	return fmt.Sprintf("%d y ago", d/(365*24*time.Hour))
}

// Bytes is a size in binary units: "512 B", "1.50 KiB", "23.5 GiB".
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v := float64(n)
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		v /= 1024
		if v < 999.5 || i == 5 {
			return scaled(v) + " " + unit
		}
	}
	return ""
}

// ShortRun is a run's name as a person tells two of them apart: "01JD…8K".
func ShortRun(run string) string {
	if len(run) < 10 {
		return run
	}
	return run[:4] + "…" + run[len(run)-2:]
}

// symbols replaces the symbols that this package's own functions write by what o can show.
func (o Options) symbols(s string) string {
	if !o.ASCII {
		return s
	}
	return asciiSymbols.Replace(s)
}

var asciiSymbols = strings.NewReplacer("…", "...", "µ", "u", "→", "->", "·", "-", "−", "-", "±", "+/-", "×", "x")
