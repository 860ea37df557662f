package perf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfscript"
	"github.com/flameox/flameox/providers"
)

// The first bytes of a recording, by the order of bytes of the machine that made it, and of those before Linux 2.6.36 or so.
var (
	magic     = []byte("PERFILE2")
	swapped   = []byte("2ELIFREP")
	oldFormat = []byte("PERFFILE")
)

func isRecording(head []byte) bool {
	return bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, swapped) || bytes.HasPrefix(head, oldFormat)
}

// Formats are the recording, and the text that perf script prints of one.
func (Provider) Formats() []providers.Format {
	return []providers.Format{
		{Name: "perf", MediaType: MediaType, Role: Role, Detect: isRecording},
		{Name: "perf-script", MediaType: perfscript.MediaType, Role: Role, Detect: perfscript.Detect},
	}
}

// Prints says whether a payload is a recording.
func (Provider) Prints(a providers.Artifact) bool {
	switch {
	case a.Role != Role:
		return false
	case a.MediaType == MediaType || a.MediaType == perfscript.MediaType:
		return a.MediaType == MediaType
	}
	head, err := headOf(a)
	return err == nil && isRecording(head)
}

// headSize is the fixed part of a recording's header.
const headSize = 104

func headOf(a providers.Artifact) ([]byte, error) {
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// outside looks at a recording as its documented header says it: where the records are, and that the file reaches so far. reason says why it is not whole.
func outside(a providers.Artifact) (reason *evidence.Limitation, err error) {
	head, err := headOf(a)
	if err != nil {
		return nil, err
	}
	cut := func(code, format string, args ...any) (*evidence.Limitation, error) {
		return &evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)}, nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case len(head) == 0:
		return nil, providers.Refuse(EmptyFile, "%s has no bytes: perf recorded nothing, or was killed before it wrote anything", a.Name)
	case bytes.HasPrefix(head, oldFormat):
		return nil, providers.Refuse(OldFormat, "%s is a recording of a perf from before 2010, which perf of today does not read", a.Name)
	case bytes.HasPrefix(head, swapped):
		order = binary.BigEndian
	case !bytes.HasPrefix(head, magic):
		return nil, providers.Refuse(NotARecording, "%s does not begin as a recording of perf does", a.Name)
	}
	if len(head) < 16 {
		return cut(Truncated, "%s breaks off in its header", a.Name)
	}
	const piped = 16 // a header of this size is of a pipe, which is records to its end
	if order.Uint64(head[8:]) == piped {
		return nil, nil
	}
	if len(head) < headSize {
		return cut(Truncated, "%s breaks off in its header", a.Name)
	}
	from, size := order.Uint64(head[40:]), order.Uint64(head[48:])
	switch {
	case size == 0:
		return cut(NotClosed, "%s was never closed: perf was killed, and what it recorded last may be missing", a.Name)
	case from > uint64(a.Size) || size > uint64(a.Size)-from:
		return cut(Truncated, "%s breaks off: its records end at byte %d, and the file at %d", a.Name, from+size, a.Size)
	}
	return nil, nil
}

// Printing is perf of the capture, or the one that the extraction names.
func (Provider) Printing(argv []string, options any) (string, error) {
	if o, ok := options.(*ExtractOptions); ok && o.Program != "" {
		return o.Program, nil
	}
	if len(argv) == 0 {
		return "perf", nil
	}
	return argv[0], nil
}

// Asks is perf --version.
func (Provider) Asks(program string) ([]string, func(stdout []byte) (string, error)) {
	return []string{program, "--version"}, func(stdout []byte) (string, error) {
		if v := version(stdout); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%.40q is no version of perf", stdout)
	}
}

// Print is perf script, with the fields that are read; a validation needs no stacks, and so no symbols.
func (Provider) Print(program string, options any, payload string) ([]string, error) {
	const fields = "comm,pid,tid,time,event,period"
	argv := []string{program, "script", "-f", "-i", payload, "--ns", "--show-lost-events"}
	if options == nil {
		return append(argv, "-F", fields), nil
	}
	o, ok := options.(*ExtractOptions)
	if !ok {
		return nil, fmt.Errorf("perf: extraction options are a %T, not *perf.ExtractOptions", options)
	}
	if !o.Inlined {
		argv = append(argv, "--no-inline")
	}
	return append(argv, "-F", fields+",ip,sym,dso"), nil
}

// Missing says how perf is had.
func (Provider) Missing(program, version string) string {
	if version == "" {
		return "install perf (Debian: linux-perf), or name one with program in the extraction"
	}
	return fmt.Sprintf("name a perf with program in the extraction, which makes rows of its own, or bring back %s of version %s", program, version)
}

// bytesLines are lines without white space around them.
func bytesLines(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}
