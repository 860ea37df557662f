package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// helperArg is the hidden first argument with which this program runs processes for another one of it.
const helperArg = "__measure"

// helper starts processes from a small process of its own. The kernel counts into the peak memory of a process what the one that started it had at that
// moment, and this program holds the names of 100,000 files.
type helper struct {
	once sync.Once
	in   io.WriteCloser
	ask  *json.Encoder
	said *json.Decoder
	cmd  *exec.Cmd
	err  error
}

// request and answer are what is said to the helper, one JSON document after the other.
type request struct {
	Dir       string
	Argv, Env []string
	Exit      int
	Contains  string
}

type answer struct {
	Wall, CPU time.Duration
	MaxRSS    int64
	Error     string
}

// maybeHelp turns this process into that helper, and then does not return.
func maybeHelp() {
	if len(os.Args) != 2 || os.Args[1] != helperArg {
		return
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if err := in.Decode(&r); err != nil {
			os.Exit(0) // whoever asked is gone
		}
		s, err := process{dir: r.Dir, argv: r.Argv, env: r.Env, exit: r.Exit, contains: r.Contains}.run()
		a := answer{Wall: s.wall, CPU: s.cpu, MaxRSS: s.maxRSS}
		if err != nil {
			a.Error = err.Error()
		}
		if out.Encode(a) != nil {
			os.Exit(1)
		}
	}
}

func (h *helper) start() {
	self, err := os.Executable()
	if err == nil {
		h.cmd = exec.Command(self, helperArg)
		h.cmd.Stderr = os.Stderr
		h.in, err = h.cmd.StdinPipe()
	}
	var out io.Reader
	if err == nil {
		out, err = h.cmd.StdoutPipe()
	}
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		h.err = fmt.Errorf("start what measures processes: %w", err)
		return
	}
	h.ask, h.said = json.NewEncoder(h.in), json.NewDecoder(out)
}

// close ends the helper.
func (h *helper) close() {
	if h.cmd != nil && h.err == nil {
		h.in.Close()
		h.cmd.Wait()
	}
}

// measured is a side that runs p from the helper.
func (b *bench) measured(p process) side {
	return func() (sample, error) {
		h := &b.helper
		if h.once.Do(h.start); h.err != nil {
			return sample{}, h.err
		}
		var a answer
		err := h.ask.Encode(request{p.dir, p.argv, p.env, p.exit, p.contains})
		if err == nil {
			err = h.said.Decode(&a)
		}
		if err == nil && a.Error != "" {
			err = fmt.Errorf("%s", a.Error)
		}
		return sample{wall: a.Wall, cpu: a.CPU, maxRSS: a.MaxRSS}, err
	}
}
