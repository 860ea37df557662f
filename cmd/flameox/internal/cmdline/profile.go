package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/selftrace"
)

// ProfileFlag asks for a trace of flameox itself.
var ProfileFlag = &cli.StringFlag{Name: "profile", Usage: "write to `FILE` where flameox itself spends its time: a trace that ui.perfetto.dev opens. Keep it outside of the project, whose sources it would be among"}

// profiled is the trace that EndProfile writes.
type profiled struct {
	*selftrace.Recorder
	path  string
	whole selftrace.Span // the command
}

type profiledKey struct{}

// BeginProfile puts a recorder into the context of c where one is asked for. The command is one span of it.
func BeginProfile(c *cli.Context) error {
	path := c.String(ProfileFlag.Name)
	if path == "" {
		return nil
	}
	// The file is written when the command is done, so that it is no news to the command. That it cannot be is said first.
	st, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return unwritten(path, err)
	}
	if !st.IsDir() {
		return unwritten(path, fmt.Errorf("%s is not a folder", filepath.Dir(path)))
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return unwritten(path, errors.New("it is a folder"))
	}
	title := "flameox"
	if name := c.Args().First(); name != "" {
		title += " " + name
	}
	r := selftrace.New(title, time.Now)
	p := &profiled{Recorder: r, whole: r.Begin(title, "")}
	if p.path, err = filepath.Abs(path); err != nil { // a command may go elsewhere
		return unwritten(path, err)
	}
	c.Context = context.WithValue(selftrace.With(c.Context, r), profiledKey{}, p)
	return nil
}

// EndProfile writes the trace that BeginProfile began, whatever became of the command.
func EndProfile(c *cli.Context) error {
	p, ok := c.Context.Value(profiledKey{}).(*profiled)
	if !ok {
		return nil
	}
	p.whole.End()
	return writeProfile(p.Recorder, p.path)
}

// writeProfile writes the trace by rename: what stands under the name is a whole trace, of this time or of another.
func writeProfile(r *selftrace.Recorder, path string) error {
	// A link such as /dev/stdout stays a link, and a pipe a pipe.
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return unwritten(path, err)
		}
		return unwritten(path, errors.Join(r.Write(f), f.Close()))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flameox-profile-*")
	if err != nil {
		return unwritten(path, err)
	}
	err = errors.Join(r.Write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return unwritten(path, err)
}

func unwritten(path string, err error) error {
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("write the trace of flameox to %s: %w; give -profile a file in a folder that can be written to", path, err)
}
