// Package v8profile reads the profiles of V8, which Node, Chrome and every other of its embedders write: .cpuprofile, the type Profiler.Profile of
// the Chrome DevTools Protocol, and .heapprofile, its type HeapProfiler.SamplingHeapProfile.
//
// Of those types it relies on what the protocol documents: nodes with id, callFrame, hitCount, children and positionTicks; samples, timeDeltas,
// startTime and endTime in microseconds; head with callFrame, selfSize, id and children; samples with size and nodeId. Lines and columns are the
// protocol's, from 0; those of positionTicks are from 1. What newer versions add is passed over.
//
// A tree that is none is refused: an id that stands twice, a child that is unknown or has two parents, a cycle, nodes apart from the root, figures below
// zero, a CPU sample of a node that is not there. So whoever walks a Profile need not check anything.
//
// Neither reading nor walking recurses, so a chain of a hundred thousand calls costs memory in proportion and no stack. The forms that
// came before (the head of Chrome until 2016, with timestamps) are recognized and refused.
//
// What it never does: start Node, read a source map, or sum.
package v8profile
