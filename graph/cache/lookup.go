package cache

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/flameox/flameox/internal/digest"
)

func newest(list []*entry) []*Summary {
	if len(list) == 0 {
		return nil
	}
	out := make([]*Summary, len(list))
	for i, e := range list {
		out[i] = e.newest
	}
	return out
}

// Lookup is the newest revision of every run under key, oldest run first. The journal is the order, never a clock.
func (r *Records) Lookup(key digest.Digest) []*Summary {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return newest(r.byKey[key])
}

// At is the newest revision of every run that had the address, oldest run first.
func (r *Records) At(address string) []*Summary {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return newest(r.byAddr[address])
}

// All is the newest revision of every run, oldest run first.
func (r *Records) All() []*Summary {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return newest(r.order)
}

// Revisions is every revision of a run, oldest first; none for a run that is not there.
func (r *Records) Revisions(run string) []*Summary {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e := r.byRun[run]
	if e == nil {
		return nil
	}
	if e.newest.Revision == 1 {
		return []*Summary{e.newest}
	}
	var out []*Summary
	for _, s := range r.all {
		if s.Run == run {
			out = append(out, s)
		}
	}
	return out
}

// Links is the newest link of each run and provider.
func (r *Records) Links() []Link {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.linked)
}

// Generation is the newest generation among the runs under key; 0 where there is none.
func (r *Records) Generation(key digest.Digest) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	g := 0
	for _, e := range r.byKey[key] {
		g = max(g, e.newest.Generation)
	}
	return g
}

// ErrNoRun says that no run has the name.
var ErrNoRun = errors.New("there is no such run; `flameox runs` lists them")

// AmbiguousError says that several runs begin with a prefix.
type AmbiguousError struct {
	Prefix  string
	Matches []string // in the order of names, all of them
}

// Error names the first matches.
func (e *AmbiguousError) Error() string {
	const shown = 5
	list := strings.Join(e.Matches[:min(shown, len(e.Matches))], ", ")
	if n := len(e.Matches) - shown; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%d runs begin with %s: %s; write more of the name", len(e.Matches), e.Prefix, list)
}

// Run is the newest revision of the one run whose name begins with prefix, in either case. Errors are *AmbiguousError or wrap ErrNoRun.
func (r *Records) Run(prefix string) (*Summary, error) {
	p := strings.ToUpper(prefix)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byRun[p]; e != nil {
		return e.newest, nil
	}
	if r.sorted == nil {
		for _, e := range r.order {
			r.sorted = append(r.sorted, e.newest.Run)
		}
		sort.Strings(r.sorted)
	}
	i := sort.SearchStrings(r.sorted, p)
	j := i
	for j < len(r.sorted) && strings.HasPrefix(r.sorted[j], p) {
		j++
	}
	switch {
	case p == "" || j == i:
		return nil, fmt.Errorf("run %q: %w", prefix, ErrNoRun)
	case j > i+1:
		return nil, &AmbiguousError{Prefix: prefix, Matches: slices.Clone(r.sorted[i:j])}
	}
	return r.byRun[r.sorted[i]].newest, nil
}

// NewRunID is a name for a new run: 26 characters that sort after every name this process has seen or made, whatever the clock says.
func (r *Records) NewRunID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID = r.lastID.next(r.clock())
	return r.lastID.String()
}
