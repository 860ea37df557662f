package main

import (
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/vfs"
)

// elsewhereCommand is `elsewhere NAME FACT=VALUE ...`: adds to the store what another machine would have measured: every measurement that the store
// has, made again on a machine called NAME that differs from this one in the facts. One of the class is changed where the key has it, too.
func elsewhereCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: elsewhere NAME FACT=VALUE ...")
	}
	records, err := cache.Open(ts.MkAbs(".flameox"), vfs.OS{}, time.Now)
	ts.Check(err)
	defer records.Close()
	var made []*cache.Record
	for _, s := range records.All() {
		rec, err := s.Record()
		ts.Check(err)
		if rec.Nature != "measurement" || rec.Origin != nil {
			continue
		}
		rec.Run, rec.Host.Name, rec.Origin = records.NewRunID(), args[0], &cache.Origin{Host: args[0], Imported: time.Now()}
		for _, fact := range args[1:] {
			name, value, _ := strings.Cut(fact, "=")
			if _, ok := rec.Host.Class[name]; !ok {
				rec.Host.Covariates[name] = value
				continue
			}
			rec.Host.Class[name] = value
			if class := rec.Manifest.Facet(facet.HostClass); class != nil {
				for i := range class.Entries {
					if class.Entries[i].Name == name {
						class.Entries[i].Value = value
					}
				}
			}
		}
		rec.Manifest = facet.New(rec.Manifest.Facets...)
		key := rec.Manifest.Key()
		if key == rec.Key {
			rec.Attempt += 100 // one more of the same
		}
		rec.Key, rec.Action = key, facet.Attempt(key, rec.Generation, rec.Attempt)
		made = append(made, rec)
	}
	if len(made) == 0 {
		ts.Fatalf("the store has no measurement of this machine")
	}
	ts.Check(records.Commit(nil, made, nil))
}
