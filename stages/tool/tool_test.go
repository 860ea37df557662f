package tool

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// The variables that make this binary the process that is killed.
const (
	childURL  = "FLAMEOX_TEST_FETCH_URL"
	childFile = "FLAMEOX_TEST_FETCH_FILE"
)

func TestMain(m *testing.M) {
	if u := os.Getenv(childURL); u != "" {
		t, err := New("tool.x", options(u, payload()), "/")
		if err == nil {
			err = newClient().fetch(context.Background(), t, os.Getenv(childFile))
		}
		fmt.Println("done", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// payload is the download of every test: enough for several reads.
func payload() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func options(url string, b []byte) *Options {
	sum := digest.Sum(b).String()
	return &Options{Revision: "v1", URL: url, Size: int64(len(b)), SHA256: sum, Executable: sum, Timeout: 20 * time.Second}
}

func make1(t *testing.T, o *Options) *Tool {
	t.Helper()
	tool, err := New("tool.x", o, "/")
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// server serves b, with ranges unless ranges is false. Each of the first cuts answers breaks off after a third of what was asked.
type server struct {
	b      []byte
	ranges bool
	cuts   int32
	asked  atomic.Int32
	sent   atomic.Int64
	stalls atomic.Bool
	block  chan struct{} // what an answer of a server that stalls waits for after the first third
	half   chan struct{} // where not nil: told when a third was sent
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.asked.Add(1)
	from := 0
	if v, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && s.ranges {
		from, _ = strconv.Atoi(strings.TrimSuffix(v, "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.b)-1, len(s.b)))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(s.b)-from))
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	rest := s.b[from:]
	if n > s.cuts && !s.stalls.Load() {
		s.sent.Add(int64(len(rest)))
		w.Write(rest)
		return
	}
	third := rest[:len(rest)/3]
	s.sent.Add(int64(len(third)))
	w.Write(third)
	w.(http.Flusher).Flush()
	if s.stalls.Load() {
		select {
		case s.half <- struct{}{}:
		default:
		}
		select {
		case <-s.block:
		case <-r.Context().Done():
		}
	}
	panic(http.ErrAbortHandler)
}

func start(t *testing.T, s *server) string {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL + "/say"
}

func fetch(t *testing.T, o *Options, file string) error {
	t.Helper()
	c := newClient()
	c.pause = time.Millisecond
	return c.fetch(t.Context(), make1(t, o), file)
}

func TestADownloadThatIsCutGoesOnWhereItEnded(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		s := &server{b: payload(), ranges: ranges, cuts: 3}
		file := filepath.Join(t.TempDir(), "part")
		if err := fetch(t, options(start(t, s), s.b), file); err != nil {
			t.Fatalf("ranges %v: %v", ranges, err)
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, s.b) {
			t.Errorf("ranges %v: %d bytes came (%v)", ranges, len(got), err)
		}
		if s.asked.Load() != 4 {
			t.Errorf("ranges %v: it asked %d times", ranges, s.asked.Load())
		}
		if ranges && s.sent.Load() != int64(len(s.b)) {
			t.Errorf("%d bytes were sent for %d: it did not go on but began again", s.sent.Load(), len(s.b))
		}
	}
}

func TestAKilledDownloadIsGoneOnWithByTheNextProcess(t *testing.T) {
	s := &server{b: payload(), ranges: true, block: make(chan struct{}), half: make(chan struct{}, 1)}
	s.stalls.Store(true)
	u := start(t, s)
	file := filepath.Join(t.TempDir(), "part")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+u, childFile+"="+file)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-s.half
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() == int64(len(s.b)/3) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the child wrote nothing, so this proves nothing")
		}
	}
	child.Process.Kill()
	line, _ := bufio.NewReader(out).ReadString('\n')
	child.Wait()
	if line != "" {
		t.Fatalf("the child said %q before it was killed", line)
	}
	s.stalls.Store(false)
	close(s.block)
	s.sent.Store(0)
	if err := fetch(t, options(u, s.b), file); err != nil {
		t.Fatal(err)
	}
	if want := int64(len(s.b) - len(s.b)/3); s.sent.Load() != want {
		t.Errorf("%d bytes were sent after the kill, %d were missing", s.sent.Load(), want)
	}
}

func TestWhatIsDownloadedIsWhatTheConfigurationSaysOrNothing(t *testing.T) {
	b := payload()
	other := bytes.Clone(b)
	other[len(other)-1] ^= 1
	serve := func(status int, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status); w.Write(body) }
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		part []byte // that is there already
		want Failure
		text string
	}{
		"other bytes": {serve(200, other), nil, WrongBytes, "it was replaced there"},
		"fewer bytes": {serve(200, b[:5]), nil, WrongSize, "has 5 bytes, and size = 1048576"},
		"endless":     {func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(append(b, 1)) }, nil, WrongSize, "has more bytes"},
		"not there":   {serve(404, nil), nil, Unreachable, "404 Not Found"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/x", http.StatusFound)
		}, nil, Unreachable, "redirects to an address that is not https"},
		"a file of ours": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, nil, Unreachable, "redirects to an address"},
		"a forged part":         {serve(200, b), other, "", ""},
		"a part of the wrong":   {serve(200, b), other[:100], "", ""},
		"a part that is longer": {serve(200, b), append(bytes.Clone(b), 0), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := httptest.NewServer(c.h)
			defer h.Close()
			file := filepath.Join(t.TempDir(), "part")
			if c.part != nil {
				if err := os.WriteFile(file, c.part, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := fetch(t, options(h.URL+"/say", b), file)
			var wrong *Error
			if c.want == "" {
				if got, rerr := os.ReadFile(file); err != nil || !bytes.Equal(got, b) {
					t.Errorf("%d bytes, %v, %v", len(got), err, rerr)
				}
				return
			}
			if !errors.As(err, &wrong) || wrong.Kind != c.want || !strings.Contains(wrong.Text, c.text) {
				t.Errorf("the error is %v", err)
			}
			if got, _ := os.ReadFile(file); bytes.Equal(got, other) {
				t.Error("the wrong bytes were kept")
			}
		})
	}
}

func TestASilentServerIsGivenUpAndTheDeadlineHolds(t *testing.T) {
	s := &server{b: payload(), ranges: true, block: make(chan struct{}), half: make(chan struct{}, 1)}
	s.stalls.Store(true)
	u := start(t, s)
	defer close(s.block)
	c := newClient()
	c.silence, c.pause = 20*time.Millisecond, time.Millisecond
	o := options(u, s.b)
	o.Timeout = 300 * time.Millisecond
	begin := time.Now()
	err := c.fetch(t.Context(), make1(t, o), filepath.Join(t.TempDir(), "part"))
	if err == nil || !strings.Contains(err.Error(), "could not be downloaded") || time.Since(begin) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	if s.asked.Load() < 2 {
		t.Error("it did not ask again after the silence")
	}
}

func tarOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		body := []byte(h.Uname)
		h.Uname, h.Size = "", 0
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write(body)
		}
	}
	w.Close()
	return b.Bytes()
}

func gz(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func zipOf(t *testing.T, name, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(body))
	w.Close()
	return b.Bytes()
}

func TestOnlyTheMemberIsTakenOutAndItMustBeAFile(t *testing.T) {
	file := tar.Header{Name: "./bin/say", Typeflag: tar.TypeReg, Mode: 0o755, Uname: "program"}
	link := tar.Header{Name: "bin/say", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	hard := tar.Header{Name: "bin/say", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}
	evil := tar.Header{Name: "../../evil", Typeflag: tar.TypeReg, Uname: "evil"}
	for name, c := range map[string]struct {
		archive []byte
		member  string
		want    string // content, or what the error says
		fails   bool
	}{
		"tar":             {tarOf(t, evil, file), "bin/say", "program", false},
		"tar.gz":          {gz(tarOf(t, file)), "bin/say", "program", false},
		"zip":             {zipOf(t, "bin/say", "program"), "bin/say", "program", false},
		"plain":           {[]byte("program"), "", "program", false},
		"gz":              {gz([]byte("program")), "", "program", false},
		"a link":          {tarOf(t, link), "bin/say", "is not a file", true},
		"a hard link":     {tarOf(t, hard), "bin/say", "is not a file", true},
		"twice":           {tarOf(t, file, file), "bin/say", "twice", true},
		"not there":       {gz(tarOf(t, evil)), "bin/say", "has no file bin/say", true},
		"not in the zip":  {zipOf(t, "x", "y"), "bin/say", "has no file bin/say", true},
		"cut":             {gz(tarOf(t, file))[:40], "bin/say", "damaged", true},
		"no archive":      {bytes.Repeat([]byte("x"), 2000), "bin/say", "no tar archive", true},
		"xz":              {[]byte("\xfd7zXZ\x00rest"), "bin/say", "compressed with xz", true},
		"a zip cut short": {zipOf(t, "bin/say", "program")[:30], "bin/say", "no zip archive", true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := unpack(bytes.NewReader(c.archive), int64(len(c.archive)), c.member, &out)
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error is %v", err)
				}
			} else if err != nil || out.String() != c.want {
				t.Errorf("it is %q, %v", out.String(), err)
			}
		})
	}
}

func TestAnAddressIsOneThatCanBeAsked(t *testing.T) {
	b := payload()
	for u, want := range map[string]string{
		"https://example.com/a": "", "http://127.0.0.1:1/a": "", "http://[::1]:1/a": "", "http://localhost/a": "", "file:///a": "",
		"http://example.com/a": "this machine only", "http://127.0.0.1.example.com/a": "this machine only", "https://u:p@example.com/a": "user or a password",
		"ftp://example.com/a": "give https", "/a": "give https", "file://other/a": "give https", "https://example.com/": "name of a file", "https://example.com/..": "name of a file",
	} {
		_, err := New("tool.x", options(u, b), "/")
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", u, err, want)
		}
	}
	for _, member := range []string{"../x", "/x", "./x", "a/../x", `a\x`} {
		o := options("https://example.com/a.tgz", b)
		if o.Member = member; member != "" {
			if _, err := New("tool.x", o, "/"); err == nil {
				t.Errorf("member %q was accepted", member)
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("PK\x03\x04"), "a")
	f.Add(gz([]byte("x")), "")
	f.Add(bytes.Repeat([]byte{0}, 1024), "bin/say")
	f.Fuzz(func(t *testing.T, b []byte, member string) {
		var out bytes.Buffer
		unpack(bytes.NewReader(b), int64(len(b)), member, &out)
	})
}
