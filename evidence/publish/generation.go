package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// The formats of the two kinds of JSON document. They are raised when a reader of the old one would be wrong.
const (
	manifestFormat = "flameox evidence manifest 1"
	partsFormat    = "flameox evidence parts 1"
)

// emptySegment is the file of a table that has no segment.
const emptySegment = "empty"

// manifest says what a generation holds.
type manifest struct {
	Format     string    `json:"format"`
	Generation int64     `json:"generation"`         // from 1
	Created    time.Time `json:"created"`            // when it replaced the one before
	Oldest     int64     `json:"oldest"`             // the oldest generation that may still be on disk
	Set        set       `json:"set"`                // identity of everything published
	Tables     []table   `json:"tables"`             // every table that the writing version knew
	LeftOut    []LeftOut `json:"left_out,omitempty"` // sorted
}

type table struct {
	Name     string    `json:"name"`
	Schema   string    `json:"schema"` // digest of the columns
	Segments []segment `json:"segments,omitempty"`
}

type segment struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Parts int    `json:"parts"`
	First string `json:"first"` // smallest and largest run: most segments need not be opened to know that
	Last  string `json:"last"`  // a run is not in them
}

// partsDoc lists the parts of one segment in the order of their rows.
type partsDoc struct {
	Format string      `json:"format"`
	Parts  []partEntry `json:"parts"`
}

type partEntry struct {
	Run      string        `json:"run"`
	Provider string        `json:"provider,omitempty"`
	Digest   digest.Digest `json:"digest"`
	Rows     int64         `json:"rows"`
}

// Generation is one pinned state of the published view. Its directory is never changed.
type Generation struct {
	Dir     string // absolute or relative as the directory was given; the resolved generation
	Number  int64
	Created time.Time
	m       *manifest
}

// ErrNotPublished says that nothing has been published yet.
var ErrNotPublished = errors.New("nothing has been published yet; evidence is published at the end of `flameox apply`")

// Pin resolves the link at dir once and returns the generation it names.
func Pin(dir string) (*Generation, error) {
	target, err := os.Readlink(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotPublished
	}
	if err != nil {
		return nil, fmt.Errorf("reading the published evidence: %s is no link to a generation: %w", dir, err)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(dir), target)
	}
	b, err := os.ReadFile(filepath.Join(target, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the published evidence: %w; the next `flameox apply` publishes it anew", err)
	}
	m, err := parseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("reading the published evidence: %s: %w; the next `flameox apply` publishes it anew", filepath.Join(target, "manifest.json"), err)
	}
	return &Generation{Dir: target, Number: m.Generation, Created: m.Created, m: m}, nil
}

// LeftOut is what should be in the generation and is not, because it could not be read when it was published.
func (g *Generation) LeftOut() []LeftOut { return slices.Clone(g.m.LeftOut) }

// Files are the paths of a table's Parquet files, none where the table has no row.
func (g *Generation) Files(name string) []string {
	var out []string
	if t := g.m.table(name); t != nil {
		for _, s := range t.Segments {
			out = append(out, g.path(name, s.Name))
		}
	}
	return out
}

// Rows is the number of rows of a table.
func (g *Generation) Rows(name string) int64 {
	var n int64
	if t := g.m.table(name); t != nil {
		for _, s := range t.Segments {
			n += s.Rows
		}
	}
	return n
}

// Current says whether the generation's files have the columns that this version of flameox gives the table.
func (g *Generation) Current(name string) bool {
	t := g.m.table(name)
	def, ok := evidence.Lookup(name)
	return ok && t != nil && t.Schema == schemaDigest(def)
}

func (g *Generation) path(table, segment string) string {
	return filepath.Join(g.Dir, table, segment+".parquet")
}

func (g *Generation) partsPath(table, segment string) string {
	return filepath.Join(g.Dir, "parts", table+"."+segment+".json")
}

// parts reads which parts a segment holds.
func (g *Generation) parts(table string, s *segment) ([]partEntry, error) {
	path := g.partsPath(table, s.Name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := parseParts(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rows int64
	for _, p := range doc.Parts {
		rows += p.Rows
		if p.Run < s.First || p.Run > s.Last {
			return nil, fmt.Errorf("%s: run %s is outside the segment's %s to %s", path, p.Run, s.First, s.Last)
		}
	}
	if rows != s.Rows || len(doc.Parts) != s.Parts {
		return nil, fmt.Errorf("%s: %d parts and %d rows where the manifest has %d and %d", path, len(doc.Parts), rows, s.Parts, s.Rows)
	}
	return doc.Parts, nil
}

// intact says what of the generation is not as its manifest says, by looking at sizes alone.
func (g *Generation) intact() error {
	for _, t := range g.m.Tables {
		for _, s := range t.Segments {
			info, err := os.Stat(g.path(t.Name, s.Name))
			if err != nil {
				return err
			}
			if info.Size() != s.Bytes {
				return fmt.Errorf("%s has %d bytes, not %d", g.path(t.Name, s.Name), info.Size(), s.Bytes)
			}
		}
	}
	for _, t := range g.m.Tables {
		if _, ok := evidence.Lookup(t.Name); !ok {
			return fmt.Errorf("table %s is unknown to this version", t.Name)
		}
	}
	for _, t := range evidence.Tables() {
		if !g.Current(t.Name) {
			return fmt.Errorf("the columns of table %s are not those of this version", t.Name)
		}
	}
	return nil
}

func (m *manifest) table(name string) *table {
	for i := range m.Tables {
		if m.Tables[i].Name == name {
			return &m.Tables[i]
		}
	}
	return nil
}

// schemaDigest changes when rows of old and new files of a table would not fit together. Documentation is left
// out: a better sentence is no reason to write everything again.
func schemaDigest(t *evidence.Table) string {
	h := ""
	for _, c := range t.Columns {
		h += strconv.Quote(c.Name) + c.ParquetType() + strconv.Quote(c.Unit) + "\n"
	}
	return digest.SumString(h).String()
}

// parseManifest reads and checks a manifest: what it accepts names no file outside its generation.
func parseManifest(b []byte) (*manifest, error) {
	m := &manifest{}
	if err := decode(b, m); err != nil {
		return nil, err
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("the format is %q, not %q: another version of flameox wrote it", m.Format, manifestFormat)
	}
	if m.Generation < 1 || m.Oldest < 1 || m.Oldest > m.Generation {
		return nil, fmt.Errorf("generation %d with the oldest %d", m.Generation, m.Oldest)
	}
	tables := map[string]bool{}
	for _, t := range m.Tables {
		if !plainName(t.Name) || tables[t.Name] {
			return nil, fmt.Errorf("table %q is no name or is there twice", t.Name)
		}
		tables[t.Name] = true
		segments := map[string]bool{}
		for _, s := range t.Segments {
			switch {
			case !plainName(s.Name) || segments[s.Name] || s.Name == emptySegment:
				return nil, fmt.Errorf("table %s: segment %q is no name or is there twice", t.Name, s.Name)
			case s.Rows < 0 || s.Bytes < 0 || s.Parts < 1 || s.First == "" || s.First > s.Last:
				return nil, fmt.Errorf("table %s: segment %s contradicts itself", t.Name, s.Name)
			}
			segments[s.Name] = true
		}
	}
	return m, nil
}

func parseParts(b []byte) (*partsDoc, error) {
	d := &partsDoc{}
	if err := decode(b, d); err != nil {
		return nil, err
	}
	if d.Format != partsFormat {
		return nil, fmt.Errorf("the format is %q, not %q", d.Format, partsFormat)
	}
	for _, p := range d.Parts {
		if p.Run == "" || p.Rows < 0 || p.Digest.IsZero() {
			return nil, fmt.Errorf("a part of run %q contradicts itself", p.Run)
		}
	}
	return d, nil
}

func decode(b []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// plainName is lower-case letters, digits, _ and -: a name that is no path.
func plainName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 100
}
