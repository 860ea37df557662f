package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/digest"
)

// exitsCommand is `exits CODE PROGRAM ARG ...`: runs a program, which has to end with exactly that status.
func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG ...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exited %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// reseal is `reseal FILE OLD NEW`: makes of a saved plan one that another flameox, or one on another machine, would have written.
func reseal(ts *testscript.TestScript, neg bool, args []string) {
	replaceIn(ts, neg, args)
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	var doc graph.PlanDocument
	ts.Check(json.Unmarshal(b, &doc))
	b, err = doc.Seal()
	ts.Check(err)
	ts.Check(os.WriteFile(path, b, 0o644))
}

// forge is `forge stat|index`: makes a file of remembered stats say of every file, which may have changed, that it is just as it was when it was
// hashed. docs/formats/caches.md has the bytes.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "stat" && args[0] != "index" {
		ts.Fatalf("usage: forge stat|index")
	}
	const header, row = 32, 104
	name := map[string]string{"stat": ".flameox/cache/stat", "index": ".flameox/cas/index"}[args[0]]
	time.Sleep(100 * time.Millisecond) // stamps that are younger than a tick are believed by nobody
	b, err := os.ReadFile(ts.MkAbs(name))
	ts.Check(err)
	le := binary.LittleEndian
	n := int(le.Uint32(b[20:]))
	text := b[header+n*row : len(b)-4]
	for i := range n {
		r := b[header+i*row : header+(i+1)*row]
		path := string(text[le.Uint32(r[4:]):][:le.Uint32(r[8:])])
		if args[0] == "index" {
			d := digest.Digest(r[72:104]).String()
			path = filepath.Join(ts.MkAbs(".flameox/cas"), d[:2], d[2:])
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			continue
		}
		le.PutUint64(r[24:], uint64(time.Now().UnixNano()))
		le.PutUint64(r[32:], uint64(st.Size))
		le.PutUint64(r[40:], uint64(st.Mtim.Nano()))
		le.PutUint64(r[48:], uint64(st.Ctim.Nano()))
		le.PutUint64(r[56:], uint64(st.Dev))
		le.PutUint64(r[64:], st.Ino)
	}
	le.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], crc32.MakeTable(crc32.Castagnoli)))
	ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o644))
}
