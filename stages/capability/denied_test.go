package capability

import (
	"strings"
	"testing"

	"github.com/flameox/flameox/providers"
)

// fenced is a tool that finds out by trying that it may not work, and one that a setting of the kernel forbids.
type fenced struct {
	tool
	setting bool
}

func (p fenced) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "--version"}, func(stdout, stderr []byte) (string, error) {
		if len(stdout) == 0 {
			return "", &providers.Denial{Why: "tried: " + strings.TrimSpace(string(stderr)), Do: "ask the administrator"}
		}
		return strings.TrimSpace(string(stdout)), nil
	}
}

func (fenced) Settings() []string { return []string{"/proc/sys/kernel/ostype"} }
func (p fenced) Forbidden(settings map[string]string, _ func(int) bool) *providers.Denial {
	if p.setting {
		return &providers.Denial{Why: "the kernel is " + settings["/proc/sys/kernel/ostype"], Do: "use another"}
	}
	return nil
}

func TestWhatMayNotWorkIsBlockedAndSaysWhatToDo(t *testing.T) {
	l := newLab(t)
	denied := l.program(l.outside+"/a", "echo no rights >&2; exit 1")
	fine := l.program(l.outside+"/b", "echo 1.2.3")
	p := fenced{tool: tool{captures: captures{base{"tool"}}, at: providers.Location{Programs: []string{"tool"}}}}
	for name, c := range map[string]struct {
		p     providers.Provider
		place Place
		state State
		why   string
	}{
		"by trying":    {p, denied, Blocked, "tried: no rights"},
		"by a setting": {fenced{p.tool, true}, fine, Blocked, "the kernel is "},
		"neither":      {p, fine, Available, ""},
	} {
		r := l.look(c.p, true, c.place)
		f := r.Findings[0]
		if f.State != c.state || !strings.HasPrefix(f.Why, c.why) || c.state == Blocked && f.Do == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
