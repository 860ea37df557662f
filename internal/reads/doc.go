// Package reads records what an answer was made from outside of the process, so that the answer can stand again without being made again:
// files and directories by what stat says of them, names that were not found, environment variables, and a span of time.
//
// A Log collects while the answer is made. Seal looks at everything in it once more and gives a Record, unless something is so young that its
// stamps cannot vouch for it. Check says later whether anything moved. What a record says is either true or not said: whatever is missing, foreign,
// damaged or doubtful is a record that does not hold.
//
// A record holds names of files and of variables, and no value: of those it has digests with a salt of its own.
package reads
