package providers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/suggest"
)

// Registry holds the providers that a program knows. It is made once and never changes, so it may be
// read by any number of goroutines.
type Registry struct {
	byName  map[string]Provider
	names   []string // sorted
	formats []Entry  // sorted by name
}

// Entry is an importable format and the provider that reads it.
type Entry struct {
	Format
	Importer Importer
}

// New makes a registry. Two providers of one name, or two formats of one name, are a programming mistake and panic.
func New(list ...Provider) *Registry {
	r := &Registry{byName: map[string]Provider{}}
	for _, p := range list {
		if p.Name() == "" || p.Version() < 1 || p.Doc() == "" {
			panic(fmt.Sprintf("providers: %T needs a name, a version from 1 and a sentence of documentation", p))
		}
		if r.byName[p.Name()] != nil {
			panic("providers: two providers are called " + p.Name())
		}
		r.byName[p.Name()] = p
		r.names = append(r.names, p.Name())
		im, ok := p.(Importer)
		if !ok {
			continue
		}
		for _, f := range im.Formats() {
			if slices.ContainsFunc(r.formats, func(e Entry) bool { return e.Name == f.Name }) {
				panic("providers: two formats are called " + f.Name)
			}
			r.formats = append(r.formats, Entry{f, im})
		}
	}
	slices.Sort(r.names)
	slices.SortFunc(r.formats, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return r
}

// All lists every provider by name.
func (r *Registry) All() []Provider {
	out := make([]Provider, len(r.names))
	for i, n := range r.names {
		out[i] = r.byName[n]
	}
	return out
}

// Formats lists every importable format by name.
func (r *Registry) Formats() []Entry { return slices.Clone(r.formats) }

// Lookup is the provider called name, or an *UnknownError.
func (r *Registry) Lookup(name string) (Provider, error) {
	if p := r.byName[name]; p != nil {
		return p, nil
	}
	return nil, unknown("provider", name, r.names)
}

// Capturer is the provider called name that can capture. The error is an *UnknownError, also where there
// is such a provider and it only reads files.
func (r *Registry) Capturer(name string) (Capturer, error) {
	return lookupAs[Capturer](r, "provider that captures", name)
}

// Extractor is the provider called name that can extract. The error is an *UnknownError.
func (r *Registry) Extractor(name string) (Extractor, error) {
	return lookupAs[Extractor](r, "provider that extracts", name)
}

// Importer is the format called name and its provider. The error is an *UnknownError.
func (r *Registry) Importer(format string) (Entry, error) {
	var known []string
	for _, e := range r.formats {
		if e.Name == format {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Entry{}, unknown("import format", format, known)
}

// Detect lists the formats that claim a file that starts with head, by content only. Several are an
// ambiguity that the caller must put to the user; none means that no provider knows the file.
func (r *Registry) Detect(head []byte) (found []Entry) {
	for _, e := range r.formats {
		if e.Detect != nil && e.Detect(head) {
			found = append(found, e)
		}
	}
	return found
}

func lookupAs[T Provider](r *Registry, what, name string) (T, error) {
	var zero T
	var known []string
	for _, n := range r.names {
		p, ok := r.byName[n].(T)
		if !ok {
			continue
		}
		if n == name {
			return p, nil
		}
		known = append(known, n)
	}
	return zero, unknown(what, name, known)
}

// UnknownError says that a name is not one of those that are known.
type UnknownError struct {
	What  string // "provider", "import format"
	Name  string
	Near  string // the known name that was probably meant, or ""
	Known []string
}

// Error names what was asked for, the nearest name, and all names.
func (e *UnknownError) Error() string {
	s := fmt.Sprintf("there is no %s called %q", e.What, e.Name)
	if e.Near != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	if len(e.Known) == 0 {
		return s + "; none is known"
	}
	return s + " (known: " + strings.Join(e.Known, ", ") + ")"
}

func unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Near: suggest.Nearest(name, known), Known: known}
}
