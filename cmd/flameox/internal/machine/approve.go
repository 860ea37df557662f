package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/adapter"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/workspace"
)

// AdapterReport is what is known of a declared adapter without running it.
type AdapterReport struct {
	Adapter string `json:"adapter"`
	Version string `json:"version"`          // as the configuration declares it
	Program string `json:"program"`          // absolute
	SHA256  string `json:"sha256,omitempty"` // of its bytes now
	State   string `json:"state"`            // approved; blocked: it was not approved, or is not there
	Why     string `json:"why,omitempty"`
	Do      string `json:"do,omitempty"`
}

// adapters reports on the adapters of the configuration. Nothing is started.
func adapters(loaded *stages.Experiment) []AdapterReport {
	out := []AdapterReport{}
	if loaded == nil {
		return out
	}
	for _, a := range loaded.Adapters() {
		r := AdapterReport{Adapter: a.Name, Version: a.Version(), Program: a.Program(), State: "approved"}
		id, _, err := a.Approved()
		if id.SHA256 != (digest.Digest{}) {
			r.SHA256 = id.SHA256.String()
		}
		var blocked *graph.BlockedError
		if errors.As(err, &blocked) {
			r.State, r.Why, r.Do = "blocked", blocked.Why, blocked.Do
		} else if err != nil {
			r.State, r.Why = "blocked", err.Error()
		}
		out = append(out, r)
	}
	return out
}

// approve is the command providers approve.
func approve() *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "let an adapter of the configuration run, as it is now", ArgsUsage: "ADAPTER",
		Description: "An adapter is a program that a block adapter names. It runs with your rights to read the system, contained, and what it puts in front of a workload's command runs\n" +
			"as you do. So read it first. Approved are its name, its version and its bytes; it is asked for the first two, contained, and any change takes the approval\n" +
			"away. The approval is yours, in your configuration folder: another user, or a clone, has none.\n\n" +
			"Examples:\n  flameox providers approve -help",
		Flags: []cli.Flag{&cli.StringFlag{Name: "sha256", Usage: "refuse a program that does not have this `DIGEST`, such as one that was published"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "providers approve takes the name of one adapter")
			}
			w, loaded, err := cmdline.Load(c)
			if err != nil {
				return err
			}
			defer w.Close()
			a, err := namedAdapter(loaded, c.Args().First())
			if err != nil {
				return err
			}
			id, program, err := a.Identity()
			if err != nil {
				return err
			}
			if want := c.String("sha256"); want != "" {
				if d, err := digest.Parse(want); err != nil {
					return flags.Usage(c, "-sha256 is %q; give 64 hexadecimal digits", want)
				} else if d != id.SHA256 {
					return fmt.Errorf("approve the adapter %s: %s has the SHA-256 %s and not %s; nothing was approved", a.Name, a.Program(), id.SHA256, d)
				}
			}
			report, err := a.Probe(c.Context, id, program)
			if err != nil {
				return fmt.Errorf("%w; nothing was approved", err)
			}
			store, err := approvals(w)
			if err != nil {
				return err
			}
			if err := store.Add(approval.Approval{Identity: id, Path: a.Program(), When: time.Now().UTC()}); err != nil {
				return err
			}
			fmt.Fprintf(c.App.Writer, "approved %s %s, sha256 %s\n  program    %s\n  contained  %s\n  kept in    %s\n", id.Name, id.Version, id.SHA256, a.Program(), report, store.Path())
			return nil
		},
	}
}

// revoke is the command providers revoke.
func revoke() *cli.Command {
	return &cli.Command{
		Name: "revoke", Usage: "take back every approval of an adapter", ArgsUsage: "ADAPTER",
		Description: "All versions that you approved are taken back. What they measured stays.\n\nExamples:\n  flameox providers revoke -help",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "providers revoke takes the name of one adapter")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			defer w.Close()
			store, err := approvals(w)
			if err != nil {
				return err
			}
			gone, err := store.Remove(c.Args().First())
			if err != nil {
				return err
			}
			if len(gone) == 0 {
				return fmt.Errorf("you have approved no adapter called %q; %s has what you have", c.Args().First(), store.Path())
			}
			for _, a := range gone {
				fmt.Fprintf(c.App.Writer, "revoked %s %s, sha256 %s\n", a.Name, a.Version, a.SHA256)
			}
			return nil
		},
	}
}

func approvals(w *workspace.Workspace) (*approval.Store, error) {
	return approval.Of(w.Project.Environ, vfs.OS{})
}

func namedAdapter(loaded *stages.Experiment, name string) (*adapter.Adapter, error) {
	var names []string
	for _, a := range loaded.Adapters() {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the configuration declares no adapter called %q, nor any other; write adapter %q { … }", name, name)
	}
	text := fmt.Sprintf("the configuration declares no adapter called %q", name)
	if near := suggest.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("%s (declared: %q)", text, names)
}
