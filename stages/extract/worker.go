package extract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/providers"
)

// WorkerCommand is the hidden first argument that makes the flameox binary a worker that parses artifacts.
const WorkerCommand = "__extract"

// job is what a worker does.
type job string

const (
	jobExtract  job = "extract"
	jobValidate job = "validate"
)

// request is what a worker is asked. It is a file in the attempt's private folder.
type request struct {
	Job      job             `json:"job"`
	Provider string          `json:"provider"`
	Version  int             `json:"version"`
	Options  json.RawMessage `json:"options,omitempty"` // of an extraction
	Input    providers.Input `json:"input"`
	Budget   evidence.Budget `json:"budget"`
	Out      string          `json:"out,omitempty"` // of an extraction: the folder of its Parquet parts
}

// response is what a worker answers, beside its Parquet parts.
type response struct {
	Error   string            `json:"error,omitempty"`
	Outcome evidence.Outcome  `json:"outcome"`
	Parts   []evidence.Part   `json:"parts,omitempty"`
	Receipt providers.Receipt `json:"receipt"`
}

// headroom is what a worker's process may take beside what it parses, in bytes.
const headroom = 256 << 20

// ask runs one worker, self, in a folder of its own below the attempt's: what the measured program left there is not in its
// way. fail says what the worker did wrong; err what flameox could not do.
func ask(ctx context.Context, t *graph.Task, self string, req *request) (out *response, fail *cache.Note, err error) {
	defer selftrace.From(ctx).Begin(string(req.Job), req.Provider).End()
	b, err := json.Marshal(req)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(t.Dir, "worker-")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	}
	question, answer := filepath.Join(dir, "request.json"), filepath.Join(dir, "response.json")
	if err == nil {
		err = os.WriteFile(question, b, 0o600)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ask the worker that reads artifacts: %w", err)
	}
	stderr := filepath.Join(dir, "stderr")
	res, err := t.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{self, WorkerCommand, question, answer}, Dir: dir, Mark: t.Mark,
		Env:    []string{"LANG=C.UTF-8", "TMPDIR=" + filepath.Join(dir, "tmp"), "GOMAXPROCS=1"},
		Stdout: filepath.Join(dir, "stdout"), Stderr: stderr,
		Timeout: req.Budget.Wall, OutputLimit: 1 << 20, MemoryLimit: req.Budget.Memory + headroom, Staging: t.Dir,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the worker that reads artifacts: %w", err)
	}
	if fail = ended(res, req.what(), req.Budget, stderr); fail != nil {
		return nil, fail, nil
	}
	out = &response{}
	if b, err = os.ReadFile(answer); err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil { // a provider that ends its process is no fault of the store
		return nil, &cache.Note{Code: "worker_crashed", Text: req.what() + " ended without an answer"}, nil
	}
	if out.Error != "" {
		return nil, &cache.Note{Code: "provider_failed", Text: req.what() + " failed: " + out.Error}, nil
	}
	return out, nil, nil
}

// what is the work, for the beginning of a sentence.
func (r *request) what() string { return "the worker that " + string(r.Job) + "s with " + r.Provider }

// ended says why a process that read payloads did not come to its end; nil where it did.
func ended(res *broker.Result, what string, budget evidence.Budget, stderr string) *cache.Note {
	again := "; the artifact is kept: report it if it is small, else capture less"
	switch res.Cause {
	case "":
	case broker.CauseCancelled:
		return &cache.Note{Code: "cancelled", Text: "flameox was interrupted"}
	case broker.CauseTimeout:
		return &cache.Note{Code: "worker_timeout", Text: fmt.Sprintf("%s ran longer than %s and was ended%s", what, budget.Wall, again)}
	case broker.CauseMemoryLimit:
		return &cache.Note{Code: "worker_memory_limit", Text: fmt.Sprintf("%s used more than %d MiB of memory and was ended%s", what, (budget.Memory+headroom)>>20, again)}
	default:
		return &cache.Note{Code: "worker_" + res.Cause, Text: fmt.Sprintf("%s was ended (%s)", what, res.Cause)}
	}
	if res.Exit == 0 && res.Signal == "" {
		return nil
	}
	return &cache.Note{Code: "worker_crashed", Text: fmt.Sprintf("%s crashed (%s)%s", what, how(res, stderr), again)}
}

// how is how a process failed: its status or signal, and what it said of it. A trace of Python's says it last, one of Go's first.
func how(res *broker.Result, stderr string) string {
	how := fmt.Sprintf("exit status %d", res.Exit)
	if res.Signal != "" {
		how = res.Signal
	}
	if b, err := os.ReadFile(stderr); err == nil && len(b) > 0 {
		text := strings.TrimSpace(string(b))
		line, _, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(line, "Traceback") {
			line = text[strings.LastIndexByte(text, '\n')+1:]
		}
		how += ", " + strings.ToValidUTF8(line[:min(len(line), 300)], "\uFFFD")
	}
	return how
}

// Serve is the worker: it answers one request and returns. The error is for standard error and exit status 1.
func Serve(ctx context.Context, reg *providers.Registry, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: %s REQUEST RESPONSE", WorkerCommand)
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var req request
	if err := json.Unmarshal(b, &req); err != nil {
		return err
	}
	debug.SetMemoryLimit(req.Budget.Memory)
	out, err := answer(ctx, reg, &req)
	if err != nil {
		out = &response{Error: err.Error()}
	}
	if b, err = json.Marshal(out); err != nil {
		return err
	}
	return os.WriteFile(args[1], b, 0o600)
}

func answer(ctx context.Context, reg *providers.Registry, req *request) (*response, error) {
	p, err := reg.Lookup(req.Provider)
	if err == nil && p.Version() == req.Version {
		if x, ok := p.(providers.Extractor); ok && req.Job == jobExtract {
			return extract(ctx, x, req)
		}
		if v, ok := p.(providers.Validator); ok && req.Job == jobValidate {
			receipt, err := v.Validate(ctx, req.Input)
			return &response{Receipt: receipt}, err
		}
	}
	return nil, errors.New("the flameox binary was replaced while it ran; run the command again")
}

func extract(ctx context.Context, x providers.Extractor, req *request) (*response, error) {
	options := x.ExtractOptions()
	if options != nil {
		if err := json.Unmarshal(req.Options, options); err != nil {
			return nil, err
		}
	}
	meta := evidence.FileMeta{Provider: x.Name(), ProviderVersion: x.Version()}
	meta.Artifact = payload(req.Input.Artifacts)
	sink := evidence.NewSink(req.Out, meta, req.Budget)
	outcome, err := x.Extract(ctx, req.Input, options, req.Budget, sink)
	outcome.Limitations = append(outcome.Limitations, sink.Limitations()...)
	parts, closeErr := sink.Close()
	return &response{Outcome: outcome, Parts: parts}, errors.Join(err, closeErr)
}

// payload is what rows call their artifact: the digest of the one payload, or, of several, that of the sorted list of
// theirs.
func payload(artifacts []providers.Artifact) digest.Digest {
	var all []string
	for _, a := range artifacts {
		all = append(all, a.Digest.String())
	}
	slices.Sort(all)
	switch all = slices.Compact(all); len(all) {
	case 0:
		return digest.Digest{}
	case 1:
		d, _ := digest.Parse(all[0]) // it was one a moment ago
		return d
	}
	return digest.SumString(strings.Join(all, "\n"))
}
