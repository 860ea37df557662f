package view

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Progress shows an apply while it goes on. On a terminal the running stages and a summary are redrawn in place, at most once
// a second so that the display disturbs no measurement, and finished lines scroll away above. Elsewhere each
// event is one line. It may be used by several goroutines.
type Progress struct {
	w   io.Writer
	o   Options
	now func() time.Time

	mu      sync.Mutex
	running []runningStage
	counts  Counts
	counted time.Time // when counts were set: the time that is left goes down from there
	drawn   int       // lines of the live part on the screen
	err     error
	stop    chan struct{}
	done    chan struct{}
}

// Counts is the summary of an apply that goes on.
type Counts struct {
	Done, Failed, Waiting, Cached, Blocked int
	Left                                   time.Duration // estimated; 0 where nothing is known
}

type runningStage struct {
	id      string
	what    Running
	started time.Time
}

// Running is a stage that runs.
type Running struct {
	Address   string
	Command   string
	Exclusive bool
}

// Done is a stage that has finished.
type Done struct {
	Address string
	Took    time.Duration
	Summary string // "60 samples, 14.3 ms median"
}

// liveRows is how many running stages are shown at once.
const liveRows = 8

// NewProgress is the display of one apply. Live redrawing begins with Animate.
func NewProgress(w io.Writer, o Options, now func() time.Time) *Progress {
	return &Progress{w: w, o: o, now: now}
}

// Animate redraws every interval (a second) until Close. Without a terminal it does nothing.
func (v *Progress) Animate(interval time.Duration) {
	if !v.o.Live {
		return
	}
	v.stop, v.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(v.done)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-v.stop:
				return
			case <-t.C:
				v.Redraw()
			}
		}
	}()
}

// Start says that a stage has begun. id names it until Finish or Fail.
func (v *Progress) Start(id string, r Running) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := runningStage{id, r, v.now()}
	if i := slices.IndexFunc(v.running, func(o runningStage) bool { return o.id == id }); i >= 0 {
		v.running[i] = s // it begins again
		return
	}
	v.running = append(v.running, s)
	if !v.o.Live {
		v.scroll(func(p *page) { p.put(4, v.runningLine(p, s, "started")) })
	}
}

// Finish says that the stage id is done.
func (v *Progress) Finish(id string, d Done) {
	v.end(id, func(p *page) {
		l := line{{p.g.ok + " ", good}}.add(strong, clean(d.Address)).add(plain, "   "+p.o.symbols(Duration(d.Took)))
		if d.Summary != "" {
			l = l.add(plain, "   "+p.o.symbols(clean(d.Summary)))
		}
		p.put(4, l)
	})
}

// Fail says that the stage id failed.
func (v *Progress) Fail(id string, f Failure) {
	v.end(id, func(p *page) { p.failure(&f) })
}

func (v *Progress) end(id string, write func(*page)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, s := range v.running {
		if s.id == id {
			v.running = append(v.running[:i:i], v.running[i+1:]...)
			break
		}
	}
	v.scroll(write)
}

// Say writes a message above the live part: "Stopping after the running stage …".
func (v *Progress) Say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.scroll(func(p *page) { p.put(0, line{{clean(text), plain}}) })
}

// Count sets the figures of the summary. It is shown at the next redraw.
func (v *Progress) Count(c Counts) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts, v.counted = c, v.now()
}

// Redraw draws the live part again.
func (v *Progress) Redraw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.o.Live {
		v.scroll(func(*page) {})
	}
}

// Close removes the live part and returns the first error of writing.
func (v *Progress) Close() error {
	if v.stop != nil {
		close(v.stop)
		<-v.done
		v.stop = nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running = nil
	p := newPage(v.o)
	v.erase(p)
	v.flush(p)
	return v.err
}

// scroll writes lines that stay, above the live part. Everything goes out in one write, so that nothing flickers.
func (v *Progress) scroll(write func(*page)) {
	p := newPage(v.o)
	v.erase(p)
	write(p)
	v.draw(p)
	v.flush(p)
}

func (v *Progress) erase(p *page) {
	if v.drawn > 0 {
		fmt.Fprintf(&p.b, "\x1b[%dA\r\x1b[J", v.drawn)
		v.drawn = 0
	}
}

func (v *Progress) flush(p *page) {
	if err := p.writeTo(v.w); err != nil && v.err == nil {
		v.err = err
	}
}

// draw writes the live part, no line of it wider than the terminal: a line that wraps could not be erased.
func (v *Progress) draw(p *page) {
	if !v.o.Live || len(v.running) == 0 && v.counts == (Counts{}) {
		return
	}
	put := func(l line) {
		p.put(0, cutLine(l, v.o.Width-1, p.g.ellipsis))
		v.drawn++
	}
	for i, s := range v.running {
		if i == liveRows {
			put(line{{fmt.Sprintf("  (%s more running)", Count(len(v.running)-liveRows)), faint}})
			break
		}
		put(v.runningLine(p, s, Clock(v.now().Sub(s.started))))
	}
	put(v.summaryLine())
}

func (v *Progress) runningLine(p *page, s runningStage, note string) line {
	l := line{{p.g.running + " ", work}}.add(strong, clean(s.what.Address)).add(plain, "   "+note)
	command := clean(s.what.Command)
	tail := ""
	if s.what.Exclusive {
		tail = "      exclusive"
	}
	if v.o.Live {
		// The command gives way before what comes after it, as long as something of it can be read.
		room := v.o.Width - 1 - l.width() - 5
		if room-len(tail) < 16 {
			tail = ""
		}
		command = cutEnd(command, max(0, room-len(tail)), p.g.ellipsis)
	}
	if command != "" {
		l = l.add(plain, "     "+command)
	}
	return l.add(faint, tail)
}

func (v *Progress) summaryLine() line {
	text := ""
	for _, c := range []struct {
		n    int
		text string
	}{{v.counts.Done, "done"}, {v.counts.Failed, "failed"}, {len(v.running), "running"}, {v.counts.Waiting, "waiting"}, {v.counts.Blocked, "blocked"}, {v.counts.Cached, "cached"}} {
		if c.n == 0 && c.text != "done" {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += Count(c.n) + " " + c.text
	}
	l := line{{"  " + text, plain}}
	if rest := v.counts.Left - v.now().Sub(v.counted); v.counts.Left > 0 && rest >= time.Second {
		left := "about " + Clock(rest) + " left"
		l = l.pad(max(l.width()+3, min(v.o.Width-1, 92)-len(left))).add(faint, left)
	}
	return l
}
