package memray

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
)

// lz4 is a frame with one block that is stored as it is.
func lz4(data []byte) []byte {
	head := []byte{0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82}
	return append(append(binary.LittleEndian.AppendUint32(head, uint32(len(data))|1<<31), data...), 0, 0, 0, 0)
}

// stream is what the script prints: the first line, lines, and the end.
func stream(lines ...string) string {
	all := append([]string{`{"reader":{"protocol":1,"library":"memray","version":"1.2.3","runtime":"CPython 3.12"}}`}, lines...)
	return strings.Join(all, "\n") + fmt.Sprintf("\n{\"end\":%d}\n", len(all))
}

const one = `{"capture":{"capture":0,"start_us":5,"records":9,"peak":60,"pid":1,"allocator":"pymalloc","native":false,"aggregated":false}}`

// input is a run with a capture in a frame that is whole, whose reading left text.
func input(t testing.TB, text string) providers.Input {
	t.Helper()
	dir := t.TempDir()
	data := lz4([]byte("memray\x00..."))
	blob, spool := filepath.Join(dir, "blob"), filepath.Join(dir, "stream")
	if err := errors.Join(os.WriteFile(blob, data, 0o444), os.WriteFile(spool, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return providers.Input{
		Artifacts: []providers.Artifact{{Name: "memory.bin", Role: Role, Digest: digest.Sum(data), Size: int64(len(data)), Path: blob}},
		Reading:   &providers.Reading{Path: spool, Version: "1.2.3"},
		Paths:     providers.Paths{Root: "/home/p", Dir: "/home/p/sub"},
	}
}

// rows extracts and counts the rows of each table.
func rows(t testing.TB, in providers.Input, budget evidence.Budget) (evidence.Outcome, map[string][]map[string]any) {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: in.Artifacts[0].Digest}, budget)
	defer sink.Discard()
	out, err := Provider{}.Extract(context.Background(), in, nil, budget, sink)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]map[string]any{}
	for _, p := range parts {
		if err := evidence.Scan(p.Path, evidence.ScanOptions{}, func(cols []evidence.Column, row []any) error {
			r := map[string]any{}
			for i, c := range cols {
				r[c.Name] = row[i]
			}
			tables[p.Table] = append(tables[p.Table], r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out, tables
}

func code(out evidence.Outcome) string {
	if len(out.Limitations) == 0 {
		return ""
	}
	return out.Limitations[0].Code
}

func TestABudgetOfStacksKeepsTheHeaviest(t *testing.T) {
	lines := []string{one}
	for i, n := range []int{10, 30, 20} {
		lines = append(lines, fmt.Sprintf(`{"frame":["f%d","a.py",%d,true]}`, i, i+1), fmt.Sprintf(`{"stack":[0,0,%d,1,null,[%d]]}`, n, i))
	}
	b := evidence.DefaultBudget()
	b.Stacks = 2
	out, tables := rows(t, input(t, stream(lines...)), b)
	if out.State != evidence.Partial || code(out) != profile.StacksDropped || len(tables["stacks"]) != 2 || tables["stacks"][0]["weight"] != int64(30) || tables["stacks"][1]["weight"] != int64(20) {
		t.Errorf("%+v\n%v", out, tables["stacks"])
	}
	if len(tables["frames"]) != 3 {
		t.Errorf("%d frames", len(tables["frames"]))
	}
}

func TestFramesOverTheBudgetAreCountedAndCoverageSaysSo(t *testing.T) {
	lines := []string{strings.Replace(one, `"peak":60`, `"peak":5050`, 1)}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`{"frame":["f%d","a.py",%d,true]}`, i, i+1), fmt.Sprintf(`{"stack":[0,0,%d,1,null,[%d]]}`, i+1, i))
	}
	b := evidence.DefaultBudget()
	b.Frames = 10
	out, tables := rows(t, input(t, stream(lines...)), b)
	if out.State != evidence.Partial || code(out) != profile.FramesDropped || len(tables["frames"]) != 10 {
		t.Errorf("%+v, %d frames", out, len(tables["frames"]))
	}
	for _, r := range tables["measurements"] {
		if name := r["name"].(string); strings.HasPrefix(name, coverage) && r["value_int"] != int64(0) {
			t.Errorf("%s is %v", name, r["value_int"])
		}
	}
}

func TestStacksDeeperThanTheBudgetLoseTheirRootAndNoWeight(t *testing.T) {
	lines := []string{strings.Replace(one, `"peak":60`, `"peak":7`, 1)}
	for i := range 5 {
		lines = append(lines, fmt.Sprintf(`{"frame":["f%d","a.py",1,true]}`, i))
	}
	b := evidence.DefaultBudget()
	b.StackDepth = 2
	out, tables := rows(t, input(t, stream(append(lines, `{"stack":[0,0,7,3,null,[0,1,2,3,4]]}`)...)), b)
	if out.State != evidence.Partial || code(out) != profile.StackDepthCut || len(tables["frame_values"]) != 5 {
		t.Errorf("%+v, %v", out, tables["frame_values"])
	}
	if s := tables["stacks"][0]; len(s["frames"].([]string)) != 2 || s["weight"] != int64(7) || s["samples"] != uint64(3) {
		t.Errorf("stack %v", s)
	}
}

func TestNamesOfFilesAreTheProjectsWhereTheyLieInIt(t *testing.T) {
	c := collector{paths: providers.Paths{Root: "/home/p", Dir: "/home/p/sub"}}
	for name, want := range map[string]profile.Frame{
		"/home/p/a.py":     {File: "a.py"},
		"b.py":             {File: "sub/b.py"},
		"../c.py":          {File: "c.py"},
		"../../out.py":     {File: "../../out.py", Synthetic: true},
		"/usr/lib/json.py": {File: "/usr/lib/json.py", Synthetic: true},
		"<frozen runpy>":   {File: "<frozen runpy>", Synthetic: true},
		"":                 {Synthetic: true},
	} {
		want.Function, want.Language = "f", "python"
		if got := c.frame(frame{function: "f", file: name, python: true}); got != want {
			t.Errorf("%q is %+v, want %+v", name, got, want)
		}
	}
}

func TestTotalsThatDisagreeMakeTheEvidencePartial(t *testing.T) {
	for name, c := range map[string]struct {
		bytes int
		total int
	}{"the peak": {59, 60}, "all allocations": {60, 61}} {
		out, _ := rows(t, input(t, stream(one, `{"frame":["f","a.py",1,true]}`, fmt.Sprintf(`{"stack":[0,0,%d,1,null,[0]]}`, c.bytes),
			`{"stack":[0,3,60,1,null,[0]]}`, fmt.Sprintf(`{"totals":{"capture":0,"operations":1,"bytes":%d}}`, c.total))), evidence.DefaultBudget())
		if out.State != evidence.Partial || code(out) != TotalsDisagree {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAnAllocationOfNothingIsNoRow(t *testing.T) {
	out, tables := rows(t, input(t, stream(strings.Replace(one, `"peak":60`, `"peak":0`, 1), `{"frame":["f","a.py",1,true]}`, `{"stack":[0,0,0,4,null,[0]]}`)), evidence.DefaultBudget())
	if out.State != evidence.Complete || len(tables["stacks"]) != 0 || len(tables["measurements"]) == 0 {
		t.Errorf("%+v, %v", out, tables["stacks"])
	}
}

func TestStreamsThatAreNoneAreRefusedWithAReason(t *testing.T) {
	whole := stream(one, `{"frame":["f","a.py",1,true]}`, `{"stack":[0,0,60,1,null,[0]]}`)
	for name, c := range map[string]struct{ text, code string }{
		"nothing":                      {"", ReaderBroke},
		"cut":                          {whole[:len(whole)-12], ReaderBroke},
		"a line is missing":            {strings.Replace(whole, `{"frame":["f","a.py",1,true]}`+"\n", "", 1), ReaderBroke},
		"no captures":                  {stream(), ReaderBroke},
		"another protocol":             {strings.Replace(whole, `"protocol":1`, `"protocol":2`, 1), ReaderBroke},
		"no version":                   {strings.Replace(whole, `"version":"1.2.3"`, `"version":"","error":"broken"`, 1), NoReader},
		"no version of a package":      {strings.Replace(whole, `"version":"1.2.3"`, `"version":"newest"`, 1), ReaderBroke},
		"another library":              {strings.Replace(whole, `"library":"memray"`, `"library":"fil"`, 1), ReaderBroke},
		"another version":              {strings.Replace(whole, `"version":"1.2.3"`, `"version":"1.2.4"`, 1), ReaderOther},
		"two first lines":              {strings.Replace(whole, one, strings.SplitN(whole, "\n", 2)[0]+"\n"+one, 1), ReaderBroke},
		"a frame that was not named":   {strings.Replace(whole, "[0]]}", "[1]]}", 1), ReaderBroke},
		"a view that there is not":     {strings.Replace(whole, "[0,0,60", "[0,4,60", 1), ReaderBroke},
		"a capture that there is not":  {strings.Replace(whole, "[0,0,60", "[1,0,60", 1), ReaderBroke},
		"negative bytes":               {strings.Replace(whole, "[0,0,60", "[0,0,-60", 1), ReaderBroke},
		"more bytes than 64 bits have": {strings.Replace(whole, "[0,0,60", "[0,0,99999999999999999999", 1), ReaderBroke},
		"weights that overflow":        {strings.Replace(whole, `{"end":4}`, `{"stack":[0,0,9223372036854775807,1,null,[0]]}`+"\n"+`{"end":5}`, 1), Overflow},
		"refused as incompatible":      {stream(`{"refused":{"capture":0,"text":"OSError: the file is incompatible"}}`), Incompatible},
		"refused":                      {stream(`{"refused":{"capture":0,"text":"RuntimeError: no"}}`), Unreadable},
		"an endless line":              {whole[:len(whole)-11] + strings.Repeat(" ", maxLine+1), ReaderBroke},
		"no JSON":                      {"Traceback (most recent call last):\n", ReaderBroke},
	} {
		out, tables := rows(t, input(t, c.text), evidence.DefaultBudget())
		want := evidence.Incompatible
		if c.code == NoReader || c.code == ReaderOther {
			want = evidence.Unavailable
		}
		if out.State != want || code(out) != c.code || len(tables) != 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAReaderThatCrashedIsNamedAsTheCause(t *testing.T) {
	in := input(t, stream(one)[:40])
	in.Reading.Failure = "SIGSEGV"
	if out, _ := rows(t, in, evidence.DefaultBudget()); code(out) != ReaderBroke || !strings.Contains(out.Limitations[0].Text, "SIGSEGV") {
		t.Errorf("%+v", out)
	}
}

func TestADeepStackIsRefusedAndNotHeld(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("0,", profile.MaxDepth+1), ",")
	out, _ := rows(t, input(t, stream(one, `{"frame":["f","a.py",1,true]}`, `{"stack":[0,0,60,1,null,[`+deep+`]]}`)), evidence.DefaultBudget())
	if out.State != evidence.Incompatible || code(out) != TooMuch {
		t.Errorf("%+v", out)
	}
}

func TestAFrameIsWholeOnlyWithItsEnd(t *testing.T) {
	data := lz4(append([]byte("memray\x00"), bytes.Repeat([]byte("x"), 300)...))
	c, err := look(bytes.NewReader(data), "x", int64(len(data)))
	if err != nil || !c.compressed || !c.whole {
		t.Fatalf("%+v %v", c, err)
	}
	for n := headSize; n < len(data); n++ {
		if c, err := look(bytes.NewReader(data[:n]), "x", int64(n)); err != nil || c.whole {
			t.Fatalf("the first %d bytes: %+v %v", n, c, err)
		}
	}
	if c, err := look(bytes.NewReader(append(data, 0)), "x", int64(len(data)+1)); err != nil || c.whole {
		t.Errorf("with a byte more: %+v %v", c, err)
	}
	twice := append(bytes.Clone(data), data...)
	if c, err := look(bytes.NewReader(twice), "x", int64(len(twice))); err != nil || !c.whole {
		t.Errorf("two frames: %+v %v", c, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(stream(one, `{"frame":["f","a.py",1,true]}`, `{"stack":[0,0,60,1,"main",[0,0]]}`, `{"without":{"capture":0,"view":2,"text":"no"}}`, `{"totals":{"capture":0,"operations":1,"bytes":60}}`))
	f.Add(stream(one, `{"frame":[null,null,null,null]}`, `{"stack":[null,null,null,null,null,null]}`))
	f.Add(stream(`{"refused":{"capture":0,"text":""}}`))
	f.Fuzz(func(t *testing.T, text string) {
		frames, captures, nothing := 0, 0, func(x int) string { return "x" }
		_, err := parseStream(strings.NewReader(text), &providers.Reading{Version: "1.2.3"}, nothing, 1, handler{
			capture: func(c capture) error {
				captures++
				return nil
			},
			frame: func(frame) error {
				frames++
				return nil
			},
			stack: func(s *stack) error {
				if captures != 1 || s.capture != 0 || s.view < 0 || s.view >= views || s.bytes < 0 || slices.ContainsFunc(s.frames, func(i int) bool { return i < 0 || i >= frames }) {
					t.Errorf("stack %+v with %d frames", s, frames)
				}
				return nil
			},
			without: func(w without) error {
				if w.Capture != 0 || w.View < 0 || w.View >= views {
					t.Errorf("%+v", w)
				}
				return nil
			},
			totals: func(x totals) error {
				if x.Capture != 0 || x.Bytes < 0 || x.Operations < 0 {
					t.Errorf("%+v", x)
				}
				return nil
			},
		})
		var bad *providers.Refusal
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("the stream is at fault, and the error is %v", err)
		}
		if err == nil && captures != 1 {
			t.Error("a stream without its capture was accepted")
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(lz4([]byte("memray\x00...")))
	f.Add([]byte("memray\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := look(bytes.NewReader(data), "x", int64(len(data)))
		if err != nil {
			return
		}
		if c.whole {
			if cut, err := look(bytes.NewReader(data[:len(data)-1]), "x", int64(len(data)-1)); err == nil && cut.whole {
				t.Error("it is whole with and without its last byte")
			}
		}
	})
}
