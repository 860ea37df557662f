package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/adapter/contain"
	"github.com/flameox/flameox/stages/adapter/protocol"
	"github.com/flameox/flameox/stages/kind"
)

// The test binary is the worker that contains an adapter, as the flameox binary is.
func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	if len(os.Args) > 1 && os.Args[1] == contain.Command {
		os.Stderr.WriteString(contain.Serve(os.Args[2:]).Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// project is a store and an approved adapter of a script.
func project(t *testing.T, script string) (*Adapter, approval.Identity) {
	t.Helper()
	root, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".flameox")
	blobs, err := cas.Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := cache.Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	b := broker.New(broker.Options{Store: "test"})
	t.Cleanup(func() { b.Close() })
	p := &kind.Project{
		Root: root, Environ: map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}, Self: self, Memo: kind.NewMemo(),
		Store: &graph.Store{Dir: dir, CAS: blobs, Cache: records, Broker: b, ID: "test", Now: time.Now},
	}
	p.Stat = cas.OpenStatCache(filepath.Join(dir, "cache", "stat"), vfs.OS{})
	a, err := New("a", &Options{Program: "a.sh", Version: "1", Containment: "required"}, p)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := a.Identity()
	if err != nil {
		t.Fatal(err)
	}
	trust(t, a, id)
	return a, id
}

func trust(t *testing.T, a *Adapter, id approval.Identity) {
	t.Helper()
	s, err := approval.Of(a.project.Environ, vfs.OS{})
	if err == nil {
		err = s.Add(approval.Approval{Identity: id})
	}
	if err != nil {
		t.Fatal(err)
	}
}

const answers = "#!/bin/sh\ncat > /dev/null\n"

// validatedRun commits a capture with one artifact and the receipt of the program that validated it.
func validatedRun(t *testing.T, a *Adapter, by digest.Digest) (*cache.Summary, []protocol.Artifact) {
	t.Helper()
	s := a.project.Store
	batch := s.CAS.NewBatch()
	sum, err := batch.PutBytes([]byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal([]Receipt{{Name: "out", Artifact: sum, Bytes: 7, Package: by, ValidatorVersion: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	m := facet.New(facet.Facet{Name: facet.Command, Entries: []facet.Entry{{Name: "argv[0]", Value: "x"}}})
	rec := &cache.Record{
		Run: s.Cache.NewRunID(), Revision: 1, Address: "capture.adapter.x", Kind: "capture.adapter", Key: m.Key(), Attempt: 1, Manifest: m,
		Validation: cache.ValidationPassed, Outputs: []cache.Output{{Name: "out", Role: rolePrefix + "k", Digest: sum, Size: 7}},
		Results: map[string]json.RawMessage{receipts: b},
	}
	if err := s.Cache.Commit(batch, []*cache.Record{rec}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Cache.Run(rec.Run)
	if err != nil {
		t.Fatal(err)
	}
	return r, payloads(s, r.Outputs)
}

func extractOnce(t *testing.T, a *Adapter, r *cache.Summary, list []protocol.Artifact, id approval.Identity) (*cache.Record, error) {
	t.Helper()
	x := &extraction{capture: &capture{adapter: a, o: &CaptureOptions{}}}
	dir := t.TempDir()
	rec, err := x.run(t.Context(), &graph.Task{Store: a.project.Store, Dir: dir, Mark: a.project.Store.Broker.Mark("t"), Batch: a.project.Store.CAS.NewBatch()}, r, list, id)
	if left, _ := filepath.Glob(filepath.Join(dir, "adapter-*")); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
	return rec, err
}

func TestAProgramThatChangesBetweenValidationAndExtractionIsNotRun(t *testing.T) {
	a, id := project(t, answers+`echo '{"api_version": 1, "extractor_version": "1", "summary": {"a": 1}}'`)
	r, list := validatedRun(t, a, id.SHA256)
	rec, err := extractOnce(t, a, r, list, id)
	if err != nil || !rec.Valid() || rec.State != string(evidence.Complete) {
		t.Fatalf("%+v %v", rec, err)
	}
	if err := os.WriteFile(a.program, []byte(answers+`echo '{"api_version": 1, "extractor_version": "1", "summary": {"a": 2}}'`), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = extractOnce(t, a, r, list, id)
	var moved *graph.MovedError
	if !errors.As(err, &moved) {
		t.Errorf("a program that changed was run: %v", err)
	}
	// Approving what it is now is no receipt either: another program validated the artifact.
	now, _, err := a.Identity()
	if err != nil {
		t.Fatal(err)
	}
	trust(t, a, now)
	rec, err = extractOnce(t, a, r, list, now)
	if err != nil || rec.Valid() || rec.Invalid[0].Code != "receipt_missing" {
		t.Errorf("%+v %v", rec, err)
	}
}

func TestARevokedProgramIsNotRun(t *testing.T) {
	a, id := project(t, answers+`echo '{"api_version": 1, "extractor_version": "1", "summary": {}}'`)
	r, list := validatedRun(t, a, id.SHA256)
	s, err := approval.Of(a.project.Environ, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	var moved *graph.MovedError
	if _, err := extractOnce(t, a, r, list, id); !errors.As(err, &moved) {
		t.Errorf("it was run: %v", err)
	}
}

func TestAContainedProgramHasNeitherFilesNorNetworkNorRoomBeyondWhatItIsGiven(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("for nobody"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ script, want string }{
		"reads what is not its":     {"cat " + secret + " || echo refused\n", "refused"},
		"writes elsewhere":          {"echo x > " + secret + " || echo refused\n", "refused"},
		"lists a home":              {"ls " + filepath.Dir(secret) + " || echo refused\n", "refused"},
		"reads accounts":            {"cat /etc/passwd || echo refused\n", "refused"},
		"changes its program":       {"echo x >> \"$0\" || echo refused\n", "refused"},
		"writes its own folder":     {"echo fine > here && cat here\n", "fine"},
		"reads the system's":        {"ls /usr/bin/env\n", "/usr/bin/env"},
		"opens too many files":      {"ulimit -n\n", "256"},
		"dumps no core":             {"ulimit -c\n", "0"},
		"has an environment of its": {"env | grep -c SECRET_OF_THE_CALLER || true\n", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SECRET_OF_THE_CALLER", "1")
			a, _ := project(t, answers+"exec 2>/dev/null\n"+c.script)
			_, program, err := a.Approved()
			if err != nil {
				t.Fatal(err)
			}
			out, report, err := a.call(t.Context(), t.TempDir(), "", program, protocol.Request{Phase: protocol.PhaseProbe})
			if err != nil {
				t.Fatal(err)
			}
			if report.Landlock == 0 {
				t.Skip("this kernel has no Landlock")
			}
			if got := strings.TrimSpace(string(out)); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
			if b, err := os.ReadFile(secret); err != nil || string(b) != "for nobody" {
				t.Errorf("the file is %q, %v", b, err)
			}
		})
	}
}

func TestAContainedProgramReachesNoServerOfThisMachine(t *testing.T) {
	bash, err := os.Stat("/bin/bash")
	if err != nil || bash.IsDir() {
		t.Skip("there is no /bin/bash, which can connect by itself")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := fmt.Sprintf("if exec 3<>/dev/tcp/127.0.0.1/%d; then echo connected; else echo refused; fi", l.Addr().(*net.TCPAddr).Port)
	a, _ := project(t, "#!/bin/bash\ncat > /dev/null\n"+connect+" 2>/dev/null\n")
	_, program, err := a.Approved()
	if err != nil {
		t.Fatal(err)
	}
	out, report, err := a.call(t.Context(), t.TempDir(), "", program, protocol.Request{Phase: protocol.PhaseProbe})
	if err != nil {
		t.Fatal(err)
	}
	if report.Network == "open" {
		t.Skip("this kernel can contain no network")
	}
	if got := strings.TrimSpace(string(out)); got != "refused" {
		t.Errorf("it says %q", got)
	}
}

func TestAnswersThatAreNoneAreRefusedWithTheirReason(t *testing.T) {
	for name, c := range map[string]struct{ script, code, want string }{
		"exits":       {"echo because >&2\nexit 4", "adapter_failed", "it exited 4: because"},
		"is killed":   {"kill -KILL $$", "adapter_failed", "SIGKILL"},
		"floods":      {"yes", "adapter_output_limit", "1048576 bytes"},
		"writes much": {"head -c 100000000 /dev/zero > big || exit 5", "adapter_failed", "it exited 5"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := project(t, answers+c.script)
			_, program, err := a.Approved()
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = a.call(t.Context(), t.TempDir(), "", program, protocol.Request{Phase: protocol.PhaseProbe})
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Why, c.want) {
				t.Errorf("%v, want %s with %q", err, c.code, c.want)
			}
		})
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	p := &kind.Project{Root: "/p"}
	for name, c := range map[string]struct {
		name string
		o    Options
		want string
	}{
		"a program that leaves": {"a", Options{Program: "../x", Version: "1", Containment: "required"}, "leaves the project"},
		"no program":            {"a", Options{Version: "1", Containment: "required"}, "program is empty"},
		"no version":            {"a", Options{Program: "x", Containment: "required"}, "version is"},
		"no containment":        {"a", Options{Program: "x", Version: "1", Containment: "none"}, "containment is"},
		"a name with a slash":   {"a/b", Options{Program: "x", Version: "1", Containment: "required"}, "no name of an adapter"},
	} {
		if _, err := New(c.name, &c.o, p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
