package broker

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// MarkEnv is the environment variable that every command and, by inheritance, every descendant carries.
const MarkEnv = "FLAMEOX_ATTEMPT"

// Mark says for which attempt of which flameox a process runs. As text it is
//
//	<store>/<pid>.<start>/<attempt>
//
// where pid and start are the process number of flameox and its start time in clock ticks since boot.
type Mark struct {
	Store   string // id of the store: one to 128 letters, digits, dots, dashes and underscores
	Pid     int    // of flameox
	Start   uint64 // of flameox
	Attempt string // one to 512 printable ASCII characters without spaces
}

// NewMark makes the mark of an attempt that this process runs for a store.
func NewMark(store, attempt string) (Mark, error) {
	self, err := new(proc.Reader).Self()
	if err != nil {
		return Mark{}, fmt.Errorf("read this process's start time from /proc: %w; is /proc mounted?", err)
	}
	m := Mark{Store: store, Pid: self.Pid, Start: self.Start, Attempt: attempt}
	return m, m.valid()
}

func (m Mark) valid() error {
	if m.Store == "" || len(m.Store) > 128 || strings.Trim(m.Store, storeAlphabet) != "" {
		return fmt.Errorf("store id %q of a process mark must be 1 to 128 letters, digits, dots, dashes and underscores", m.Store)
	}
	if m.Pid <= 0 {
		return fmt.Errorf("process number %d of a process mark must be positive", m.Pid)
	}
	if m.Attempt == "" || len(m.Attempt) > 512 || strings.ContainsFunc(m.Attempt, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("attempt %q of a process mark must be 1 to 512 printable ASCII characters without spaces", m.Attempt)
	}
	return nil
}

const storeAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// String is the mark as text.
func (m Mark) String() string { return m.Owner() + m.Attempt }

// Owner is the part of the text that all marks of one flameox process share, with the slash that ends it.
func (m Mark) Owner() string {
	return m.Store + "/" + strconv.Itoa(m.Pid) + "." + strconv.FormatUint(m.Start, 10) + "/"
}

// ParseMark reads what String writes, and nothing else.
func ParseMark(s string) (Mark, error) {
	var m Mark
	store, rest, ok1 := strings.Cut(s, "/")
	owner, attempt, ok2 := strings.Cut(rest, "/")
	pid, start, ok3 := strings.Cut(owner, ".")
	if !ok1 || !ok2 || !ok3 {
		return Mark{}, fmt.Errorf("process mark %q does not have the form store/pid.start/attempt", s)
	}
	var err1, err2 error
	m.Store, m.Attempt = store, attempt
	m.Pid, err1 = strconv.Atoi(pid)
	m.Start, err2 = strconv.ParseUint(start, 10, 64)
	if err1 != nil || err2 != nil {
		return Mark{}, fmt.Errorf("process mark %q does not name a process as pid.start", s)
	}
	if err := m.valid(); err != nil {
		return Mark{}, err
	}
	if m.String() != s {
		return Mark{}, fmt.Errorf("process mark %q is not written as flameox writes it: %q", s, m.String())
	}
	return m, nil
}

// Alive says whether the flameox that the mark names still runs.
func (m Mark) Alive() bool { return alive(new(proc.Reader), m) }

func alive(r *proc.Reader, m Mark) bool {
	var s proc.Stat
	return r.Stat(m.Pid, &s) == nil && s.Start == m.Start && !s.Dead()
}

// Leftovers finds the processes that carry a mark starting with prefix (a store's id and a slash, or "" for
// every store) although the flameox of the mark is dead, what shares their sessions, and all their descendants. Processes in another process
// namespace are left out unless they descend from one that is found: the numbers in their marks mean nothing here.
func Leftovers(prefix string) []Process {
	r := new(proc.Reader)
	found := leftovers(r, prefix)
	out := make([]Process, 0, len(found))
	for _, f := range found {
		out = append(out, f.Process)
	}
	return out
}

// KillLeftovers kills what Leftovers finds, waits up to two seconds for it to be gone, and reports the outcome for each.
func KillLeftovers(prefix string) []Process {
	return killAll(func(r *proc.Reader) []marked { return leftovers(r, prefix) }, 0, 2*sweepLimit)
}

type marked struct {
	Process
	key proc.Key
}

// leftovers reads the whole of /proc once.
func leftovers(r *proc.Reader, prefix string) []marked {
	dead := map[string]bool{} // by owner: whether its flameox is gone
	return findMarked(r, nil, func(text string) bool {
		if !strings.HasPrefix(text, prefix) {
			return false
		}
		m, err := ParseMark(text)
		if err != nil {
			return false
		}
		gone, known := dead[m.Owner()]
		if !known {
			gone = !alive(new(proc.Reader), m)
			dead[m.Owner()] = gone
		}
		return gone
	})
}

// findMarked finds the processes whose mark want accepts or whose session is in sessions, those in the session of one that it found by its
// mark, and the descendants of all. A session that holds a marked process is a command's own, because none can be entered from
// outside. It never returns this process.
func findMarked(r *proc.Reader, sessions map[int]uint64, want func(mark string) bool) []marked {
	self, space := unix.Getpid(), proc.Namespace(unix.Getpid())
	pids, _ := r.Pids(nil)
	all := make([]proc.Stat, 0, len(pids))
	marks, inSession := map[int]string{}, map[int]bool{}
	for _, pid := range pids {
		var s proc.Stat
		if pid == self || r.Stat(pid, &s) != nil || s.Dead() {
			continue
		}
		all = append(all, s)
		if start, ok := sessions[s.Session]; ok && s.Start >= start && (s.Pid != s.Session || s.Start == start) {
			inSession[s.Session] = true
		}
		if text, ok := r.Variable(pid, MarkEnv); ok && want(text) && proc.Namespace(pid) == space {
			marks[pid] = text
			inSession[s.Session] = true
		}
	}
	if own, err := unix.Getsid(0); err == nil {
		delete(inSession, own) // a flameox that itself runs under a mark
	}
	var roots []int
	for i := range all {
		if marks[all[i].Pid] != "" || inSession[all[i].Session] {
			roots = append(roots, all[i].Pid)
		}
	}
	if len(roots) == 0 {
		return nil
	}
	_, tree := r.Tree(roots, nil)
	seen := map[proc.Key]bool{}
	var out []marked
	for i := range tree {
		s := &tree[i]
		if s.Pid == self || seen[s.Key] || s.Dead() {
			continue
		}
		seen[s.Key] = true
		how := FoundAncestry
		if marks[s.Pid] != "" {
			how = FoundMark
		} else if inSession[s.Session] {
			how = FoundSession
		}
		p := describe(s, how)
		p.Mark = marks[s.Pid]
		out = append(out, marked{Process: p, key: s.Key})
	}
	return out
}
