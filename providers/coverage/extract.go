package coverage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of refusals and limitations. Those of what coverage refuses are reader.py's: data_damaged, tables_missing, incompatible_schema, data_unreadable.
const (
	EmptyFile      = "payload_empty"
	NotData        = "not_coverage_data"
	OldData        = "coverage_data_before_5"
	ReaderBroke    = "reader_broke_off"
	ReaderOther    = "reader_version"
	NoReader       = "reader_missing"
	NothingRan     = "no_lines"
	Unread         = "process_left_out"
	Outside        = "files_outside_the_project"
	NoRoot         = "project_root_unknown"
	UnexpectedExit = "unexpected_exit"
	InputBudget    = providers.InputBudget
	RowBudget      = "row_budget"
)

func limitation(code, format string, args ...any) evidence.Limitation {
	return evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)}
}

// ExtractOptions say by which Python a data file is read.
type ExtractOptions struct {
	Interpreter string `arg:"interpreter,optional" doc:"the Python that has a coverage which knows the file: a name or a path; that of the capture where missing" facet:"exempt: the version of coverage that it has is part of the key"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

func extractOptions(options any) (*ExtractOptions, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{}
	} else if !ok {
		return nil, fmt.Errorf("coverage: extraction options are a %T, not *coverage.ExtractOptions", options)
	}
	return o, nil
}

var (
	sqliteMagic = []byte("SQLite format 3\x00")
	oldMagic    = []byte("!coverage.py:")
)

// detect looks for coverage's first table in the first page of a database.
func detect(head []byte) bool {
	return bytes.HasPrefix(head, sqliteMagic) && bytes.Contains(head, []byte("coverage_schema"))
}

// Formats is coverage's data under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "coverage", MediaType: MediaType, Role: Role, Detect: detect}}
}

// outside looks at the data files of a run from outside. limit bounds their bytes together, 0 for none.
func outside(in providers.Input, limit int64) ([]providers.Artifact, error) {
	list := in.FindAll(Role)
	if len(list) == 0 {
		_, err := in.Find(Role) // says what there is instead
		return nil, err
	}
	var size int64
	for _, a := range list {
		if size += a.Size; limit > 0 && size > limit {
			return list, providers.Refuse(InputBudget, "the data files have more than the %d bytes that the extraction may read; measure less in one capture", limit)
		}
	}
	if len(list) == 1 { // of several the reader leaves out what it cannot read
		return list, look(list[0])
	}
	return list, nil
}

func look(a providers.Artifact) error {
	if a.Size == 0 {
		return providers.Refuse(EmptyFile, "%s has no bytes: the process ended before coverage wrote anything", a.Name)
	}
	f, err := a.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading %s: %w", a.Name, err)
	}
	switch head = head[:n]; {
	case bytes.Equal(head, sqliteMagic):
		return nil
	case bytes.HasPrefix(head, oldMagic):
		return providers.Refuse(OldData, "%s is a data file of coverage before 5.0, which was text; coverage since 5.0 does not read it: measure again", a.Name)
	}
	return providers.Refuse(NotData, "%s is no SQLite database, and so no data file of coverage since 5.0", a.Name)
}

// Validate accepts data files that coverage reads. Where no reader ran, as of an import, it looks at the outside only.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	if err := ctx.Err(); err != nil {
		return r, err
	}
	var bad *providers.Refusal
	list, err := outside(in, 0)
	if err == nil && in.Reading != nil {
		var c *content
		if c, err = read(in.Reading, list, 0); err == nil {
			r.Producer = c.version
			r.Limitations = c.limitations(list)
		}
	} else if err == nil {
		r.Limitations = append(r.Limitations, limitation("reader_not_run", "the file was looked at from outside only; coverage sees it when it is extracted"))
	}
	if errors.As(err, &bad) {
		r.Reasons = append(r.Reasons, bad.Limitation)
	} else if err != nil {
		return r, err
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, limitation(UnexpectedExit, "the command ended with status %d; write it into expect_exit of the workload if what ran until then is wanted, as of tests that fail", in.Exit))
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

func read(reading *providers.Reading, list []providers.Artifact, rows int64) (*content, error) {
	f, err := os.Open(reading.Path)
	if err != nil {
		return nil, fmt.Errorf("read what coverage's reader printed: %w", err)
	}
	defer f.Close()
	return parse(f, reading, len(list), func(i int) string { return list[i].Name }, rows)
}

// Extract fills coverage_lines and coverage_arcs. Neither has a weight, so data with more rows than the budget is refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if _, err := extractOptions(options); err != nil {
		return evidence.Outcome{}, err
	}
	out, err := extract(ctx, in, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

func extract(ctx context.Context, in providers.Input, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return evidence.Outcome{}, err
	}
	list, err := outside(in, budget.InputBytes)
	if err != nil {
		return evidence.Outcome{}, err
	}
	if in.Reading == nil {
		return evidence.Outcome{}, &providers.Refusal{Missing: true, Limitation: limitation(NoReader, "no reader of coverage was run over the data")}
	}
	c, err := read(in.Reading, list, budget.Rows)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Producer: c.writer(), Limitations: c.limitations(list)}
	if len(out.Limitations) > 0 {
		out.State = evidence.Partial
	}
	names := make([]string, len(c.files)) // "" for those outside
	skipped, kept := int64(0), map[string]bool{}
	for i, f := range c.files {
		if names[i] = project(in.Paths, f.name); names[i] == "" {
			skipped++
		} else {
			kept[names[i]] = true
		}
	}
	if skipped > 0 {
		out.Limitations = append(out.Limitations, limitation(Outside, "%d files of %d are not the project's and have no rows", skipped, len(c.files)))
	}
	if in.Paths.Root == "" && len(c.files) > 0 {
		out.Limitations = append(out.Limitations, limitation(NoRoot, "the file does not say where the project was, so files have the names that coverage wrote"))
	}
	w := writer{c: c, names: names, sink: sink}
	if err := w.write(ctx); err != nil {
		return out, err
	}
	out.Results = map[string]any{"files": int64(len(kept)), "contexts": int64(len(c.contexts)), "lines": w.lines, "arcs": w.arcs, "branch": c.arcs}
	if w.lines+w.arcs == 0 {
		if out.State == evidence.Complete {
			out.State = evidence.Empty
		}
		out.Limitations = append(out.Limitations, limitation(NothingRan, "no line of the project ran while coverage recorded"))
	}
	return out, nil
}

// limitations are what was left out.
func (c *content) limitations(list []providers.Artifact) (out []evidence.Limitation) {
	for _, u := range c.unread {
		out = append(out, limitation(Unread, "%s is left out: %s; its process was ended before it had written what it recorded", list[u.Data].Name, u.Text))
	}
	return out
}

// writer is the version of coverage that wrote the files, where they agree, else the one that read them.
func (c *content) writer() string {
	version := ""
	for _, v := range c.writers {
		if v == nil || !release.MatchString(*v) || version != "" && *v != version {
			return c.version
		}
		version = *v
	}
	return version
}

// project is how evidence names a file of the project, and "" for any other. Relative names are so to where the capture ran. Where that is
// not known the name is kept.
func project(paths providers.Paths, name string) string {
	if paths.Root == "" {
		return name
	}
	if !path.IsAbs(name) {
		name = path.Join(paths.Dir, name)
	}
	if paths.Environments != "" && strings.HasPrefix(name, strings.TrimSuffix(paths.Environments, "/")+"/") {
		return ""
	}
	if file := paths.File(path.Clean(name)); !path.IsAbs(file) {
		return file
	}
	return ""
}

// writer makes the rows.
type writer struct {
	c           *content
	names       []string
	sink        *evidence.Sink
	lines, arcs int64
}

func (w *writer) write(ctx context.Context) error {
	for i := range w.c.blocks {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b := &w.c.blocks[i]
		name := w.names[b.file]
		if name == "" {
			continue
		}
		var context *string
		if b.context >= 0 && w.c.contexts[b.context] != "" {
			context = &w.c.contexts[b.context]
		}
		tracer := w.c.files[b.file].tracer
		if !b.arcs {
			row := evidence.CoverageLine{File: name, Context: context, Tracer: tracer}
			for _, n := range b.numbers {
				row.Line = n
				if err := w.sink.CoverageLines.Put(&row); err != nil {
					return err
				}
			}
			w.lines += int64(len(b.numbers))
			continue
		}
		row := evidence.CoverageArc{File: name, Context: context, Tracer: tracer}
		for j := 0; j < len(b.numbers); j += 2 {
			row.From, row.To = b.numbers[j], b.numbers[j+1]
			if err := w.sink.CoverageArcs.Put(&row); err != nil {
				return err
			}
		}
		w.arcs += int64(len(b.numbers) / 2)
	}
	return nil
}
