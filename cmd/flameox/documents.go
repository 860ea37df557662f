package main

import (
	"encoding/json"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// The documents that commands print with -json. Their schemas are in schemas/, made from these types, and a test holds every
// command's output against them. A plan is graph.PlanDocument, a run cache.Record.

// applyDocument is what `apply -json` prints at the end. While it runs, each event is one line of its own (applyEvent).
type applyDocument struct {
	Format   int            `json:"format_version" doc:"version of this document, 1"`
	Done     int            `json:"done" doc:"stages that ran and are valid"`
	Cached   int            `json:"cached" doc:"stages whose results were there"`
	Failed   int            `json:"failed" doc:"stages whose attempt is not valid"`
	Blocked  int            `json:"blocked" doc:"stages that could not run"`
	Waiting  int            `json:"waiting" doc:"stages that were not started"`
	Stopped  bool           `json:"stopped" doc:"the apply was interrupted"`
	Outputs  []outputDoc    `json:"outputs" doc:"outputs of the configuration"`
	Checks   []checkDoc     `json:"checks" doc:"assertions of the configuration"`
	Failures []applyFailure `json:"failures" doc:"the attempts that are not valid, and what was kept of them"`
}

type outputDoc struct {
	Name      string   `json:"name" doc:"label of the output"`
	Value     any      `json:"value" doc:"the value; null where it is sensitive or a stage it reads has no valid result"`
	Sensitive bool     `json:"sensitive" doc:"the value is not shown"`
	Missing   []string `json:"missing,omitempty" doc:"stages without a valid result"`
}

type checkDoc struct {
	Check   string   `json:"check" doc:"label of the check"`
	Passed  bool     `json:"passed" doc:"the condition is true"`
	Message string   `json:"message,omitempty" doc:"why not"`
	Missing []string `json:"missing,omitempty" doc:"stages without a valid result: a check never passes without its evidence"`
	Left    bool     `json:"left_out,omitempty" doc:"what is missing was left out with -target or -exclude: the check has neither passed nor failed"`
}

type applyFailure struct {
	Address string       `json:"address" doc:"the stage"`
	Run     string       `json:"run,omitempty" doc:"the attempt's run"`
	Reasons []cache.Note `json:"reasons" doc:"why it is not valid"`
	Kept    []string     `json:"kept" doc:"names of the artifacts that were kept"`
}

// applyEvent is one line of `apply -json`.
type applyEvent struct {
	Event   string    `json:"event" doc:"started, finished, failed, cached, blocked, waiting or cleaned"`
	Time    time.Time `json:"time" doc:"when"`
	Address string    `json:"address,omitempty" doc:"the stage"`
	Attempt int       `json:"attempt,omitempty" doc:"ordinal of the attempt"`
	Run     string    `json:"run,omitempty" doc:"the attempt's run, once it is kept"`
	WallNS  int64     `json:"wall_ns,omitempty" doc:"its duration"`
	Text    string    `json:"text,omitempty" doc:"what there is to say"`
}

// whyDocument is what `why -json` prints.
type whyDocument struct {
	Format  int             `json:"format_version" doc:"version of this document, 1"`
	Address string          `json:"address" doc:"the stage"`
	State   graph.State     `json:"state" doc:"cached, run, top_up, may_run, blocked or excluded"`
	Reasons []graph.Reason  `json:"reasons" doc:"why it is not cached"`
	Since   string          `json:"since,omitempty" doc:"the run that was compared with"`
	Changed []graph.Reason  `json:"changed" doc:"facets of the key that differ from that run"`
	Same    []facet.Name    `json:"same" doc:"facets that agree"`
	Now     *facet.Manifest `json:"now,omitempty" doc:"what the key is made of now"`
}

// runsDocument is what `runs -json` prints.
type runsDocument struct {
	Format int      `json:"format_version" doc:"version of this document, 1"`
	Runs   []runRow `json:"runs" doc:"oldest first"`
}

type runRow struct {
	Run        string    `json:"run" doc:"identity of the run"`
	Address    string    `json:"address" doc:"address at the time of the run"`
	Kind       string    `json:"kind" doc:"stage kind"`
	Key        string    `json:"key" doc:"set key"`
	Generation int       `json:"generation" doc:"raised by -replace"`
	Attempt    int       `json:"attempt" doc:"ordinal of the attempt"`
	Execution  string    `json:"execution" doc:"state of the execution"`
	Capture    string    `json:"capture" doc:"state of the artifacts"`
	Validation string    `json:"validation" doc:"passed, failed or error"`
	Reasons    []string  `json:"reasons,omitempty" doc:"codes of why it is not valid"`
	Started    time.Time `json:"started" doc:"wall clock"`
	WallNS     int64     `json:"wall_ns" doc:"duration"`
	Host       string    `json:"host" doc:"name of the host"`
}

// diffDocument is what `diff -json` prints.
type diffDocument struct {
	Format     int                 `json:"format_version" doc:"version of this document, 1"`
	A          string              `json:"a" doc:"the first run"`
	B          string              `json:"b" doc:"the second run"`
	Verdict    graph.Comparability `json:"verdict" doc:"comparable, comparable_with_covariates or incomparable"`
	Why        []string            `json:"why" doc:"reasons of a verdict that is not comparable"`
	Changes    []facet.Change      `json:"changes" doc:"facts of the keys that differ"`
	Files      []graph.FileChange  `json:"files" doc:"files behind changed trees"`
	Covariates []facet.Change      `json:"covariates" doc:"recorded facts of the machine that differ"`
}

// graphDocument is what `graph -format json` prints.
type graphDocument struct {
	Format int         `json:"format_version" doc:"version of this document, 1"`
	Nodes  []graphNode `json:"nodes" doc:"instances, dependencies first"`
}

type graphNode struct {
	Address   string       `json:"address" doc:"the instance"`
	Kind      string       `json:"kind" doc:"its kind"`
	Nature    graph.Nature `json:"nature" doc:"identity, definition, pure, measurement or shared"`
	Exclusive bool         `json:"exclusive" doc:"runs alone on the machine"`
	Needs     []string     `json:"needs" doc:"what it refers to"`
	After     []string     `json:"after,omitempty" doc:"what only has to be done before it"`
}

// versionDocument is what `version -json` prints.
type versionDocument struct {
	Flameox string `json:"flameox" doc:"the version of this binary"`
}

// tablesDocument is what `tables -json` prints.
type tablesDocument struct {
	Format int        `json:"format_version" doc:"version of this document, 1"`
	Tables []tableDoc `json:"tables" doc:"the tables of the evidence"`
}

type tableDoc struct {
	Name    string      `json:"name" doc:"of the table"`
	Doc     string      `json:"doc" doc:"what a row is"`
	Columns []columnDoc `json:"columns" doc:"in order"`
}

type columnDoc struct {
	Name     string `json:"name" doc:"of the column"`
	Type     string `json:"type" doc:"Parquet type"`
	Nullable bool   `json:"nullable" doc:"the value may be missing"`
	Unit     string `json:"unit,omitempty" doc:"of a number"`
	Doc      string `json:"doc" doc:"what the value is"`
	Source   string `json:"source,omitempty" doc:"the producers' fields it comes from"`
}

// rawJSON is JSON that is already encoded.
type rawJSON = json.RawMessage
