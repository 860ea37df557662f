package broker

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// tree is what runs because of one command, as last seen. Its memory is used again at every scan.
type tree struct {
	r      proc.Reader
	queue  []int
	kids   []int
	procs  []proc.Stat
	how    []foundAs
	self   int
	sid    int // session of this process
	seen   map[proc.Key]bool
	last   map[proc.Key]bool // seen in the scan before
	marked map[proc.Key]bool // whether an adopted process carries the run's mark
}

type foundAs struct {
	pid int
	how string
}

// found says how the scan came to a process.
func (t *tree) found(s *proc.Stat, r *run) string {
	if s.Key == r.key {
		return FoundRoot
	}
	for i := range t.how {
		if t.how[i].pid == s.Pid {
			return t.how[i].how
		}
	}
	if s.Session == r.key.Pid {
		return FoundSession
	}
	return FoundAncestry
}

// scan fills t.procs with the root and everything that descends from it. Processes whose parents have died are
// children of this one by now; of those, the ones that are the run's are followed, and reaped when they are dead.
func (t *tree) scan(r *run) {
	if t.seen == nil {
		t.self, t.sid = unix.Getpid(), 0
		t.sid, _ = unix.Getsid(0)
		t.seen, t.last, t.marked = map[proc.Key]bool{}, map[proc.Key]bool{}, map[proc.Key]bool{}
	}
	t.seen, t.last = t.last, t.seen
	clear(t.seen)
	t.queue = append(t.queue[:0], r.key.Pid)
	t.how = t.how[:0]

	// A root that is being started is a child of ours that no table knows yet.
	family.start.Lock()
	t.kids, _ = t.r.Adopted(t.kids[:0])
	family.start.Unlock()
	for _, pid := range t.kids {
		t.adopt(r, pid)
	}
	t.walk()
}

// adopt follows a child of this process that is an orphan of the run, or reaps it.
func (t *tree) adopt(r *run, pid int) {
	var s proc.Stat
	how := t.owned(r, pid, &s)
	switch {
	case how == "":
	case s.Dead():
		var ws unix.WaitStatus
		unix.Wait4(pid, &ws, unix.WNOHANG, nil)
	default:
		t.follow(pid, how)
	}
}

func (t *tree) follow(pid int, how string) {
	t.queue = append(t.queue, pid)
	t.how = append(t.how, foundAs{pid, how})
}

func (t *tree) walk() {
	t.queue, t.procs = t.r.Tree(t.queue, t.procs[:0])
	for i := range t.procs {
		t.seen[t.procs[i].Key] = true
	}
}

// owned says how a child of this process is known to be an orphan of the run, or "".
func (t *tree) owned(r *run, pid int, s *proc.Stat) string {
	family.mu.Lock()
	_, root := family.runs[pid]
	own := family.own[pid]
	family.mu.Unlock()
	if root || own || t.r.Stat(pid, s) != nil || s.Parent != t.self || s.Session == t.sid {
		return ""
	}
	if s.Session == r.key.Pid {
		return FoundSession
	}
	if t.last[s.Key] {
		return FoundObserved
	}
	marked, known := t.marked[s.Key]
	mark := ""
	if !known && !s.Dead() {
		var ok bool
		mark, ok = t.r.Variable(pid, MarkEnv)
		marked = mark == r.mark
		if ok { // without one it may be in the moment after exec that shows none
			t.marked[s.Key] = marked
		}
	}
	if marked {
		return FoundMark
	}
	// It gave up its session, its parents and its environment before it was ever seen. It is some run's all the same; with
	// several it is left to the last one that could have started it. One that is cleaning up already is not waited for: it may have had
	// its last look, and left the process to this run.
	family.mu.Lock()
	defer family.mu.Unlock()
	if s.Start < r.key.Start {
		return ""
	}
	for _, o := range family.runs {
		if o != r && !o.sweeping && (o.key.Start <= s.Start || o.key.Pid == s.Session || o.mark == mark) {
			return ""
		}
	}
	return FoundAdopted
}

// scanMarks adds the processes anywhere on the machine that carry the run's mark although they do not descend from
// the root: a service may have started them on the command's behalf. It also looks for orphans a second time, because the kernel's list of
// children may leave one out while another is reaped.
func (t *tree) scanMarks(r *run) {
	first := r.key.Pid
	if lastPid() < first {
		first = 0 // the numbers have started over
	}
	family.start.Lock()
	t.kids, _ = t.r.Pids(t.kids[:0])
	family.start.Unlock()
	t.queue, t.how = t.queue[:0], t.how[:0]
	for _, pid := range t.kids {
		if pid <= first || pid == t.self {
			continue
		}
		if mark, ok := t.r.Variable(pid, MarkEnv); ok && mark == r.mark {
			t.follow(pid, FoundMark)
		} else {
			t.adopt(r, pid)
		}
	}
	if len(t.queue) > 0 {
		t.walk()
	} else {
		t.procs = t.procs[:0]
	}
}

// lastPid is the number that was given last, or 0 where it is not known.
func lastPid() int {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(f[4])))
	return n
}
