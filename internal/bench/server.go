package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/loopback"
)

// serveArg is the hidden first argument with which this program is a server that answers at once.
const serveArg = "__serve"

// maybeServe turns this process into that server, and then does not return.
func maybeServe() {
	if len(os.Args) != 3 || os.Args[1] != serveArg {
		return
	}
	answer := []byte("ok")
	err := http.ListenAndServe("127.0.0.1:"+os.Args[2], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(answer) }))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serverCases measure what the sampler costs a server under load.
func serverCases(b *bench) []testCase {
	return []testCase{{
		what: "a server under wrk, sampled every 250 ms", against: "sampled every 10 s", bound: bound{ratio: 1.02},
		prepare: func() (side, side, error) {
			if _, err := exec.LookPath("wrk"); err != nil {
				return nil, nil, skip{"wrk is not installed (Debian: wrk)"}
			}
			return b.loaded(250 * time.Millisecond), b.loaded(10 * time.Second), nil
		},
	}}
}

var requestRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// loaded is the time of one request to a server that is sampled every so often, under one second of load.
func (b *bench) loaded(every time.Duration) side {
	br := broker.New(broker.Options{Store: "bench"})
	return func() (sample, error) {
		self, err := os.Executable()
		if err != nil {
			return sample{}, err
		}
		port, err := loopback.FreePort()
		if err != nil {
			return sample{}, err
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		ctx, end := context.WithCancel(b.ctx)
		ended := make(chan error, 1)
		go func() {
			_, err := br.Run(ctx, broker.Command{
				Argv: []string{self, serveArg, strconv.Itoa(port)}, Dir: b.dir, Mark: br.Mark("server"),
				Stdout: filepath.Join(b.dir, "server"), Stderr: filepath.Join(b.dir, "server"), SampleEvery: every,
			})
			ended <- err
		}()
		defer func() { end(); <-ended }()
		for deadline := time.Now().Add(5 * time.Second); loopback.Connect(ctx, address) != nil; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				return sample{}, errors.New("the server did not listen")
			}
		}
		out, err := exec.CommandContext(b.ctx, "wrk", "-t1", "-c4", "-d1s", "http://"+address).Output()
		if err != nil {
			return sample{}, fmt.Errorf("wrk: %w", err)
		}
		m := requestRate.FindSubmatch(out)
		if m == nil {
			return sample{}, fmt.Errorf("wrk printed no rate: %s", out)
		}
		rate, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || rate <= 0 {
			return sample{}, fmt.Errorf("wrk's rate is %s", m[1])
		}
		return sample{wall: time.Duration(float64(time.Second) / rate)}, nil
	}
}
