package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages"
	stage "github.com/flameox/flameox/stages/register"
	"github.com/flameox/flameox/stages/workspace"
)

// Document is what register -json prints.
type Document struct {
	Format      int                `json:"format_version"` // 1
	Run         string             `json:"run"`            // that the document was registered with
	Revision    int                `json:"revision"`       // of the run's record now
	Registered  cache.Registration `json:"registered"`
	State       string             `json:"state"` // of its rows: complete, partial, empty
	Rows        int64              `json:"rows"`
	Limitations []cache.Note       `json:"limitations"`
	Known       bool               `json:"known"` // the same document was registered before, and nothing was changed
}

// Command is the command register.
func Command() *cli.Command {
	return &cli.Command{
		Name: "register", Usage: "append a document to the run that left it", ArgsUsage: "PROVIDER RUN|ADDRESS [FILE]",
		Description: "What a run found out about its own results, such as a kernel validation, belongs to that run: its record gains a revision that has the document, and\n" +
			"the rows of the document are the run's. The document is a file that the run left, or with -artifact one of its artifacts. It is validated first, and refused\n" +
			"where it contradicts itself, or the run.\n\n" +
			"-revision is the revision that you looked at, as `flameox show` prints it: what somebody else appended since is not passed over. A block register in the\n" +
			"configuration does the same for every run.\n\n" +
			"Examples:\n" +
			"  flameox register -help\n" +
			"  flameox schema register kernelvalidation",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "revision", Usage: "the revision `N` of the run that was looked at"},
			&cli.StringFlag{Name: "artifact", Usage: "take the artifact `NAME` of the run in place of a file"},
			&cli.StringFlag{Name: "pipeline", Usage: "the artifact `NAME` of the run that lists what the document is about, such as kernel-build.json; the only one where it is left out"},
			&cli.BoolFlag{Name: "sensitive", Usage: "the document holds what must not travel; the run is sensitive from then on"},
			&cli.BoolFlag{Name: "allow-external", Usage: "FILE may lie outside the project"},
			cmdline.JSONFlag,
		},
		Action: run,
	}
}

func run(c *cli.Context) error {
	file := c.Args().Get(2)
	switch {
	case c.NArg() < 2 || c.NArg() > 3:
		return flags.Usage(c, "register takes a provider, a run, and a file: flameox register kernelvalidation RUN validation.json -revision 1")
	case (file == "") == (c.String("artifact") == ""):
		return flags.Usage(c, "give the document either as a file or with -artifact")
	case c.IsSet("revision") && c.Int("revision") < 1:
		return flags.Usage(c, "-revision is %d; revisions begin with 1", c.Int("revision"))
	}
	provider, err := registrar(c.Args().First())
	if err != nil {
		return err
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	defer w.Close()
	rec, err := cmdline.FindRun(c, w, c.Args().Get(1))
	if err != nil {
		return err
	}
	dir, rel, err := place(w, file, c.Bool("allow-external"))
	if err != nil {
		return err
	}
	if !c.IsSet("revision") {
		return fmt.Errorf("run %s of %s is at revision %d: look at it with `flameox show %[1]s`, and repeat with -revision %[3]d", rec.Run, rec.Address, rec.Revision)
	}
	release, err := alone(c, w)
	if err != nil {
		return err
	}
	defer release()
	sum, err := w.Store.Cache.Run(rec.Run)
	if err != nil {
		return err
	}
	reviewed := *sum
	reviewed.Revision = c.Int("revision")
	known := sum.Revision
	made, err := apply(c, w, provider, rec, &reviewed, dir, rel)
	if err != nil {
		return err
	}
	if err := publish(c, w); err != nil {
		return err
	}
	w.Save()
	return show(c, w, provider, rec.Run, made, known)
}

// registrar is the provider called name, or an error that says which there are.
func registrar(name string) (providers.Registrar, error) {
	var names []string
	for _, p := range cmdline.Providers().All() {
		r, ok := p.(providers.Registrar)
		if !ok {
			continue
		}
		if p.Name() == name {
			return r, nil
		}
		names = append(names, p.Name())
	}
	text := fmt.Sprintf("there is no provider called %q whose documents are registered", name)
	if near := suggest.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("%s (known: %s)", text, strings.Join(names, ", "))
}

// place is the folder that a file is taken from, and the file below it.
func place(w *workspace.Workspace, file string, external bool) (dir, rel string, err error) {
	if file == "" {
		return "", "", nil
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", file, err)
	}
	// The project's root is known by its real path; the file itself may not be a link, which is looked at when it is taken.
	if folder, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(folder, filepath.Base(abs))
	}
	rel, err = filepath.Rel(w.Project.Root, abs)
	if err == nil && filepath.IsLocal(rel) {
		return w.Project.Root, filepath.ToSlash(rel), nil
	}
	if !external {
		return "", "", fmt.Errorf("%s lies outside the project %s, so nothing says that a run of it left the file; -allow-external registers it all the same", file, w.Project.Root)
	}
	return filepath.Dir(abs), filepath.Base(abs), nil
}

// alone takes the apply lock: the engine runs the one stage.
func alone(c *cli.Context, w *workspace.Workspace) (release func(), err error) {
	l, err := lock.TryAcquire(w.Store.LockPath("apply"), lock.Holder{Command: "flameox register"})
	var held *lock.HeldError
	if errors.As(err, &held) && held.Doubt != "" {
		ctx, cancel := context.WithTimeout(c.Context, 10*time.Second)
		defer cancel()
		l, err = lock.Acquire(ctx, w.Store.LockPath("apply"), lock.Holder{Command: "flameox register"})
	}
	if err != nil {
		return nil, fmt.Errorf("register works only while nothing is applied in this workspace: %w", err)
	}
	if err := w.Store.Cache.Refresh(); err != nil {
		l.Release()
		return nil, err
	}
	return func() { l.Release() }, nil
}

// apply runs the one stage, and returns its record: that of now, or of the same document before.
func apply(c *cli.Context, w *workspace.Workspace, provider providers.Registrar, rec *cache.Record, reviewed *cache.Summary, dir, rel string) (*cache.Record, error) {
	name := rec.Block[strings.LastIndexByte(rec.Block, '.')+1:]
	n := &graph.Node{Address: address.Address{Block: "register." + provider.Name() + "." + name, Axes: rec.Axes}, Labels: rec.Labels}
	if c.Bool("sensitive") || graph.IsSensitive(rec.Outputs) {
		n.Level = cache.Sensitive
	}
	n = stage.One(w.Project, provider, n, reviewed, c.String("artifact"), c.String("pipeline"), dir, rel)
	g, err := graph.New([]*graph.Node{n})
	if err != nil {
		return nil, err
	}
	planner, err := graph.NewPlanner(w.Store, g, graph.Selection{})
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var made *cache.Record
	var refused error
	report, err := planner.Apply(ctx, g, graph.ApplyOptions{Parallelism: 1, Refresh: w.Project.Refresh, Observe: func(e graph.Event) {
		switch {
		case e.Record != nil:
			made = e.Record
		case e.Kind == graph.EventBlocked:
			refused = e.Err
		case e.Kind == graph.EventCached && len(e.Decision.Records) > 0:
			made, refused = e.Decision.Records[0].Record()
		}
	}})
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil || report.Stopped:
		return nil, cmdline.Exit(cmdline.ExitInterrupted)
	case refused != nil:
		return nil, refused
	case made == nil:
		return nil, errors.New("the document was not registered, and nothing says why; run `flameox fsck`")
	case !made.Valid():
		// The reasons may quote the document.
		made = cmdline.Shown(c, made)
		var why []string
		for _, n := range made.Invalid {
			why = append(why, n.Text)
		}
		return nil, fmt.Errorf("nothing was registered: %s", strings.Join(why, "; "))
	}
	return made, nil
}

// publish brings the published view up to date.
func publish(c *cli.Context, w *workspace.Workspace) error {
	l, err := lock.Acquire(c.Context, w.Store.LockPath("publish"), lock.Holder{Command: "flameox register: publish"})
	if err != nil {
		return err
	}
	defer l.Release()
	report, err := stages.Publish(c.Context, w.Store)
	if err != nil {
		return fmt.Errorf("publish the evidence: %w\nThe document is registered; the next apply publishes its rows", err)
	}
	for _, text := range report.Warnings() {
		fmt.Fprintln(c.App.ErrWriter, "Warning: "+view.Lines(text))
	}
	return nil
}

// show says what the run has now. before is the revision that it had.
func show(c *cli.Context, w *workspace.Workspace, provider providers.Registrar, run string, made *cache.Record, before int) error {
	sum, err := w.Store.Cache.Run(run)
	if err != nil {
		return err
	}
	rec, err := sum.Record()
	if err != nil {
		return err
	}
	reg := rec.Registration(provider.Name())
	if reg == nil {
		return fmt.Errorf("run %s has no document of %s, though it was just registered; run `flameox fsck`", run, provider.Name())
	}
	made = cmdline.Shown(c, made)
	doc := Document{Format: 1, Run: run, Revision: rec.Revision, Registered: *reg, State: made.State, Limitations: append([]cache.Note{}, made.Limitations...), Known: rec.Revision == before}
	for _, o := range made.Outputs {
		doc.Rows += o.Rows
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	what := "registered"
	if doc.Known {
		what = "was registered before:"
	}
	fmt.Fprintf(c.App.Writer, "%s %s with run %s of %s, revision %d\n", what, view.Lines(reg.Output), run, rec.Address, rec.Revision)
	t := &view.Table{Columns: []view.Column{{Keep: true}, {Wrap: true}}}
	if reg.Verdict != "" {
		t.Rows = append(t.Rows, []string{"  verdict", reg.Verdict})
	}
	if reg.Pipeline != "" {
		t.Rows = append(t.Rows, []string{"  about", reg.Pipeline})
	}
	t.Rows = append(t.Rows, []string{"  producer", reg.Producer}, []string{"  rows", fmt.Sprintf("%d%s", doc.Rows, counts(made))})
	for _, n := range doc.Limitations {
		t.Rows = append(t.Rows, []string{"  limitation", n.Text})
	}
	return t.Write(c.App.Writer, cmdline.View(c))
}

// counts is what the document counts of itself, where it may be shown.
func counts(made *cache.Record) string {
	var parts []string
	for _, name := range []string{"cases", "outputs", "failed"} {
		var n int64
		if json.Unmarshal(made.Results[name], &n) == nil {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
