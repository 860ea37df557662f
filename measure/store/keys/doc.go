// Package keys remembers 16 bytes about each of many names, in files, so that whether one is known is asked without reading what it was made from.
//
// Names and values are digests. What is added at once is a run: a file of pairs in the order of names, which is never changed. Runs of about one size are merged into
// one as they become many, so that there are about as many as the number of names has digits. The manifest names the runs that count, and the state of what they
// were made from; where that state is another, the whole index is worth nothing and is made again.
package keys
