package providertest

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
)

// suite calls one extractor as the engine does.
type suite struct {
	e     providers.Extractor
	c     *Cases
	dir   string                        // for as long as the suite runs
	known map[string]*providers.Reading // of a Reader, by job and payload
}

// read lets the reader of a Reader's payloads run, or the program of a Printer's, as the engine does before it calls the provider. Equal payloads are read once.
func (s *suite) read(t *testing.T, job string, in providers.Input) providers.Input {
	t.Helper()
	r, reads := s.e.(providers.Reader)
	pr, prints := s.e.(providers.Printer)
	prints = prints && len(in.Artifacts) > 0 && pr.Prints(in.Artifacts[0])
	if !reads && !prints || len(in.Artifacts) == 0 {
		return in
	}
	key := job
	for _, a := range in.Artifacts {
		key += " " + a.Digest.String()
	}
	if s.known[key] == nil {
		if s.known == nil {
			s.known = map[string]*providers.Reading{}
		}
		options := s.options()
		if job == "validate" {
			options = nil
		}
		if prints {
			s.known[key] = Print(t, pr, s.c.Interpreter, options, in.Artifacts[0], s.dir)
		} else {
			s.known[key] = Read(t, r, s.c.Interpreter, job, options, in.Artifacts, s.dir)
		}
	}
	in.Reading = s.known[key]
	return in
}

// result is what an extraction left.
type result struct {
	outcome evidence.Outcome
	rows    int64
	files   map[string][]byte // by table
}

// Input is a run whose only artifact is data, as an immutable file.
func Input(t *testing.T, role string, data []byte) providers.Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	return providers.Input{Artifacts: []providers.Artifact{{
		Name: "payload", Role: role, MediaType: "application/octet-stream", Digest: digest.Sum(data), Size: int64(len(data)), Path: path,
	}}}
}

func (s *suite) input(t *testing.T, data []byte) providers.Input {
	t.Helper()
	return Input(t, s.c.Role, data)
}

func (s *suite) options() any {
	if s.c.Options != nil {
		return s.c.Options
	}
	return lang.Defaults(s.e.ExtractOptions())
}

func (s *suite) extract(t *testing.T, data []byte, b evidence.Budget) result {
	t.Helper()
	return s.run(t, s.input(t, data), b)
}

func (s *suite) run(t *testing.T, in providers.Input, b evidence.Budget) result {
	t.Helper()
	got, err := s.try(t, in, b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// try extracts with the sink that the budget allows and reads back every file.
func (s *suite) try(t *testing.T, in providers.Input, b evidence.Budget) (result, error) {
	t.Helper()
	meta := evidence.FileMeta{Provider: s.e.Name(), ProviderVersion: s.e.Version()}
	if len(in.Artifacts) > 0 {
		meta.Artifact = in.Artifacts[0].Digest
	}
	in = s.read(t, "extract", in)
	sink := evidence.NewSink(t.TempDir(), meta, b)
	defer sink.Discard()
	out, err := s.e.Extract(t.Context(), in, s.options(), b, sink)
	if err != nil {
		return result{}, err
	}
	got := result{outcome: out, rows: sink.Rows(), files: map[string][]byte{}}
	if out.State == evidence.Incompatible && got.rows > 0 {
		t.Errorf("a refused payload left %d rows", got.rows)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatalf("closing the sink: %v", err)
	}
	for _, p := range parts {
		data, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		got.files[p.Table] = data
	}
	return got, nil
}

// refused checks that data is no evidence and no valid run.
func (s *suite) refused(t *testing.T, data []byte) {
	t.Helper()
	got := s.extract(t, data, evidence.DefaultBudget())
	if got.outcome.State != evidence.Incompatible || got.rows != 0 || len(got.outcome.Limitations) == 0 {
		t.Errorf("state %s with %d rows: %v", got.outcome.State, got.rows, got.outcome.Limitations)
	}
	s.validity(t, data, 0, false)
}

// validity checks what the validator says of a run that left data and ended with exit.
func (s *suite) validity(t *testing.T, data []byte, exit int, want bool) {
	t.Helper()
	v, ok := s.e.(providers.Validator)
	if !ok {
		return
	}
	in := s.input(t, data)
	in.Exit = exit
	r, err := v.Validate(t.Context(), s.read(t, "validate", in))
	if err != nil {
		t.Fatal(err)
	}
	if r.Valid != want || r.Valid != (len(r.Reasons) == 0) {
		t.Errorf("valid is %v with the reasons %v, want %v", r.Valid, r.Reasons, want)
	}
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}
