package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/providers"
)

// The most files of an output folder that are looked at for an inventory, and the most of those left out that are named one by one.
const (
	mostListed  = 200_000
	mostLeftOut = 100
)

// The codes of what an inventory leaves out, beside those of the boundary.
const (
	OverFiles   = "artifact_count_limit"
	OverBytes   = "artifact_bytes_limit"
	MoreLeftOut = "left_out_cut"
)

// PutInventory takes the declared outputs from the out folder as far as the inventory's bounds go, in the order of paths, so that equal folders
// leave equal runs. What it leaves out is returned and makes nothing invalid.
func PutInventory(t *graph.Task, rec *cache.Record, declared []providers.DeclaredOutput, bounds providers.Inventory) (leftOut []evidence.Limitation, err error) {
	more := 0
	skip := func(code, text string) {
		if len(leftOut) == mostLeftOut-1 {
			more++
			return
		}
		leftOut = append(leftOut, evidence.Limitation{Code: code, Text: text})
	}
	var patterns []broker.Pattern
	var of []providers.DeclaredOutput
	for _, d := range declared {
		if d.Stream != "" {
			relabel(rec, d)
			continue
		}
		patterns, of = append(patterns, broker.Pattern{Glob: d.Path}), append(of, d)
	}
	files, refusals := broker.Snapshot(t.Out(), patterns, broker.Limits{Files: mostListed, FileBytes: bounds.FileBytes})
	// They come in the order in which the file system lists them, and what is said is part of what is kept.
	slices.SortStableFunc(refusals, func(a, b broker.Refusal) int { return strings.Compare(a.Path, b.Path) })
	for i := range refusals {
		text := refusals[i].Error()
		if refusals[i].Code == broker.RefusedTooMany {
			text = "the outputs were not listed to their end, so other files might be taken another time: " + text
		}
		skip(string(refusals[i].Code), text)
	}
	taken := map[string]bool{pathsName: true}
	for _, o := range rec.Outputs {
		taken[o.Name] = true
	}
	count, bytes := 0, int64(0)
	for i := range files {
		f := &files[i]
		switch {
		case count == bounds.Files:
			skip(OverFiles, fmt.Sprintf("%s is left out: a run has at most %d such files", f.Path, bounds.Files))
			continue
		case bounds.Bytes > 0 && f.Size > bounds.Bytes-bytes:
			skip(OverBytes, fmt.Sprintf("%s with %d bytes is left out: with it the files would pass their bound of %d bytes", f.Path, f.Size, bounds.Bytes))
			continue
		}
		sum, size, err := PutFile(t, f)
		var refusal *broker.Refusal
		if errors.As(err, &refusal) {
			skip(string(refusal.Code), refusal.Error())
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("keep output %s: %w", f.Path, err)
		}
		count, bytes = count+1, bytes+size
		d := of[f.Pattern]
		rec.Outputs = append(rec.Outputs, cache.Output{
			Name: unused(taken, f.Path), Role: d.Role, MediaType: d.MediaType, Digest: sum, Size: size, Sensitivity: level(d),
		})
	}
	if more > 0 {
		leftOut = append(leftOut, evidence.Limitation{Code: MoreLeftOut, Text: fmt.Sprintf("%d more files are left out", more)})
	}
	return leftOut, nil
}
