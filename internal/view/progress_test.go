package view

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// script is one apply, the same for every kind of output.
func script(v *Progress, c *clock, screen func(string)) {
	v.Count(Counts{Waiting: 2, Cached: 3, Left: 105 * time.Second})
	v.Start("1", Running{Address: `capture.pyperf.sort["n=100000"]`, Command: "python bench_sort.py --rows 100000", Exclusive: true})
	v.Redraw()
	screen("started")
	c.add(41200 * time.Millisecond)
	v.Count(Counts{Done: 1, Waiting: 1, Cached: 3, Left: 65 * time.Second})
	v.Finish("1", Done{`capture.pyperf.sort["n=100000"]`, 41200 * time.Millisecond, "60 samples, 14.3 ms median"})
	v.Start("2", Running{Address: `capture.memray.sort["n=100000"]`, Command: "python bench_sort.py --rows 100000", Exclusive: true})
	c.add(12 * time.Second)
	v.Redraw()
	screen("one done")
	v.Say("Stopping after the running stage (press again to kill it). Finished work is kept.")
	c.add(time.Second)
	v.Count(Counts{Done: 1, Failed: 1, Waiting: 1, Cached: 3})
	v.Fail("2", *failure())
	screen("failed")
	v.Close()
	screen("closed")
}

func TestProgressWithoutATerminalIsOneLinePerEvent(t *testing.T) {
	var all bytes.Buffer
	for _, mode := range modes {
		mode.o.Live = false
		var b bytes.Buffer
		c := &clock{t: time.Unix(0, 0)}
		script(NewProgress(&b, mode.o, c.now), c, func(string) {})
		text := b.String()
		checkShape(t, "progress "+mode.name, text, mode.o)
		fmt.Fprintf(&all, "== %s\n%s", mode.name, strings.ReplaceAll(text, "\x1b", "␛"))
	}
	compare(t, "progress", all.Bytes())
}

func TestProgressOnATerminalRedrawsInPlace(t *testing.T) {
	var all bytes.Buffer
	for _, width := range []int{100, 60} {
		o := Options{Width: width, Live: true}
		s := &screen{t: t, width: width}
		c := &clock{t: time.Unix(0, 0)}
		script(NewProgress(s, o, c.now), c, func(when string) {
			fmt.Fprintf(&all, "== %d columns, %s\n%s\n", width, when, strings.Join(s.lines, "\n"))
		})
	}
	compare(t, "progress_live", all.Bytes())
}

// screen is a terminal that understands what Progress uses: text, line breaks, "up n" and "erase below".
type screen struct {
	t     *testing.T
	width int
	lines []string
	row   int
}

var up = regexp.MustCompile(`^\x1b\[(\d+)A\r\x1b\[J`)

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		if m := up.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			if s.row -= n; s.row < 0 {
				s.t.Errorf("moves above the top: %q", b)
				s.row = 0
			}
			s.lines = s.lines[:s.row]
			text = text[len(m[0]):]
			continue
		}
		l, rest, ok := strings.Cut(text, "\n")
		if !ok {
			s.t.Errorf("an unfinished line: %q", text)
			break
		}
		if strings.ContainsRune(l, 0x1b) {
			s.t.Errorf("a sequence inside a line: %q", l)
		}
		s.lines = append(s.lines, l)
		s.row++
		text = rest
	}
	return len(b), nil
}

func TestNoLiveLineWrapsAndManyRunningStagesAreCounted(t *testing.T) {
	s := &screen{t: t, width: 50}
	v := NewProgress(s, Options{Width: 50, Live: true}, func() time.Time { return time.Unix(0, 0) })
	for i := range 20 {
		v.Start(strconv.Itoa(i), Running{Address: fmt.Sprintf("capture.gobench.%s_%d", strings.Repeat("long", 20), i), Command: strings.Repeat("x ", 100)})
	}
	v.Redraw()
	if len(s.lines) != liveRows+2 {
		t.Errorf("%d lines:\n%s", len(s.lines), strings.Join(s.lines, "\n"))
	}
	for _, l := range s.lines {
		if len([]rune(l)) >= 50 {
			t.Errorf("%d columns: %s", len([]rune(l)), l)
		}
	}
	if !strings.Contains(strings.Join(s.lines, "\n"), "(12 more running)") {
		t.Errorf("the rest is not counted:\n%s", strings.Join(s.lines, "\n"))
	}
}

func TestAnimationEndsWithCloseAndManyMayReport(t *testing.T) {
	var mu sync.Mutex
	var b bytes.Buffer
	w := writerFunc(func(p []byte) (int, error) { mu.Lock(); defer mu.Unlock(); return b.Write(p) })
	v := NewProgress(w, Options{Width: 80, Live: true}, time.Now)
	v.Animate(time.Millisecond)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			id := strconv.Itoa(i)
			v.Start(id, Running{Address: "a.b" + id})
			time.Sleep(5 * time.Millisecond)
			v.Finish(id, Done{Address: "a.b" + id})
		}()
	}
	wg.Wait()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	n := b.Len()
	mu.Unlock()
	time.Sleep(10 * time.Millisecond)
	mu.Lock()
	text := b.String()
	mu.Unlock()
	if len(text) != n {
		t.Error("something was drawn after Close")
	}
	if got := strings.Count(text, "✓ "); got != 8 {
		t.Errorf("%d finished lines, want 8", got)
	}
	if err := v.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestAnErrorOfWritingIsReturnedOnce(t *testing.T) {
	v := NewProgress(writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), Options{}, time.Now)
	v.Say("x")
	if err := v.Close(); err != io.ErrClosedPipe {
		t.Errorf("Close = %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
