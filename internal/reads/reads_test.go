package reads

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// settle waits until what was written is old enough to vouch for itself.
func settle() { time.Sleep(80 * time.Millisecond) }

type fixture struct {
	t    *testing.T
	root string
	log  *Log
	env  map[string]string
	file string
}

func newFixture(t *testing.T) *fixture {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, root: root, env: map[string]string{"A": "1", "EMPTY": ""}, file: filepath.Join(t.TempDir(), "record")}
	for i := range 600 { // several blocks
		f.write(fmt.Sprintf("many/f%03d", i), "x")
	}
	for _, n := range []string{"src/a", "src/b", "src/c", "src/d", "one/a", "hard/a", "hard/b"} {
		f.write(n, "content of "+n)
	}
	f.must(os.Symlink("a", f.path("hard/link")))
	settle()
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) path(name string) string { return filepath.Join(f.root, name) }

func (f *fixture) write(name, text string) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	f.must(os.WriteFile(f.path(name), []byte(text), 0o644))
}

var (
	question = digest.SumString("question")
	treeSrc  = digest.SumString("src")
	treeOne  = digest.SumString("one")
)

// note fills a log as readers would.
func (f *fixture) note() {
	f.log = NewLog()
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf("many/f%03d", i))
	}
	f.log.Below(f.root, append(many, "many", "src", "one", "none")...)
	f.log.Set(treeSrc, f.root, []string{"src/a", "src/b", "src/c", "src/d"})
	f.log.Set(treeOne, f.root, []string{"one/a", "src/a"})
	f.log.Path(f.path("hard/a"), f.path("hard/link"), f.path("hard/missing"), f.path("hard"))
	f.log.Env("A", "EMPTY", "UNSET")
}

func (f *fixture) answer(began time.Time) Answer {
	return Answer{Question: question, Environ: f.env, Began: began, Now: time.Now(), Body: []byte("body"), Rest: []byte("rest")}
}

func (f *fixture) seal() *Record {
	f.t.Helper()
	f.note()
	b, err := f.log.Seal(f.answer(time.Now()))
	f.must(err)
	f.must(os.WriteFile(f.file, b, 0o644))
	return f.open()
}

func (f *fixture) open() *Record {
	f.t.Helper()
	r, ok := Open(f.file)
	if !ok {
		f.t.Fatal("no record")
	}
	return r
}

func TestARecordStandsWhereNothingMoved(t *testing.T) {
	f := newFixture(t)
	r := f.seal()
	if !r.Asked(question, f.env, time.Now()) {
		t.Fatal("it answers another question")
	}
	moved, ok := r.Check()
	if !ok || !moved.None() || string(r.Body()) != "body" {
		t.Fatal(ok, moved)
	}
	if rest, ok := r.Rest(); !ok || string(rest) != "rest" {
		t.Fatalf("%q %v", rest, ok)
	}
}

func TestARecordDoesNotStandWhereAPathMoved(t *testing.T) {
	for name, move := range map[string]func(f *fixture){
		"content":          func(f *fixture) { f.write("hard/a", "content of hard/b") },
		"what was missing": func(f *fixture) { f.write("hard/missing", "") },
		"a listing":        func(f *fixture) { f.write("many/new", "") },
		"removed":          func(f *fixture) { f.must(os.Remove(f.path("many/f300"))) },
		"missing below":    func(f *fixture) { f.write("none", "") },
		"a link":           func(f *fixture) { f.must(os.Remove(f.path("hard/link"))); f.must(os.Symlink("b", f.path("hard/link"))) },
		"mode":             func(f *fixture) { f.must(os.Chmod(f.path("many/f599"), 0o755)) },
		"a folder is gone": func(f *fixture) { f.must(os.RemoveAll(f.path("many"))) },
		"all is gone":      func(f *fixture) { f.must(os.RemoveAll(f.root)) },
		"a folder a link": func(f *fixture) {
			f.must(os.Rename(f.path("hard"), f.path("h")))
			f.must(os.Symlink("h", f.path("hard")))
		},
		"too many moved": func(f *fixture) {
			f.must(os.Rename(f.path("many"), f.path("m")))
			f.must(os.Mkdir(f.path("many"), 0o755))
		},
		"times set back": func(f *fixture) {
			info, err := os.Stat(f.path("hard/a"))
			f.must(err)
			f.write("hard/a", "CONTENT of hard/a")
			f.must(os.Chtimes(f.path("hard/a"), info.ModTime(), info.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			r := f.seal()
			move(f)
			moved, ok := r.Check()
			if ok && !moved.None() {
				_, _, ok = r.Sets(moved)
			}
			if ok {
				t.Fatalf("it stands: %s", moved)
			}
		})
	}
}

func TestFilesThatMovedAreSaidBySet(t *testing.T) {
	f := newFixture(t)
	r := f.seal()
	f.write("src/a", "another")
	moved, ok := r.Check()
	if !ok || moved.None() || !strings.Contains(moved.String(), "src/a") {
		t.Fatal(ok, moved)
	}
	sets, rest, ok := r.Sets(moved)
	if !ok || len(sets) != 2 || string(rest) != "rest" {
		t.Fatal(ok, sets)
	}
	for _, s := range sets {
		want := []string{"src/a", "src/b", "src/c", "src/d"}
		if s.Tree == treeOne {
			want = []string{"one/a", "src/a"}
		}
		if s.Root != f.root || !slices.Equal(s.Files, want) {
			t.Errorf("%+v, want %v", s, want)
		}
	}
	f.write("src/b", "another")
	if moved, ok = r.Check(); ok {
		sets, _, ok = r.Sets(moved)
	}
	if !ok || len(sets) != 2 {
		t.Fatal(ok, sets)
	}
}

func TestAFixedSetThatMovedIsNotKnownWhateverOtherSetsItIsIn(t *testing.T) {
	f := newFixture(t)
	f.note()
	f.log.Fix(treeOne)
	b, err := f.log.Seal(f.answer(time.Now()))
	f.must(err)
	f.must(os.WriteFile(f.file, b, 0o644))
	f.write("src/a", "another")
	r := f.open()
	moved, ok := r.Check()
	if _, _, known := r.Sets(moved); !ok || known {
		t.Fatal(ok, known)
	}
}

func TestARecordAnswersItsOwnQuestionOnly(t *testing.T) {
	f := newFixture(t)
	f.note()
	a := f.answer(time.Now())
	now := time.Now()
	a.After, a.Before = now.Add(-time.Minute), now.Add(time.Minute)
	b, err := f.log.Seal(a)
	f.must(err)
	f.must(os.WriteFile(f.file, b, 0o644))
	r := f.open()
	env := func(changes ...string) map[string]string {
		m := map[string]string{"A": "1", "EMPTY": "", "OTHER": "x"}
		for i := 0; i < len(changes); i += 2 {
			m[changes[i]] = changes[i+1]
		}
		return m
	}
	without := env()
	delete(without, "EMPTY")
	for name, c := range map[string]struct {
		q    digest.Digest
		env  map[string]string
		at   time.Time
		want bool
	}{
		"itself":                 {question, env(), now, true},
		"another":                {treeOne, env(), now, false},
		"another value":          {question, env("A", "2"), now, false},
		"unset":                  {question, without, now, false},
		"set and empty":          {question, env("UNSET", ""), now, false},
		"too late":               {question, env(), a.Before, false},
		"at the last moment":     {question, env(), a.Before.Add(-1), true},
		"with a clock set back":  {question, env(), a.After, false},
		"right after that again": {question, env(), a.After.Add(1), true},
	} {
		if got := r.Asked(c.q, c.env, c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNothingIsRecordedOfWhatCannotVouchForItself(t *testing.T) {
	for name, c := range map[string]func(f *fixture) time.Time{
		"a young file":                  func(f *fixture) time.Time { f.write("many/f007", "new"); return time.Now() },
		"a young path":                  func(f *fixture) time.Time { f.write("hard/a", "new"); return time.Now() },
		"changed since the first read":  func(f *fixture) time.Time { at := time.Now(); settle(); f.write("src/a", "new"); settle(); return at },
		"what a link leads to is young": func(f *fixture) time.Time { f.write("hard/a", "new"); return time.Now() },
		"a clock set back":              func(f *fixture) time.Time { return time.Now().Add(-time.Hour) },
	} {
		f := newFixture(t)
		began := c(f)
		f.note()
		_, err := f.log.Seal(f.answer(began))
		var doubt *DoubtError
		if !errors.As(err, &doubt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := newFixture(t)
	f.note()
	f.write("hard/b", "x")
	f.must(os.Rename(f.path("hard/b"), f.path("hard/a"))) // between its being read and the end
	settle()
	if _, err := f.log.Seal(f.answer(time.Now())); err == nil {
		t.Error("a path that was replaced meanwhile was recorded")
	}
}

func TestARefusedLogGivesNoRecord(t *testing.T) {
	f := newFixture(t)
	f.note()
	f.log.Refuse("a program was asked")
	if _, err := f.log.Seal(f.answer(time.Now())); err == nil || !strings.Contains(err.Error(), "a program was asked") {
		t.Fatal(err)
	}
	f.note()
	f.log.Path("relative")
	if f.log.Refused() == "" {
		t.Fatal("a relative path was taken")
	}
	var none *Log // nobody listens
	none.Path("/x")
	none.Below("/", "x")
	none.Set(treeOne, "/", nil)
	none.Fix(treeOne)
	none.Env("A")
	none.Refuse("no")
	if none.Refused() == "" {
		t.Fatal("a log that is not there can be sealed")
	}
}

func TestARecordHoldsNoValue(t *testing.T) {
	f := newFixture(t)
	f.env["A"] = "hunter2"
	f.note()
	b, err := f.log.Seal(f.answer(time.Now()))
	f.must(err)
	if bytes.Contains(b, []byte("hunter2")) {
		t.Fatal("the value of a variable is in the record")
	}
	if plain := envSum([16]byte{}, []string{"A"}, f.env); bytes.Contains(b, plain[:]) {
		t.Fatal("its digest can be guessed")
	}
}

func TestADamagedRecordIsNone(t *testing.T) {
	f := newFixture(t)
	f.seal()
	good, err := os.ReadFile(f.file)
	f.must(err)
	for i := 0; i < len(good); i += 1 + len(good)/700 {
		b := slices.Clone(good)
		b[i] ^= 0x20
		f.must(os.WriteFile(f.file, b, 0o644))
		if r, ok := Open(f.file); ok {
			if _, ok := r.Rest(); ok {
				t.Fatalf("byte %d of %d was changed and nobody noticed", i, len(good))
			}
		}
		f.must(os.WriteFile(f.file, good[:i], 0o644))
		if _, ok := Open(f.file); ok {
			t.Fatalf("%d of %d bytes are a record", i, len(good))
		}
	}
	if _, ok := Open(f.file + "none"); ok {
		t.Fatal("a missing file is a record")
	}
}

func FuzzDecode(f *testing.F) {
	c := &contents{
		env: []string{"A"}, places: []place{{"/a/", "/a"}}, hard: []hard{{base: "x", sum: 1}, {base: "l", sum: 2, link: true, target: "/t", end: 3}},
		roots: []string{"/r"}, body: []byte("b"),
	}
	c.blocks = encodeBlocks(0, "d/", []string{"a", "ab", "b"}, []sum{1, 2, 3})
	f.Add(c.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decode(b)
		if err != nil {
			return
		}
		for i := range c.blocks {
			c.blocks[i].each(nil, func(int, []byte, sum) bool { return true })
		}
		again, err := decode(c.encode())
		if err != nil || len(again.hard) != len(c.hard) || len(again.blocks) != len(c.blocks) || !bytes.Equal(again.body, c.body) {
			t.Fatal("what was decoded is not what is encoded again")
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	root := b.TempDir()
	log := NewLog()
	for i := range 5000 {
		dir := fmt.Sprintf("in/%05d", i)
		os.MkdirAll(filepath.Join(root, dir), 0o755)
		os.WriteFile(filepath.Join(root, dir, "0"), nil, 0o644)
		log.Below(root, dir, dir+"/0")
	}
	settle()
	bytes, err := log.Seal(Answer{Began: time.Now(), Now: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "record")
	os.WriteFile(file, bytes, 0o644)
	for b.Loop() {
		r, _ := Open(file)
		if m, ok := r.Check(); !ok || !m.None() {
			b.Fatal(m)
		}
	}
}
