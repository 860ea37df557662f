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
	"github.com/flameox/flameox/providers"
)

// WorkerCommand is the hidden first argument that makes the flameox binary an extraction worker.
const WorkerCommand = "__extract"

// request is what a worker is asked. It is a file in the attempt's private folder.
type request struct {
	Provider string          `json:"provider"`
	Version  int             `json:"version"`
	Options  json.RawMessage `json:"options"`
	Input    providers.Input `json:"input"`
	Budget   evidence.Budget `json:"budget"`
	Out      string          `json:"out"`
}

// response is what a worker answers, beside its Parquet parts.
type response struct {
	Error   string           `json:"error,omitempty"`
	Outcome evidence.Outcome `json:"outcome"`
	Parts   []evidence.Part  `json:"parts"`
}

// work runs one worker. fail says what the worker did wrong; err what flameox could not do.
func (s *stage) work(ctx context.Context, t *graph.Task, req *request) (*response, *cache.Note, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return nil, nil, err
	}
	ask, answer := filepath.Join(t.Dir, "request.json"), filepath.Join(t.Dir, "response.json")
	if err := os.WriteFile(ask, b, 0o600); err != nil {
		return nil, nil, fmt.Errorf("ask the extraction worker: %w", err)
	}
	res, err := t.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{s.project.Self, WorkerCommand, ask, answer}, Dir: t.Dir, Mark: t.Mark,
		Env:    []string{"LANG=C.UTF-8", "TMPDIR=" + filepath.Join(t.Dir, "tmp"), "GOMAXPROCS=1"},
		Stdout: filepath.Join(t.Dir, "stdout"), Stderr: filepath.Join(t.Dir, "stderr"),
		Timeout: req.Budget.Wall, OutputLimit: 1 << 20, MemoryLimit: req.Budget.Memory + 256<<20, Staging: t.Dir,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the extraction worker: %w", err)
	}
	if res.Cause == broker.CauseCancelled {
		return nil, &cache.Note{Code: "cancelled", Text: "flameox was interrupted"}, nil
	}
	if res.Cause != "" {
		return nil, &cache.Note{Code: res.Cause, Text: fmt.Sprintf("the extraction worker was ended (%s) while it read the artifact; raise the budget or capture less", res.Cause)}, nil
	}
	if res.Exit != 0 || res.Signal != "" {
		stderr, _ := os.ReadFile(filepath.Join(t.Dir, "stderr"))
		lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
		return nil, &cache.Note{Code: "worker_crashed", Text: "the extraction worker failed: " + lines[0]}, nil
	}
	var out response
	if b, err = os.ReadFile(answer); err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the extraction worker's answer: %w", err)
	}
	if out.Error != "" {
		return nil, &cache.Note{Code: "extraction_failed", Text: out.Error}, nil
	}
	return &out, nil, nil
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
	out := extract(ctx, reg, &req)
	if b, err = json.Marshal(out); err != nil {
		return err
	}
	return os.WriteFile(args[1], b, 0o600)
}

func extract(ctx context.Context, reg *providers.Registry, req *request) *response {
	fail := func(err error) *response { return &response{Error: err.Error()} }
	x, err := reg.Extractor(req.Provider)
	if err != nil || x.Version() != req.Version {
		return fail(fmt.Errorf("the flameox binary was replaced while it ran; run the command again"))
	}
	options := x.ExtractOptions()
	if options != nil {
		if err := json.Unmarshal(req.Options, options); err != nil {
			return fail(err)
		}
	}
	meta := evidence.FileMeta{Provider: x.Name(), ProviderVersion: x.Version()}
	meta.Artifact = payload(req.Input.Artifacts)
	sink := evidence.NewSink(req.Out, meta, req.Budget)
	outcome, err := x.Extract(ctx, req.Input, options, req.Budget, sink)
	outcome.Limitations = append(outcome.Limitations, sink.Limitations()...)
	parts, closeErr := sink.Close()
	if err = errors.Join(err, closeErr); err != nil {
		return fail(err)
	}
	return &response{Outcome: outcome, Parts: parts}
}

// payload is what rows call their artifact: the digest of the one payload, or, of several, that of the sorted list of
// theirs. What a program merely printed beside its payloads is none.
func payload(artifacts []providers.Artifact) digest.Digest {
	var all []string
	for _, logs := range []bool{false, true} { // a log counts where there is nothing else
		for _, a := range artifacts {
			if (a.Role == roleLog) == logs {
				all = append(all, a.Digest.String())
			}
		}
		if len(all) > 0 {
			break
		}
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

// roleLog is the role that providers give to streams that they do not read.
const roleLog = "log"
