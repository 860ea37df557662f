package reduce

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/program"
)

// Roles of what a reduction leaves.
const (
	RoleCandidate = "reduced_candidate"
	RoleHistory   = "reduction_history"
	RoleAttempts  = "reduction_attempts"
	RoleResult    = "reduction_result"
)

// producer is who proposed the candidates.
const producer = "shrinkray " + release

// minimality is what is claimed of the result.
const minimality = "not_claimed"

// Summary is the document of a reduction.
type Summary struct {
	Schema          int       `json:"schema"`
	Disposition     string    `json:"disposition"`
	Minimality      string    `json:"minimality"`
	Profile         string    `json:"profile"`
	Producer        string    `json:"producer"`
	Run             string    `json:"run"`      // that left the original
	Artifact        string    `json:"artifact"` // of it
	Original        Candidate `json:"original"`
	Final           Candidate `json:"final"`
	Attempted       int       `json:"attempted"` // candidates that were begun
	Passed          int       `json:"passed"`
	Failed          int       `json:"failed"`
	Unresolved      int       `json:"unresolved"`
	Contradictory   int       `json:"contradictory"` // of these, those whose repetitions did not agree
	TimedOut        int       `json:"timed_out"`     // of these, those whose predicate, or time, ran out
	Interrupted     int       `json:"interrupted"`   // begun, and ended by ShrinkRay before there was an answer: no receipt
	BudgetExhausted bool      `json:"budget_exhausted"`
	Predicate       string    `json:"predicate"`
	Repetitions     int       `json:"repetitions"`
	Problem         string    `json:"problem,omitempty"` // of the account
	Limitations     []string  `json:"limitations"`
}

// keep adds everything that was found to the record, whatever came of it.
func (r *reduction) keep(rec *cache.Record, disposition string) error {
	rec.Producer = producer
	sum := r.summary(disposition)
	note := func(code, text string) {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: code, Text: text})
		sum.Limitations = append(sum.Limitations, code)
	}
	note("minimality_not_claimed", "that there is nothing smaller is not known")
	if sum.BudgetExhausted {
		note("budget_exhausted", fmt.Sprintf("the search was ended by its budget (max_attempts = %d, wall = %s): the result is the best that was known", r.o.Attempts, r.o.Wall))
	}
	if sum.Unresolved > 0 {
		note("candidates_unresolved", fmt.Sprintf("%d of %d candidates came to no answer; none of them became the basis", sum.Unresolved, len(r.list)))
	}
	if sum.Interrupted > 0 {
		note("candidates_interrupted", fmt.Sprintf("ShrinkRay ended the predicate over %d candidates before there was an answer", sum.Interrupted))
	}
	if disposition == succeeded {
		kind, qualified, err := r.mediaType()
		if err != nil {
			return err
		}
		r.final.Name, r.final.Role, r.final.MediaType, r.final.Sensitivity = path.Base(r.original.Name)+".reduced", RoleCandidate, kind, r.level()
		if !qualified {
			note("not_requalified", "whether what is left is still in the format of the original was not looked at")
		}
		rec.Outputs = append(rec.Outputs, r.final)
	}
	if err := r.keepHistory(rec, note); err != nil {
		return err
	}
	if err := r.keepAttempts(rec); err != nil {
		return err
	}
	text, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	if err := r.put(rec, "reduction.json", RoleResult, "application/json", append(text, '\n')); err != nil {
		return err
	}
	if err := r.keepRows(rec); err != nil {
		return err
	}
	rec.Results = map[string]json.RawMessage{}
	for name, v := range map[string]any{
		"disposition": disposition, "minimality": minimality, "bytes": sum.Final.Size, "original_bytes": sum.Original.Size,
		"tried": len(r.list), "unresolved": sum.Unresolved, "budget_exhausted": sum.BudgetExhausted,
	} {
		if rec.Results[name], err = json.Marshal(v); err != nil {
			return err
		}
	}
	rec.Semantics, err = json.Marshal(map[string]any{
		"origin": "reduce", "profile": offlineV1, "containment": "uncontained", "predicate": sum.Predicate,
		"max_attempts": r.o.Attempts, "wall": r.o.Wall.String(), "predicate_timeout": r.o.Timeout.String(), "repetitions": r.o.Repetitions, "memory_limit": r.o.Memory,
	})
	return err
}

func (r *reduction) summary(disposition string) *Summary {
	s := &Summary{
		Schema: 1, Disposition: disposition, Minimality: minimality, Profile: offlineV1, Producer: producer, Run: r.run, Artifact: r.original.Name,
		Original:  Candidate{SHA256: r.original.Digest.String(), Size: r.original.Size},
		Attempted: r.counted.Started, Interrupted: max(0, r.counted.Started-r.counted.Done), BudgetExhausted: r.ended || r.counted.Exhausted,
		Predicate: r.stage.predicate.Program.Display(), Repetitions: r.o.Repetitions, Problem: r.problem, Limitations: []string{},
	}
	if !r.final.Digest.IsZero() {
		s.Final = Candidate{SHA256: r.final.Digest.String(), Size: r.final.Size}
	}
	for _, a := range r.list {
		switch a.Classification {
		case interesting:
			s.Passed++
			continue
		case notInteresting:
			s.Failed++
			continue
		}
		s.Unresolved++
		switch a.Failure {
		case failContradictory:
			s.Contradictory++
		case failTimeout, failDeadline:
			s.TimedOut++
		}
	}
	return s
}

// level is how sensitive the result is: as the original, at least.
func (r *reduction) level() cache.Sensitivity {
	return graph.Stricter(graph.Stricter(cache.Internal, r.original.Sensitivity), r.task.Level)
}

// Media types that a result can be shown to have.
const (
	plainText = "text/plain; charset=utf-8"
	jsonText  = "application/json"
	anything  = "application/octet-stream"
)

// mediaType is that of the original, where that is text or JSON, and the result was looked at and still is. What a program prints has no declared type:
// then the original is looked at, too.
func (r *reduction) mediaType() (mediaType string, qualified bool, err error) {
	declared := r.original.MediaType
	if declared == anything || declared == "" {
		text, err := r.bytes(r.original.Digest)
		if err != nil {
			return "", false, err
		}
		switch {
		case json.Valid(text):
			declared = jsonText
		case isText(text):
			declared = plainText
		default:
			return anything, false, nil
		}
	}
	kind, _, _ := strings.Cut(declared, ";")
	isJSON := kind == jsonText || strings.HasSuffix(kind, "+json")
	if !isJSON && !strings.HasPrefix(kind, "text/") {
		return anything, false, nil
	}
	text, err := r.bytes(r.final.Digest)
	if err != nil {
		return "", false, err
	}
	if isJSON && json.Valid(text) || !isJSON && isText(text) {
		return declared, true, nil
	}
	return anything, false, nil
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// bytes reads what is no larger than max_bytes.
func (r *reduction) bytes(sum digest.Digest) ([]byte, error) {
	in, err := r.task.Store.CAS.Open(sum)
	if err != nil {
		return nil, fmt.Errorf("read what is reduced: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read what is reduced: %w", err)
	}
	return text, nil
}

func (r *reduction) put(rec *cache.Record, name, role, mediaType string, text []byte) error {
	sum, err := r.task.Batch.PutBytes(text)
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: name, Role: role, MediaType: mediaType, Digest: sum, Size: int64(len(text)), Sensitivity: r.level()})
	return nil
}

// keepHistory makes one archive of what ShrinkRay recorded: the original, every candidate that it accepted, and those without an answer.
func (r *reduction) keepHistory(rec *cache.Record, note func(code, text string)) error {
	files, refusals := broker.Snapshot(r.at(historyDir), []broker.Pattern{{Glob: "**"}}, broker.Limits{Files: r.o.Files, Bytes: int64(r.o.Bytes) + bridgeSize(r.project.Self)})
	if len(refusals) > 0 {
		note("history_cut", fmt.Sprintf("of ShrinkRay's history not everything is kept: %s (%d refusals)", refusals[0].Error(), len(refusals)))
	}
	tmp, err := os.Create(filepath.Join(r.task.Dir, "history.zip"))
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	defer tmp.Close()
	z := zip.NewWriter(tmp)
	for i := range files {
		if path.Base(files[i].Path) == bridgeName { // a copy of this program
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i].Path, Method: zip.Deflate})
		if err != nil {
			return fmt.Errorf("keep the history: %w", err)
		}
		err = files[i].Read(func(from io.Reader) error {
			_, err := io.Copy(w, from)
			return err
		})
		var refused *broker.Refusal
		if errors.As(err, &refused) {
			note("history_cut", refused.Error())
		} else if err != nil {
			return fmt.Errorf("keep the history: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	sum, size, err := r.task.Batch.PutFile(tmp.Name())
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: "history.zip", Role: RoleHistory, MediaType: "application/zip", Digest: sum, Size: size, Sensitivity: r.level()})
	return nil
}

// bridgeSize is what the copy of this program takes, which ShrinkRay puts into its history.
func bridgeSize(self string) int64 {
	info, err := os.Stat(self)
	if err != nil {
		return 0
	}
	return info.Size()
}

// keepAttempts is every receipt, a line each, with the phase that it is of.
func (r *reduction) keepAttempts(rec *cache.Record) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	for _, a := range r.phased() {
		if err := e.Encode(a); err != nil {
			return err
		}
	}
	return r.put(rec, "attempts.ndjson", RoleAttempts, "application/x-ndjson", text.Bytes())
}

// phased is a receipt of a phase.
type phased struct {
	Phase string `json:"phase"`
	Receipt
}

func (r *reduction) phased() (out []phased) {
	for _, a := range r.list {
		out = append(out, phased{phases[0], a})
	}
	for i, a := range r.again {
		a.Attempt = len(r.list) + i + 1
		out = append(out, phased{phases[i+1], a})
	}
	return out
}

func (r *reduction) keepRows(rec *cache.Record) error {
	dir := filepath.Join(r.task.Dir, "rows-reductions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sink := evidence.NewSink(dir, evidence.FileMeta{Artifact: r.original.Digest, Provider: "flameox", ProviderVersion: version}, evidence.DefaultBudget())
	for _, a := range r.phased() {
		row := evidence.Reduction{
			Number: int64(a.Attempt), Phase: a.Phase, Candidate: a.Candidate.SHA256, Bytes: a.Candidate.Size, Classification: a.Classification,
			Repetitions: int64(len(a.Observations)),
		}
		if a.Failure != "" {
			row.Failure = &a.Failure
		}
		for _, o := range a.Observations {
			row.DurationNS += o.DurationMS * 1e6
			switch o.Classification {
			case interesting:
				row.Interesting++
			case notInteresting:
				row.NotInteresting++
			}
		}
		if err := sink.Reductions.Put(&row); err != nil {
			return fmt.Errorf("keep the rows of the reduction: %w", err)
		}
	}
	parts, err := sink.Close()
	if err != nil {
		return fmt.Errorf("keep the rows of the reduction: %w", err)
	}
	return program.PutParts(r.task, rec, parts)
}

// readResults are the attributes of the newest attempt.
func readResults(records []*cache.Summary) (map[string]any, error) {
	if len(records) == 0 {
		return nil, nil
	}
	rec, err := records[len(records)-1].Record()
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, text := range rec.Results {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("read the result %s of run %s: %w", name, rec.Run, err)
		}
		out[name] = v
	}
	return out, nil
}
