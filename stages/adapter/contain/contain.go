package contain

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Command is the hidden first argument that makes the flameox binary contain itself and become a program.
const Command = "__contain"

// Request says what to become, with what. It is a file.
type Request struct {
	Argv     []string `json:"argv"` // the first is the file to execute, absolute
	Env      []string `json:"env"`
	Dir      string   `json:"dir"`
	Stdin    string   `json:"stdin"`    // file
	Read     []string `json:"read"`     // files and folders that may be read and executed, beside the system's
	Write    []string `json:"write"`    // folders that may be written
	Report   string   `json:"report"`   // where a Report goes before the program begins
	Required bool     `json:"required"` // refuse where the kernel has no Landlock
	Limits   Limits   `json:"limits"`
}

// Limits bound the process; 0 is no bound.
type Limits struct {
	CPUSeconds uint64 `json:"cpu_seconds"`
	FileBytes  uint64 `json:"file_bytes"` // of one file that it writes
	Files      uint64 `json:"files"`      // open at once
}

// Report is what was taken away.
type Report struct {
	Landlock int    `json:"landlock"` // version of the kernel's interface; 0 where there is none
	Network  string `json:"network"`  // none: in a namespace without one; no_tcp: Landlock refuses TCP, nothing refuses UDP; open
	Limits   Limits `json:"limits"`
}

// String is the containment in the words of a record.
func (r *Report) String() string {
	var parts []string
	if r.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("files by landlock %d", r.Landlock))
	} else {
		parts = append(parts, "files not contained")
	}
	switch r.Network {
	case "none":
		parts = append(parts, "no network")
	case "no_tcp":
		parts = append(parts, "no TCP")
	default:
		parts = append(parts, "network open")
	}
	return strings.Join(append(parts, "limits on CPU time, files and their sizes"), ", ")
}

// Serve is the hidden command. It returns only where it failed.
func Serve(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s REQUEST", Command)
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("contain a program: %w", err)
	}
	var req Request
	if err := json.Unmarshal(b, &req); err != nil {
		return fmt.Errorf("contain a program: %w", err)
	}
	if len(req.Argv) == 0 {
		return fmt.Errorf("contain a program: there is none")
	}
	return become(&req)
}
