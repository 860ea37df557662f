package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"

	reading "github.com/flameox/flameox/stages/extract"
)

// The codes of registrations that are refused.
const (
	NotSucceeded    = "run_not_succeeded"         // the run is no execution, or did not succeed
	StaleRevision   = "run_revision_stale"        // the run has another revision than the one that was looked at
	NoPipeline      = "pipeline_unknown"          // the run has not the artifact that the document is said to be about, or several that it may be about
	AlreadyThere    = "already_registered"        // the run has another document of the provider
	VerdictConflict = "verdict_conflict"          // the run's results have another verdict
	Changed         = "inputs_changed_before_run" // the file is not what the key was made of
)

// mostConflicts is how often an append to the newest revision is tried again because somebody else appended meanwhile.
const mostConflicts = 10

// run registers one document with one run.
func (s *stage) run(ctx context.Context, t *graph.Task, run string, doc found) (*cache.Record, error) {
	rec := &cache.Record{Execution: cache.ExecutionNotApplicable, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed}
	// What cannot be registered is not read: a run of another revision may not even have left the document.
	if _, refused, err := s.current(t, run, doc.digest, ""); err != nil {
		return nil, err
	} else if refused != nil {
		return rec.Fail(refused.Code, refused.Text), nil
	}
	if err := s.take(t, rec, &doc); err != nil || !rec.Valid() {
		return rec, err
	}
	if err := t.Flush(); err != nil {
		return nil, fmt.Errorf("keep %s: %w", doc.name, err)
	}
	as := s.provider.Registers()
	outcome, parts, fail, err := reading.Document(ctx, t, s.project, s.provider, providers.Artifact{
		Name: doc.name, Role: as.Role, MediaType: as.MediaType, Digest: doc.digest, Size: doc.size, Path: t.Store.CAS.Path(doc.digest),
	})
	if err != nil {
		return nil, err
	}
	if fail != nil {
		rec.Validation, rec.State = cache.ValidationError, string(evidence.Unavailable)
		rec.Invalid = append(rec.Invalid, *fail)
		return rec, nil
	}
	rec.State, rec.Producer = string(outcome.State), outcome.Producer
	for _, l := range outcome.Limitations {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: l.Code, Text: strings.TrimSpace(l.Text)})
	}
	if outcome.State == evidence.Incompatible || outcome.State == evidence.Unavailable {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = rec.Limitations
		return rec, nil
	}
	rec.Results = map[string]json.RawMessage{}
	for k, v := range outcome.Results {
		if rec.Results[k], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	if err := program.PutParts(t, rec, parts); err != nil {
		return nil, err
	}
	// The document is the stage's too: where it is lost, the stage and not the measurement is what has to be done again.
	rec.Outputs = append(rec.Outputs, cache.Output{Name: path.Base(doc.name), Role: as.Role, MediaType: as.MediaType, Digest: doc.digest, Size: doc.size})
	verdict, _ := outcome.Results["verdict"].(string)
	if !as.Verdict {
		verdict = ""
	}
	refused, err := s.append(t, run, doc, outcome.Producer, verdict)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		rec.Fail(refused.Code, refused.Text)
	}
	return rec, nil
}

// take puts a file into the store; what is there already is taken from there.
func (s *stage) take(t *graph.Task, rec *cache.Record, doc *found) error {
	if doc.stored {
		return nil
	}
	files, refusals := broker.Snapshot(s.root, []broker.Pattern{{Glob: escape(s.rel), Required: true}}, broker.Limits{})
	for _, r := range refusals {
		rec.Fail(string(r.Code), r.Error())
		return nil
	}
	d, size, err := program.PutFile(t, &files[0])
	var refusal *broker.Refusal
	switch {
	case errors.As(err, &refusal):
		rec.Fail(string(refusal.Code), refusal.Error())
		return nil
	case err != nil:
		return fmt.Errorf("keep %s: %w", s.rel, err)
	case d != doc.digest:
		rec.Fail(Changed, s.rel+" changed after the key was made")
	}
	doc.size = size
	return nil
}

// current is the run's newest record, or why the document cannot be registered with it. A verdict of "" is not known yet.
func (s *stage) current(t *graph.Task, run string, doc digest.Digest, verdict string) (*cache.Record, *cache.Note, error) {
	if err := t.Store.Cache.Refresh(); err != nil {
		return nil, nil, err
	}
	sum, err := t.Store.Cache.Run(run)
	if err != nil {
		return nil, nil, err
	}
	rec, err := sum.Record()
	if err != nil {
		return nil, nil, err
	}
	refuse := func(code, format string, args ...any) (*cache.Record, *cache.Note, error) {
		return nil, &cache.Note{Code: code, Text: fmt.Sprintf("registering with run %s of %s: ", rec.Run, rec.Address) + fmt.Sprintf(format, args...)}, nil
	}
	known := rec.Registration(s.provider.Name())
	about, why := s.about(rec)
	switch {
	case !strings.HasPrefix(rec.Kind, "capture."):
		return refuse(NotSucceeded, "it is a run of %s, and only a capture executes a workload that could have left the document", rec.Kind)
	case rec.Execution != cache.ExecutionSucceeded:
		return refuse(NotSucceeded, "its execution is %q, and a document of a run that did not succeed stands for nothing", strings.ReplaceAll(string(rec.Execution), "_", " "))
	case !rec.Valid():
		return refuse(VerdictConflict, "it is not valid (%s), which no document changes; run it again", codes(rec.Invalid))
	case rec.Manifest.Facet(facet.Command) == nil:
		return refuse(NotSucceeded, "its record does not say what was executed")
	case why != "":
		return refuse(NoPipeline, "%s", why)
	case known != nil && rec.Output(known.Output) != nil && rec.Output(known.Output).Digest == doc && known.Pipeline == about:
		return rec, nil, nil // a repetition
	case s.reviewed != 0 && rec.Revision != s.reviewed:
		return refuse(StaleRevision, "it is at revision %d, and revision %d was looked at; see `flameox show %s` and repeat with -revision %d", rec.Revision, s.reviewed, rec.Run, rec.Revision)
	case known != nil:
		return refuse(AlreadyThere, "it has another document of %s since revision %d (%s), and a run has one; run it again for another: flameox apply -replace='%s'", s.provider.Name(), known.Reviewed+1, known.From, rec.Address)
	case verdict != "" && rec.Verdict != "" && rec.Verdict != verdict:
		return refuse(VerdictConflict, "its verdict is %s, and the document says %s", rec.Verdict, verdict)
	}
	return rec, nil, nil
}

// about is the name of the artifact of the run that the document is about, "" where it has none, or why that cannot be said.
func (s *stage) about(rec *cache.Record) (name, why string) {
	role := s.provider.Registers().About
	var list []string
	for _, o := range rec.Outputs {
		if role != "" && o.Role == role && !o.Registered() {
			list = append(list, o.Name)
		}
	}
	switch {
	case s.pipeline != "" && !slices.Contains(list, s.pipeline):
		return "", fmt.Sprintf("pipeline is %q, and of those the run has %q", s.pipeline, list)
	case s.pipeline != "":
		return s.pipeline, ""
	case len(list) > 1:
		return "", fmt.Sprintf("it may be about %q; say which with pipeline", list)
	case len(list) == 1:
		return list[0], ""
	}
	return "", ""
}

// append makes the run's next revision and commits it, or says why not.
func (s *stage) append(t *graph.Task, run string, doc found, producer, verdict string) (*cache.Note, error) {
	for try := 1; ; try++ {
		rec, refused, err := s.current(t, run, doc.digest, verdict)
		if err != nil || refused != nil {
			return refused, err
		}
		if rec.Registration(s.provider.Name()) != nil {
			return nil, nil
		}
		as := s.provider.Registers()
		about, _ := s.about(rec)
		level := t.Level
		if graph.IsSensitive(rec.Outputs) {
			level = cache.Sensitive
		}
		out := cache.Output{
			Name: unused(rec, s.provider.Name()+"/"+path.Base(doc.name)), Role: cache.RolePrefixRegistered + as.Role, MediaType: as.MediaType,
			Digest: doc.digest, Size: doc.size, Sensitivity: graph.Stricter(cache.Internal, level),
		}
		rec.Outputs = append(rec.Outputs, out)
		rec.Registrations = append(rec.Registrations, cache.Registration{
			Output: out.Name, Provider: s.provider.Name(), Version: s.provider.Version(), Producer: producer, Verdict: verdict,
			From: doc.name, Pipeline: about, By: t.Run, Reviewed: rec.Revision, When: t.Store.Now().UTC(),
		})
		if verdict != "" {
			rec.Verdict = verdict
		}
		rec.Revision++
		// The blob is durable already; what of the run itself is lost is no reason to refuse.
		err = t.Store.Cache.Commit(nil, []*cache.Record{rec}, nil)
		var conflict *cache.ConflictError
		if errors.As(err, &conflict) && try < mostConflicts {
			continue // somebody else appended: what was checked is checked again
		}
		if err != nil {
			return nil, fmt.Errorf("register %s with run %s: %w", doc.name, run, err)
		}
		return nil, nil
	}
}

func unused(rec *cache.Record, name string) string {
	for rec.Output(name) != nil {
		name = "registered/" + name
	}
	return name
}

func codes(notes []cache.Note) string {
	list := make([]string, len(notes))
	for i, n := range notes {
		list[i] = n.Code
	}
	return strings.Join(list, ", ")
}

// escape makes a glob that matches exactly the name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(name)
}

// worst orders verdicts, the one that decides first.
var worst = []string{"fail", "inconclusive", "unsupported", "pass"}

// readResults computes the result attributes from the records of all attempts.
func readResults(records []*cache.Summary) (map[string]any, error) {
	if len(records) == 0 {
		return nil, nil
	}
	rows, state, verdicts, limitations := int64(0), evidence.State(""), map[string]bool{}, []string{}
	out := map[string]any{}
	for _, r := range records {
		rec, err := r.Record()
		if err != nil {
			return nil, err
		}
		for _, o := range rec.Outputs {
			rows += o.Rows
		}
		for _, l := range rec.Limitations {
			limitations = append(limitations, l.Code)
		}
		state = evidence.Worse(state, evidence.State(rec.State))
		out["producer"] = rec.Producer
		var verdict string
		if err := json.Unmarshal(rec.Results["verdict"], &verdict); err == nil {
			verdicts[verdict] = true
		}
	}
	for _, v := range worst {
		if verdicts[v] {
			out["verdict"] = v
			break
		}
	}
	out["rows"], out["state"], out["limitations"] = rows, string(state), limitations
	return out, nil
}

// One is the node that registers a file, or an artifact, with one run at the revision that was looked at: what the command does. dir is the
// absolute folder that rel is below; both are empty where the document is the artifact called name.
//
// pipeline is as in Options.
func One(p *kind.Project, provider providers.Registrar, n *graph.Node, run *cache.Summary, artifact, pipeline, dir, rel string) *graph.Node {
	n.Kind, n.Nature, n.Attempts = "register."+provider.Name(), graph.Pure, 1
	n.Stage = &stage{
		provider: provider, project: p, artifact: artifact, pipeline: pipeline, root: dir, rel: rel, reviewed: run.Revision,
		runs: func(*graph.Results) []*cache.Summary { return []*cache.Summary{run} },
	}
	return n
}
