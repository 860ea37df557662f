package providers

import (
	"bytes"
	"fmt"
	"strconv"
)

// Restricted is a Provider whose captures the kernel can forbid. What it says is about this machine and this user, at this moment: no part of any
// key, and no result that stands is touched by it.
type Restricted interface {
	Provider
	// Settings are the files of the kernel's that say what is allowed: /proc/sys/kernel/perf_event_paranoid. One that is not there restricts nothing.
	Settings() []string
	// Forbidden says what is in the way, nil for nothing that can be seen. settings are the files that there are, without white space around them;
	// has says whether this process has one of the kernel's capabilities, by number.
	Forbidden(settings map[string]string, has func(capability int) bool) *Denial
}

// Denial says what keeps a producer from working that is there, and what to do. It is an error too, for a probe that finds it out by trying.
type Denial struct{ Why, Do string }

func (d *Denial) Error() string { return d.Why }

// Forbidden is what keeps p from capturing here, as far as the kernel's settings say; nil for nothing. read reads a file of the kernel's.
func Forbidden(p Provider, read func(string) ([]byte, error)) *Denial {
	r, ok := p.(Restricted)
	if !ok {
		return nil
	}
	settings := map[string]string{}
	for _, file := range r.Settings() {
		if b, err := read(file); err == nil {
			settings[file] = string(bytes.TrimSpace(b))
		}
	}
	effective := uint64(0)
	if b, err := read("/proc/self/status"); err == nil {
		if _, rest, ok := bytes.Cut(b, []byte("\nCapEff:")); ok {
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			effective, _ = strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
		}
	}
	return r.Forbidden(settings, func(capability int) bool { return effective>>capability&1 == 1 })
}

// Number is a setting that is a number, and ok false for one that is none or not there.
func Number(settings map[string]string, file string) (n int, ok bool) {
	if _, err := fmt.Sscanf(settings[file], "%d", &n); err != nil {
		return 0, false
	}
	return n, true
}
