package storage

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages/workspace"
)

// Pinned is what pins prints.
type Pinned struct {
	Format int      `json:"format"` // 1
	Pins   []gc.Pin `json:"pins"`
}

// Pin is the command pin.
func Pin() *cli.Command {
	return &cli.Command{
		Name: "pin", Usage: "keep what a run left, whatever its age", ArgsUsage: "RUN|ADDRESS ...",
		Description: "gc never takes the artifacts of a pinned run, nor of what was extracted from it. An address means the runs that stand for it now; they stay\n" +
			"pinned when newer ones take their place.\n\n" +
			"Examples:\n  flameox pin 'capture.gobench.*' -reason 'baseline of the report'\n  flameox pins",
		Flags: withVars(&cli.StringFlag{Name: "reason", Usage: "why, in `TEXT`"}),
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return flags.Usage(c, "pin takes one run or address, or more")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			runs, err := chosen(c.Context, w, c.Args().Slice())
			if err != nil {
				return err
			}
			return changePins(w, func(pins []gc.Pin) ([]gc.Pin, error) {
				given, err := gc.Collected(w.Store.CAS.FS(), w.Store.Dir)
				if err != nil {
					return nil, err
				}
				for _, r := range runs {
					if given[r.Run] {
						return nil, fmt.Errorf("run %s of %s gave its artifacts up to gc; bring them back first: flameox restore %[1]s", r.Run, r.Address)
					}
					pins = slices.DeleteFunc(pins, func(p gc.Pin) bool { return p.Run == r.Run })
					pins = append(pins, gc.Pin{Run: r.Run, Address: r.Address, Reason: c.String("reason"), When: time.Now().UTC()})
					fmt.Fprintf(c.App.Writer, "pinned %s  %s\n", r.Run, r.Address)
				}
				return pins, nil
			})
		},
	}
}

// Unpin is the command unpin.
func Unpin() *cli.Command {
	return &cli.Command{
		Name: "unpin", Usage: "let gc have what a pinned run left", ArgsUsage: "RUN|ADDRESS ...",
		Description: "An address means every pinned run that had it.\n\nExamples:\n  flameox pin 'capture.gobench.*'\n  flameox unpin 'capture.gobench.*'",
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return flags.Usage(c, "unpin takes one run or address, or more")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			return changePins(w, func(pins []gc.Pin) ([]gc.Pin, error) {
				for _, name := range c.Args().Slice() {
					means, err := meaning(w, name)
					if err != nil {
						return nil, err
					}
					n := len(pins)
					pins = slices.DeleteFunc(pins, func(p gc.Pin) bool {
						if means(p) {
							fmt.Fprintf(c.App.Writer, "unpinned %s  %s\n", p.Run, p.Address)
						}
						return means(p)
					})
					if len(pins) == n {
						return nil, fmt.Errorf("nothing that is pinned is called %s; `flameox pins` lists what is", name)
					}
				}
				return pins, nil
			})
		},
	}
}

// Pins is the command pins.
func Pins() *cli.Command {
	return &cli.Command{
		Name: "pins", Usage: "list what is pinned",
		Description: "Oldest first.\n\nExamples:\n  flameox pins",
		Flags:       []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "pins takes no arguments")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			pins, err := gc.Pins(w.Store.CAS.FS(), w.Store.Dir)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return cmdline.JSON(c, Pinned{Format: 1, Pins: append([]gc.Pin{}, pins...)})
			}
			for _, p := range pins {
				line := p.Run + "  " + p.Address
				if p.Reason != "" {
					line += "  " + strings.Map(printable, p.Reason)
				}
				fmt.Fprintln(c.App.Writer, line)
			}
			if len(pins) == 0 {
				fmt.Fprintln(c.App.Writer, "Nothing is pinned.")
			}
			return nil
		},
	}
}

// meaning says which pins a name means. A run that is no more in the store can be unpinned all the same.
func meaning(w *workspace.Workspace, name string) (func(gc.Pin) bool, error) {
	run, err := w.Store.Cache.Run(name)
	if err == nil {
		return func(p gc.Pin) bool { return p.Run == run.Run }, nil
	}
	pattern, err := address.ParsePattern(name)
	if err != nil {
		return func(p gc.Pin) bool { return p.Run == name }, nil
	}
	return func(p gc.Pin) bool {
		a, err := address.Parse(p.Address)
		return p.Run == name || err == nil && pattern.Match(a)
	}, nil
}

func changePins(w *workspace.Workspace, change func([]gc.Pin) ([]gc.Pin, error)) error {
	fsys, dir := w.Store.CAS.FS(), w.Store.Dir
	if err := w.Init(); err != nil {
		return err
	}
	l, err := gc.LockPins(fsys, dir)
	if err != nil {
		return err
	}
	defer l.Close()
	pins, err := gc.Pins(fsys, dir)
	if err != nil {
		return err
	}
	if pins, err = change(pins); err != nil {
		return err
	}
	return gc.SetPins(fsys, dir, pins)
}

// printable keeps what somebody wrote from moving the cursor.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
