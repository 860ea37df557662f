package units

import (
	"strings"
	"testing"
	"time"
)

func TestDurationReadsNumbersWithUnits(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1m30s": 90 * time.Second, "1 m 30 s": 90 * time.Second, " 1.5h ": 90 * time.Minute,
		"90d": 90 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "250ms": 250 * time.Millisecond, "7us": 7 * time.Microsecond,
		"7µs": 7 * time.Microsecond, "3ns": 3, "0": 0, "0s": 0, "1_000ms": time.Second, "0.1s": 100 * time.Millisecond,
	} {
		if got, err := Duration(in); err != nil || got != want {
			t.Errorf("Duration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestDurationRefusesWhatHasNoMeaning(t *testing.T) {
	for in, want := range map[string]string{
		"": "empty", "30": "no unit", "-3s": "negative", "fast": "begin with a number", "3 parsecs": "not a unit",
		"1s2": "no unit", "300000d": "too large", "0.5ns": "not a whole number", "1.2.3s": "not a number", "s": "begin with a number",
		"3 S": "not a unit", strings.Repeat("1s", 100): "too long",
	} {
		_, err := Duration(in)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "for example") {
			t.Errorf("Duration(%q): error %v, want one about %q with an example", in, err, want)
		}
	}
}

func TestBytesTellsDecimalFromBinaryUnits(t *testing.T) {
	for in, want := range map[string]int64{
		"512 MiB": 512 << 20, "4GB": 4e9, "4 GiB": 4 << 30, "1.5GiB": 3 << 29, "17 B": 17, "0": 0, "1kB": 1000, "1KB": 1000, "2TiB": 2 << 40,
	} {
		if got, err := Bytes(in); err != nil || got != want {
			t.Errorf("Bytes(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"4", "4G", "4 gib", "-1 B", "0.3 KiB", "99999999 PB", "1 GB 2 MB", "GB"} {
		if got, err := Bytes(in); err == nil {
			t.Errorf("Bytes(%q) = %d, want an error", in, got)
		}
	}
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"1m30s", "512 MiB", "1.5h", "..s", "9999999999999999w", "1_s", "µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := Duration(s); err == nil && d < 0 {
			t.Errorf("Duration(%q) = %v", s, d)
		}
		if n, err := Bytes(s); err == nil && n < 0 {
			t.Errorf("Bytes(%q) = %d", s, n)
		}
	})
}
