// Package callgraph reads a profile back from the tables frames, frame_values, call_edges and stacks of one extraction, and answers what
// people ask of one: which frames are heavy, who calls a frame, whom it calls, in which stacks it stands, and how the stacks look as a tree.
//
// It reads the parts of an extraction, not the published view: an answer belongs to one run, is there as soon as the run is, and
// needs no SQL. Only the tables that a question needs are read.
//
// Weights are the rows' own. A recursive frame has been counted once by whoever wrote the rows; nothing here adds inclusive weights of several
// frames, because they overlap. What a budget left out of the rows is a limitation of the run, and Total is where a caller can see its size.
package callgraph
