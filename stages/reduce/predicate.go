package reduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
)

// candidateVariable tells the predicate where the candidate is.
const candidateVariable = "FLAMEOX_REDUCTION_CANDIDATE"

// What a predicate says of a candidate.
const (
	interesting    = "interesting"
	notInteresting = "not_interesting"
	unresolved     = "unresolved"
)

// Why one repetition, or a whole candidate, came to no answer.
const (
	failTimeout       = "timeout"
	failSignal        = "signal"
	failNotStarted    = "not_started"
	failDeadline      = "deadline"
	failContradictory = "contradictory"
	failCandidate     = "candidate_" // then why it was refused at the boundary, or changed
)

// Predicate is a command that says whether a candidate is interesting, with what bounds it.
type Predicate struct {
	Root        string        `json:"root"` // absolute, without links: candidates lie below it
	Argv        []string      `json:"argv"`
	Env         []string      `json:"env"`
	Dir         string        `json:"dir"`
	Expect      []int         `json:"expect"` // exit statuses that mean interesting
	Repetitions int           `json:"repetitions"`
	Timeout     time.Duration `json:"timeout"`  // of one repetition
	Deadline    time.Time     `json:"deadline"` // of all candidates together
	Bytes       int64         `json:"bytes"`    // the largest candidate that is looked at
}

// Receipt is what a candidate was, and what the predicate said of it.
type Receipt struct {
	Attempt        int           `json:"attempt"` // from 1
	Candidate      Candidate     `json:"candidate"`
	Observations   []Observation `json:"observations"`
	Classification string        `json:"classification"`
	Failure        string        `json:"failure_category,omitempty"` // of an unresolved one
	Recorded       time.Time     `json:"recorded_at"`
}

// Candidate is the file that was looked at.
type Candidate struct {
	SHA256 string `json:"sha256"` // "" where it was refused
	Size   int64  `json:"size"`
}

// Observation is one repetition.
type Observation struct {
	Repetition     int    `json:"repetition"` // from 1
	Classification string `json:"classification"`
	Exit           *int   `json:"exit_code,omitempty"`
	Failure        string `json:"failure_category,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
}

// try runs the predicate over one file, named relative to Root or by its absolute path. The error is what flameox could not do.
func (p *Predicate) try(ctx context.Context, b *broker.Broker, mark, name string) (*Receipt, error) {
	r := &Receipt{Classification: unresolved, Observations: []Observation{}}
	rel := name
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(p.Root, name); err != nil {
			r.Failure = failCandidate + "outside"
			return r, nil
		}
	}
	if !filepath.IsLocal(rel) {
		r.Failure = failCandidate + "outside"
		return r, nil
	}
	sum, size, refusal, err := p.look(rel)
	if err != nil {
		return nil, err
	}
	if refusal != "" {
		r.Failure = failCandidate + refusal
		return r, nil
	}
	r.Candidate = Candidate{SHA256: sum.String(), Size: size}
	for i := range p.Repetitions {
		o, err := p.once(ctx, b, mark, filepath.Join(p.Root, rel))
		if err != nil {
			return nil, err
		}
		o.Repetition = i + 1
		r.Observations = append(r.Observations, o)
		if o.Failure != "" {
			r.Failure = o.Failure
			return r, nil
		}
	}
	again, _, refusal, err := p.look(rel)
	switch first := r.Observations[0].Classification; {
	case err != nil:
		return nil, err
	case refusal != "" || again != sum: // it is not known what was looked at
		r.Failure = failCandidate + "changed"
	case slices.ContainsFunc(r.Observations, func(o Observation) bool { return o.Classification != first }):
		r.Failure = failContradictory
	default:
		r.Classification = first
	}
	return r, nil
}

// look hashes a candidate through the no-follow boundary. refusal says why it cannot be looked at.
func (p *Predicate) look(rel string) (sum digest.Digest, size int64, refusal string, err error) {
	files, refusals := broker.Snapshot(p.Root, []broker.Pattern{{Glob: escape(filepath.ToSlash(rel)), Required: true}}, broker.Limits{FileBytes: p.Bytes})
	if len(refusals) > 0 {
		return sum, 0, string(refusals[0].Code), nil
	}
	err = files[0].Read(func(from io.Reader) (err error) {
		sum, size, err = digest.SumReader(from)
		return err
	})
	var refused *broker.Refusal
	if errors.As(err, &refused) {
		return sum, 0, string(refused.Code), nil
	}
	if err != nil {
		return sum, 0, "", fmt.Errorf("read the candidate %s: %w", rel, err)
	}
	return sum, size, "", nil
}

// once is one repetition.
func (p *Predicate) once(ctx context.Context, b *broker.Broker, mark, path string) (Observation, error) {
	limit := min(p.Timeout, time.Until(p.Deadline))
	if limit <= 0 {
		return Observation{Classification: unresolved, Failure: failDeadline}, nil
	}
	env := slices.DeleteFunc(slices.Clone(p.Env), func(e string) bool { return strings.HasPrefix(e, candidateVariable+"=") })
	res, err := b.Run(ctx, broker.Command{
		Argv: p.Argv, Dir: p.Dir, Env: append(env, candidateVariable+"="+path), Mark: mark, Timeout: limit, Grace: -1,
	})
	var start *broker.StartError
	switch {
	case errors.As(err, &start) && ctx.Err() == nil:
		return Observation{Classification: unresolved, Failure: failNotStarted}, nil
	case err != nil:
		return Observation{}, fmt.Errorf("run the predicate: %w", err)
	}
	o := Observation{Classification: unresolved, DurationMS: res.Wall.Milliseconds()}
	switch {
	case res.Cause == broker.CauseTimeout && limit < p.Timeout:
		o.Failure = failDeadline
	case res.Cause != "":
		o.Failure = res.Cause
	case res.Signal != "":
		o.Failure = failSignal
	default:
		o.Exit, o.Classification = &res.Exit, notInteresting
		if slices.Contains(p.Expect, res.Exit) {
			o.Classification = interesting
		}
	}
	return o, nil
}

// save writes the config where a bridge reads it. It may hold values of secrets: the file is its owner's alone, and goes with the attempt's folder.
func (c *Config) save(path string) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// escape makes a glob that matches exactly the name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(name)
}
