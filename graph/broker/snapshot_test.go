package broker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func paths(files []File) (out []string) {
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}

func refusals(rs []Refusal) (out []string) {
	for _, r := range rs {
		out = append(out, string(r.Code)+" "+r.Path)
	}
	slices.Sort(out)
	return out
}

func slurp(f *File) (string, error) {
	var s string
	err := f.Read(func(r io.Reader) error {
		b, err := io.ReadAll(r)
		s = string(b)
		return err
	})
	return s, err
}

func TestSnapshotTakesWhatMatchesAndReadsIt(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "result.json", "{}")
	put(t, dir, "a/b/deep.prof", "deep")
	put(t, dir, "a/top.prof", "top")
	put(t, dir, "other.txt", "no")
	put(t, dir, "a/empty.prof", "")
	files, refused := Snapshot(dir, []Pattern{{Glob: "result.json", Required: true}, {Glob: "a/**/*.prof"}, {Glob: "a/*.prof"}}, Limits{})
	if len(refused) != 0 {
		t.Errorf("refused %v", refused)
	}
	if got, want := paths(files), []string{"a/b/deep.prof", "a/empty.prof", "a/top.prof", "result.json"}; !slices.Equal(got, want) {
		t.Fatalf("files %v, want %v", got, want)
	}
	for i, want := range []string{"deep", "", "top", "{}"} {
		if got, err := slurp(&files[i]); err != nil || got != want || files[i].Size != int64(len(want)) {
			t.Errorf("%s: %q of %d bytes, %v; want %q", files[i].Path, got, files[i].Size, err, want)
		}
	}
	if files[0].Pattern != 1 || files[3].Pattern != 0 {
		t.Errorf("patterns %d and %d", files[0].Pattern, files[3].Pattern)
	}
}

func TestWhatIsNotAPlainFileIsRefusedWithItsReason(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, outside, "secret", "secret")
	put(t, dir, "good", "good")
	os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "link"))
	os.Symlink("good", filepath.Join(dir, "inner"))
	os.Symlink(outside, filepath.Join(dir, "out"))
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := []string{"fifo fifo", "hard_link hard", "missing absent", "missing out/x", "socket sock", "symlink inner", "symlink link", "symlink out"}
	if unix.Mknod(filepath.Join(dir, "device"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))) == nil {
		want = append(want, "device device")
	}
	os.WriteFile(filepath.Join(dir, "bad\nname"), nil, 0o644)
	want = append(want, "bad_name bad\nname")
	slices.Sort(want)

	for _, walk := range []bool{false, true} {
		files, refused := Snapshot(dir, []Pattern{{Glob: "*"}, {Glob: "out/x", Required: true}, {Glob: "absent", Required: true}}, Limits{})
		if got := refusals(refused); !slices.Equal(got, want) {
			t.Errorf("refused\n%q, want\n%q", got, want)
		}
		for _, r := range refused {
			if len(r.Text) < 30 || !strings.Contains(r.Text, strings.TrimSuffix(r.Path, "\nname")) {
				t.Errorf("%s: %q is no sentence about it", r.Path, r.Text)
			}
		}
		if got := paths(files); !slices.Equal(got, []string{"good"}) {
			t.Fatalf("taken %v", got)
		}
		files[0].root.walk = walk
		// The way the fallback opens must refuse the same.
		for _, rel := range []string{"link", "out/secret", "inner", "../" + filepath.Base(outside) + "/secret"} {
			if fd, err := files[0].root.open(rel, unix.O_RDONLY); err == nil {
				unix.Close(fd)
				t.Errorf("walk %v: %s was opened", walk, rel)
			} else if c := openCode(err); c != RefusedSymlink && c != RefusedOutside {
				t.Errorf("walk %v: %s: %v is %s", walk, rel, err, c)
			}
		}
		if got, err := slurp(&files[0]); err != nil || got != "good" {
			t.Errorf("walk %v: %q, %v", walk, got, err)
		}
	}
}

func TestALinkOnTheWayToAnOutputIsNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "real/x", "1")
	os.Symlink("real", filepath.Join(dir, "out"))
	os.Symlink("real", filepath.Join(dir, "unasked"))
	files, refused := Snapshot(dir, []Pattern{{Glob: "out/x", Required: true}, {Glob: "**/*.none"}}, Limits{})
	if got, want := refusals(refused), []string{"missing out/x", "symlink out"}; len(files) != 0 || !slices.Equal(got, want) {
		t.Errorf("files %v, refused %v, want %v", paths(files), got, want)
	}
}

func TestAFileThatChangesAfterItWasListedIsRefused(t *testing.T) {
	outside := put(t, t.TempDir(), "secret", "secret")
	changes := map[string]func(path string){
		"written":              func(p string) { os.WriteFile(p, []byte("bytes"), 0o644) },
		"grown":                func(p string) { f, _ := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0); f.WriteString("x"); f.Close() },
		"removed":              func(p string) { os.Remove(p) },
		"replaced":             func(p string) { os.Remove(p); os.WriteFile(p, []byte("12345"), 0o644) },
		"replaced by a link":   func(p string) { os.Remove(p); os.Symlink(outside, p) },
		"linked":               func(p string) { os.Link(p, p+".2") },
		"its directory a link": func(p string) { d := filepath.Dir(p); os.Rename(d, d+".2"); os.Symlink(d+".2", d) },
	}
	for name, change := range changes {
		for _, during := range []bool{false, true} {
			dir := t.TempDir()
			p := put(t, dir, "d/file", "12345")
			time.Sleep(2 * clockGrain)
			files, refused := Snapshot(dir, []Pattern{{Glob: "d/file"}}, Limits{})
			if len(files) != 1 || len(refused) != 0 {
				t.Fatalf("%v, %v", files, refused)
			}
			if !during {
				change(p)
			}
			err := files[0].Read(func(r io.Reader) error {
				if during {
					change(p)
				}
				_, err := io.Copy(io.Discard, r)
				return err
			})
			if during && (name == "its directory a link") {
				// The open file is still the one that was listed.
				if err != nil {
					t.Errorf("%s while read: %v", name, err)
				}
				continue
			}
			var r *Refusal
			if !errors.As(err, &r) || (r.Code != RefusedChanged && r.Code != RefusedSymlink) {
				t.Errorf("%s, while read %v: %v; want a refusal", name, during, err)
			}
		}
	}
}

func TestTheReadersOwnErrorIsNotARefusal(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "f", "1")
	files, _ := Snapshot(dir, []Pattern{{Glob: "f"}}, Limits{})
	mine := errors.New("mine")
	if err := files[0].Read(func(io.Reader) error { return mine }); err != mine {
		t.Errorf("%v", err)
	}
}

func TestSnapshotKeepsItsLimits(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		put(t, dir, fmt.Sprint("f", i), "12345")
	}
	put(t, dir, "big", strings.Repeat("x", 100))
	for _, tt := range []struct {
		limits Limits
		taken  int
		code   RefusalCode
	}{
		{Limits{FileBytes: 50}, 5, RefusedTooLarge},
		{Limits{Files: 3}, 3, RefusedTooMany},
		{Limits{Bytes: 27}, 5, RefusedTooLarge},
		{Limits{Entries: 2}, 2, RefusedTooMany},
	} {
		files, refused := Snapshot(dir, []Pattern{{Glob: "**"}}, tt.limits)
		if len(files) != tt.taken || len(refused) != 1 || refused[0].Code != tt.code {
			t.Errorf("%+v: %d taken, refused %v; want %d and %s", tt.limits, len(files), refused, tt.taken, tt.code)
		}
	}
}

func TestPatternsThatLeaveTheDirectoryAreRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "f", "1")
	for _, glob := range []string{"../x", "/etc/passwd", "a/../../x", "[", ""} {
		if files, refused := Snapshot(dir, []Pattern{{Glob: glob, Required: true}}, Limits{}); len(files) != 0 || len(refused) != 1 || refused[0].Code != RefusedPattern {
			t.Errorf("%q: %v, %v", glob, files, refused)
		}
	}
	if _, refused := Snapshot(filepath.Join(dir, "missing"), nil, Limits{}); len(refused) != 1 || refused[0].Code != RefusedUnreadable {
		t.Errorf("a missing directory: %v", refused)
	}
}
