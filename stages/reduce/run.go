package reduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/tail"
	"github.com/flameox/flameox/stages/program"
)

// Dispositions.
const (
	succeeded    = "succeeded"                // smaller, and confirmed twice
	unchanged    = "unchanged"                // nothing smaller was found
	notOriginal  = "original_not_interesting" // the predicate does not say of the original what it is to say
	inconclusive = "inconclusive"
)

// reduction is one attempt.
type reduction struct {
	*stage
	task                 *graph.Task
	run                  string // whose artifact it is
	original             cache.Output
	shrinkray, predicate *program.Prepared

	dir      string // absolute, without links
	search   Config
	deadline time.Time
	ended    bool // ShrinkRay was ended because a budget was used up
	problem  string
	list     []Receipt
	counted  counter
	again    []Receipt // of the recheck and of the confirmation, one each
	final    cache.Output
}

// perform reduces, tries again, and registers.
func (r *reduction) perform(ctx context.Context) (*cache.Record, error) {
	rec := &cache.Record{Execution: cache.ExecutionFailed, Capture: cache.CaptureFailed, Validation: cache.ValidationPassed}
	if err := r.describe(); err != nil {
		return nil, err
	}
	if r.original.Size > int64(r.o.Bytes) {
		return rec.Fail("too_large", fmt.Sprintf("%s has %d bytes, and max_bytes = %d", r.original.Name, r.original.Size, r.o.Bytes)), nil
	}
	if err := r.layOut(ctx, rec); err != nil || !rec.Valid() {
		return rec, err
	}
	rec, err := r.shrink(ctx)
	if err != nil || rec.Started.IsZero() {
		return rec, err
	}
	if r.list, r.counted, r.problem, err = r.search.receipts(); err != nil {
		return nil, err
	}
	if err := r.takeFinal(rec); err != nil {
		return nil, err
	}
	if len(r.list) > 0 && r.list[0].Classification == interesting && !r.final.Digest.IsZero() {
		if err := r.tryAgain(ctx); err != nil {
			return nil, err
		}
	}
	if rec.Execution == cache.ExecutionCancelled {
		return rec, r.keep(rec, inconclusive)
	}
	if changed := r.predicate.Changed(ctx); changed != "" {
		rec.Fail("inputs_changed_during_run", changed+" while the predicate was run")
	}
	disposition, why := r.disposition(rec)
	if err := r.keep(rec, disposition); err != nil {
		return nil, err
	}
	if disposition != succeeded && disposition != unchanged {
		if len(r.list) > 0 && r.list[0].Classification != interesting {
			// That ShrinkRay ended follows from it.
			rec.Invalid = slices.DeleteFunc(rec.Invalid, func(n cache.Note) bool { return n.Code == "exit" })
		}
		rec.Fail(disposition, why)
	}
	if disposition == succeeded && rec.Valid() {
		return rec, r.register()
	}
	return rec, nil
}

// describe completes what is known of the original: a summary has neither its media type nor how sensitive it is.
func (r *reduction) describe() error {
	sum, err := r.task.Store.Cache.Run(r.run)
	if err != nil {
		return fmt.Errorf("read run %s: %w", r.run, err)
	}
	run, err := sum.Record()
	if err != nil {
		return fmt.Errorf("read run %s: %w", r.run, err)
	}
	if o := run.Output(r.original.Name); o != nil {
		r.original = *o
	}
	return nil
}

// layOut makes the attempt's folders, the file, and what a bridge reads.
func (r *reduction) layOut(ctx context.Context, rec *cache.Record) error {
	var err error
	if r.dir, err = filepath.EvalSymlinks(r.task.Out()); err != nil {
		return fmt.Errorf("make the reduction's folder: %w", err)
	}
	private := filepath.Join(r.task.Dir, "predicate")
	for _, d := range []string{
		r.at(workDir), r.at(historyDir), r.at("receipts"), r.at("recheck"), r.at("confirm"),
		filepath.Join(private, "out"), filepath.Join(private, "home"), filepath.Join(private, "tmp"),
	} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make the reduction's folder: %w", err)
		}
	}
	if err := r.copyOut(r.original.Digest, r.at(workDir, targetName)); err != nil {
		return err
	}
	if err := os.Symlink(r.project.Self, r.at(bridgeName)); err != nil {
		return fmt.Errorf("lay out the bridge: %w", err)
	}
	spelled, err := r.predicate.Spell(ctx, r.task, rec, private)
	if err != nil || !rec.Valid() {
		return err
	}
	r.deadline = time.Now().Add(r.o.Wall)
	r.search = Config{Receipts: r.at("receipts"), Attempts: r.o.Attempts, Predicate: Predicate{
		Root: r.at(workDir), Argv: spelled.Argv, Env: spelled.Env, Dir: spelled.Dir, Expect: r.stage.predicate.Program.ExpectExit,
		Repetitions: r.o.Repetitions, Timeout: r.o.Timeout, Deadline: r.deadline, Bytes: int64(r.o.Bytes),
	}}
	return r.search.save(r.at(configName))
}

func (r *reduction) at(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}

// copyOut lays a blob out as a file that may be written.
func (r *reduction) copyOut(sum digest.Digest, path string) error {
	in, err := r.task.Store.CAS.Open(sum)
	if err != nil {
		return fmt.Errorf("read what is reduced: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("lay out what is reduced: %w", err)
	}
	return nil
}

// shrink runs ShrinkRay until it has nothing left to try, or a budget is used up: what lies in the file then is the best that is known.
func (r *reduction) shrink(ctx context.Context) (*cache.Record, error) {
	run, end := context.WithCancel(ctx)
	defer end()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for run.Err() == nil {
			select {
			case <-run.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			if n, err := r.search.count(); err == nil && n.Exhausted || time.Now().After(r.deadline.Add(time.Second)) {
				r.ended = true
				end()
			}
		}
	}()
	rec, err := r.shrinkray.Run(run, r.task)
	end()
	<-watched
	if err != nil {
		return nil, err
	}
	if r.ended && ctx.Err() == nil && rec.Execution == cache.ExecutionCancelled {
		// It was ended by its budget, which is no failure.
		rec.Execution, rec.Validation, rec.Invalid, rec.Cause = cache.ExecutionSucceeded, cache.ValidationPassed, nil, ""
	}
	return rec, nil
}

// takeFinal stores what lies in the file.
func (r *reduction) takeFinal(rec *cache.Record) error {
	files, refusals := broker.Snapshot(r.at(workDir), []broker.Pattern{{Glob: targetName, Required: true}}, broker.Limits{FileBytes: int64(r.o.Bytes)})
	if len(refusals) > 0 {
		rec.Fail(string(refusals[0].Code), "what ShrinkRay left: "+refusals[0].Error())
		return nil
	}
	sum, size, err := program.PutFile(r.task, &files[0])
	var refused *broker.Refusal
	switch {
	case errors.As(err, &refused):
		rec.Fail(string(refused.Code), "what ShrinkRay left: "+refused.Error())
		return nil
	case err != nil:
		return fmt.Errorf("keep the result: %w", err)
	}
	r.final = cache.Output{Digest: sum, Size: size}
	return r.task.Flush()
}

// tryAgain runs the bridge over the file that lies there, and then the predicate over the bytes that were stored. Neither is bounded by what the search
// left of its budget.
func (r *reduction) tryAgain(ctx context.Context) error {
	again := r.search
	again.Receipts, again.Attempts = r.at("recheck"), 1
	again.Predicate.Deadline = time.Now().Add(time.Duration(r.o.Repetitions)*r.o.Timeout + time.Minute)
	if err := again.save(r.at("recheck.json")); err != nil {
		return err
	}
	res, err := r.task.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{r.project.Self, BridgeCommand, targetName}, Dir: r.at(workDir), Mark: r.task.Mark,
		Env: []string{"LANG=C.UTF-8", configVariable + "=" + r.at("recheck.json")}, Timeout: time.Until(again.Predicate.Deadline),
	})
	if err != nil {
		return fmt.Errorf("try the result again: %w", err)
	}
	list, _, gap, err := again.receipts()
	if err != nil {
		return err
	}
	if len(list) != 1 {
		r.problem = fmt.Sprintf("trying the result again ended with status %d and no receipt. %s", res.Exit, gap)
		return nil
	}
	r.again = append(r.again, list[0])
	confirm := again.Predicate
	confirm.Root, confirm.Deadline = r.at("confirm"), time.Now().Add(time.Duration(r.o.Repetitions)*r.o.Timeout+time.Minute)
	if err := r.copyOut(r.final.Digest, r.at("confirm", targetName)); err != nil {
		return err
	}
	receipt, err := confirm.try(ctx, r.task.Store.Broker, r.task.Mark, targetName)
	if err != nil {
		return err
	}
	receipt.Attempt, receipt.Recorded = 1, time.Now().UTC()
	r.again = append(r.again, *receipt)
	return nil
}

// disposition is what came of it, and why where that is nothing.
func (r *reduction) disposition(rec *cache.Record) (disposition, why string) {
	switch {
	case len(r.list) == 0:
		return inconclusive, "no candidate was tried to the end, not even the original" + r.lastWords()
	case r.list[0].Classification == notInteresting:
		return notOriginal, "the predicate says that the original is not interesting: it has to exit with one of expect_exit over it"
	case r.list[0].Classification != interesting:
		return inconclusive, fmt.Sprintf("the predicate has no answer about the original (%s): make it answer the same each time, or give it more time", r.list[0].Failure)
	case r.problem != "":
		return inconclusive, "there is no whole account of what was tried: " + r.problem
	case !rec.Valid():
		return inconclusive, "ShrinkRay did not come to an end"
	case len(r.again) < 2:
		return inconclusive, "the result could not be tried again"
	}
	for i, a := range r.again {
		switch {
		case a.Candidate.SHA256 != r.final.Digest.String():
			return inconclusive, "the result changed before it was tried again"
		case a.Classification != interesting:
			return inconclusive, fmt.Sprintf("the result is %s where it was tried again (%s)", a.Classification, phases[i+1])
		}
	}
	if r.final.Digest == r.original.Digest {
		return unchanged, ""
	}
	return succeeded, ""
}

// lastWords is what ShrinkRay said at last, where that may be quoted.
func (r *reduction) lastWords() string {
	f, err := os.Open(filepath.Join(r.task.Dir, program.RoleStderr))
	if err != nil || r.task.Level == cache.Sensitive {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if said := tail.Reason(tail.Lines(f, info.Size())); said != "" {
		return ": " + said
	}
	return ""
}

// phases name the receipts of the search, and those of trying again.
var phases = []string{"search", "recheck", "confirm"}
