package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
)

// FileName is the project's file.
const FileName = "benchx.conf.json"

// What is built in.
const (
	DefaultAdapter  = "pyperf"
	DefaultQuantity = "wall-time"
	DefaultStore    = "store.parquet"
	DefaultResults  = "results"
	DefaultCase     = 60.0  // seconds
	DefaultOrder    = 600.0 // seconds
	DefaultK        = 3.0
	DefaultRounds   = 3 // that a verdict needs at least
)

// HomeVariable names the folder whose store.parquet wins over the project's.
const HomeVariable = "BENCHX_HOME"

// Config is what a project's file says. Where it says nothing, a member has its zero value.
type Config struct {
	Root string // absolute; what relative paths start from
	File string // absolute; "" where there is no file

	Project    string
	Source     Source
	Provider   []string // command of the target provider; empty where there is none
	Adapter    Adapter  //
	Variables  map[string]string
	Collectors map[string]any // as a work order holds them
	Timeouts   Timeouts
	Paths      Paths
	Compare    Compare

	// Legacy are files of earlier versions that lie in the root and are not read.
	Legacy []string
}

// Source is where the project's checkout comes from.
type Source struct {
	URI     string            `json:"uri"`
	Aliases map[string]string `json:"aliases"` // other addresses of a source, to the one that is recorded
}

// Adapter is the harness and what is asked of it.
type Adapter struct {
	Name       string   `json:"name"`
	Suite      string   `json:"suite"`
	Quantities []string `json:"quantities"`
	// Precision is that of a work order; what it leaves out is the harness's.
	Precision map[string]any `json:"-"`
}

// Timeouts are in seconds; 0 where the file does not say.
type Timeouts struct {
	Case  float64 `json:"case_s"`
	Order float64 `json:"order_s"`
}

// Paths are relative to the root.
type Paths struct {
	Store   string `json:"store"`
	Results string `json:"results"`
}

// Compare is how sides are compared.
type Compare struct {
	Profile   string   `json:"profile"`
	Rounds    int      `json:"rounds"`
	K         *float64 `json:"k"`
	MinRounds int      `json:"min_rounds"`
}

// Error is a file that cannot be used, with every reason.
type Error struct {
	File     string
	Problems []string // each names the key, as adapter.name
}

func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return e.File + ": " + e.Problems[0]
	}
	return e.File + " cannot be used:\n  " + strings.Join(e.Problems, "\n  ")
}

// Find reads the file of the project that dir lies in. Without one, the root is dir. The error is an *Error where the file is there and cannot be used.
func Find(dir string) (*Config, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find %s from %s: %w", FileName, dir, err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		file := filepath.Join(at, FileName)
		text, err := os.ReadFile(file)
		switch {
		case err == nil:
			c, err := parse(file, text)
			if err != nil {
				return nil, err
			}
			if _, err := os.Stat(filepath.Join(at, "flameox.hcl")); err == nil {
				return nil, &Error{file, []string{"flameox.hcl lies beside it, and only one of them can say how this project measures: move the settings into one, and delete the other"}}
			}
			c.Legacy = legacy(at)
			return c, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, &Error{file, []string{fmt.Sprintf("it cannot be read: %v", errors.Unwrap(err))}}
		case at == filepath.Dir(at):
			return &Config{Root: dir, Legacy: legacy(dir)}, nil
		}
	}
}

// legacy are the files that earlier versions read.
func legacy(root string) (out []string) {
	for _, name := range []string{".benchx/config.json", ".benchx/provider.json"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			out = append(out, name)
		}
	}
	return out
}

func parse(file string, text []byte) (*Config, error) {
	doc, err := document.Read(document.ConfigKind, text)
	if err != nil {
		return nil, &Error{file, problems(err)}
	}
	c := &Config{Root: filepath.Dir(file), File: file}
	var wire struct {
		Project  string `json:"project"`
		Source   Source `json:"source"`
		Provider struct {
			Command []string `json:"command"`
		} `json:"provider"`
		Adapter   Adapter           `json:"adapter"`
		Variables map[string]string `json:"environment_variables"`
		Timeouts  Timeouts          `json:"timeouts"`
		Paths     Paths             `json:"paths"`
		Compare   Compare           `json:"compare"`
	}
	// By way of the canonical text, in which 10.0 is the integer that it is.
	canonical, err := ijson.Canonical(doc)
	if err == nil {
		err = json.Unmarshal(canonical, &wire)
	}
	if err != nil {
		return nil, &Error{file, []string{err.Error()}}
	}
	c.Project, c.Source, c.Provider, c.Adapter, c.Variables = wire.Project, wire.Source, wire.Provider.Command, wire.Adapter, wire.Variables
	c.Timeouts, c.Paths, c.Compare = wire.Timeouts, wire.Paths, wire.Compare
	c.Adapter.Precision, _ = document.At(doc, "adapter", "precision").(map[string]any)
	c.Collectors, _ = doc["collectors"].(map[string]any)
	var wrong []string
	for _, name := range document.Keys(c.Collectors) {
		if slices.Contains(facts.Reserved, name) {
			wrong = append(wrong, fmt.Sprintf("collectors.%s: facts of that name are found out without a collector; give it another name", name))
		}
	}
	if wrong != nil {
		return nil, &Error{file, wrong}
	}
	return c, nil
}

// problems names the keys as people write them.
func problems(err error) []string {
	var invalid *document.Invalid
	var syntax ijson.Error
	switch {
	case errors.As(err, &invalid):
		var out []string
		for _, p := range invalid.Problems {
			out = append(out, key(p.Pointer)+p.Text)
		}
		return out
	case errors.As(err, &syntax):
		var out []string
		for line := range strings.SplitSeq(syntax.Error(), "\n") {
			out = append(out, strings.TrimSpace(line))
		}
		return out
	}
	return []string{err.Error()}
}

// key is a JSON pointer as a path of keys with a colon.
func key(pointer string) string {
	if pointer == "" {
		return ""
	}
	return strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(strings.TrimPrefix(pointer, "/")) + ": "
}

// StorePath is the store: $BENCHX_HOME/store.parquet where that is set, else the file's or the built-in one.
func (c *Config) StorePath(getenv func(string) string) string { return c.Store(getenv).Value }

// Store is StorePath with where it comes from.
func (c *Config) Store(getenv func(string) string) Value[string] {
	if home := getenv(HomeVariable); home != "" {
		if abs, err := filepath.Abs(home); err == nil {
			home = abs
		}
		return Value[string]{filepath.Join(home, DefaultStore), "$" + HomeVariable}
	}
	v := Pick("", "", c.Paths.Store, DefaultStore)
	v.Value = c.below(v.Value)
	return v
}

// ResultsPath is the folder that results of runs are written below.
func (c *Config) ResultsPath() string { return c.Results().Value }

// Results is ResultsPath with where it comes from.
func (c *Config) Results() Value[string] {
	v := Pick("", "", c.Paths.Results, DefaultResults)
	v.Value = c.below(v.Value)
	return v
}

func (c *Config) below(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Root, filepath.FromSlash(path))
}
