package bundle

import (
	"slices"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
)

// With are the runs and all that stands with them, in the order of the journal: the newest results whose content their keys were made
// of, and the evidence that was extracted. That is what lets another store know them again as they are here.
func With(recs *cache.Records, runs []*cache.Summary) []*cache.Summary {
	all := recs.All()
	byRun, makers := make(map[string]*cache.Summary, len(all)), map[digest.Digest]*cache.Summary{}
	for _, s := range all {
		byRun[s.Run] = s
		if !s.Valid() {
			continue
		}
		for _, o := range s.Outputs {
			if o.Role != "stdout" && o.Role != "stderr" {
				makers[o.Digest] = s // the newest
			}
		}
	}
	extracted := map[string][]string{}
	for _, l := range recs.Links() {
		extracted[l.Run] = append(extracted[l.Run], l.Extraction)
	}
	in := map[string]bool{}
	var add func(s *cache.Summary)
	add = func(s *cache.Summary) {
		if s == nil || in[s.Run] {
			return
		}
		in[s.Run] = true
		for _, x := range extracted[s.Run] {
			add(byRun[x])
		}
		rec, err := s.Record()
		if err != nil {
			return // Write says so
		}
		for _, f := range rec.Manifest.Facets {
			for _, e := range f.Entries {
				if d, err := digest.Parse(e.Value); err == nil {
					add(makers[d])
				}
			}
		}
	}
	for _, s := range runs {
		add(s)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *cache.Summary) bool { return !in[s.Run] })
}

// isSensitive says whether any artifact of the run is: then its record says what must not be said, too.
func isSensitive(s *cache.Summary) bool {
	return slices.ContainsFunc(s.Outputs, func(o cache.Output) bool { return o.Sensitivity == cache.Sensitive })
}
