// Package profile is the aggregation that every sampling profiler shares: it is fed call stacks with
// weights and turns them into the tables frames, frame_values, call_edges and stacks.
//
// It exists once because the rules are easy to get subtly different: a frame that recurses counts once
// per sample in its inclusive weight, an edge counts once per sample, a budget keeps the heaviest rows and says
// what it dropped by number and by weight, and the same input gives the same rows in the same
// order with the same identities, whatever order its samples came in.
//
// Stacks are held as a tree of shared prefixes, and all sums are exact over everything that was
// added: a budget cuts rows that are written, never what was summed into the rows that stay. Where the tree itself
// would not fit the memory budget, Add refuses, because a cut before the end of the input cannot know what is heaviest.
//
// Formats let few bytes stand for many frames and much text, so the work has limits too (LimitError), and what is done once for each prefix
// is never done for each frame of each stack.
//
// A row that is absent stands for a weight to which no sample contributed.
//
// Identities are SHA-256 over length-prefixed text (eight bytes big-endian length, then the bytes):
//
//	frame  "flameox frame 1", language, function, module, file, line, column, address, build id,
//	       inlined, symbolization; numbers in decimal, booleans as true or false, missing values empty
//	stack  "flameox stack 1", then for each frame, root to leaf, its identity as 64 hexadecimal
//	       digits, then an empty text, then each label's key and value in key order
//
// It never parses a format, guesses a unit, or reads a file.
package profile
