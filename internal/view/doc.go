// Package view turns what a command found out into text. Operating and rendering are apart: a command fills a
// model, which holds data only, and the model writes itself; nothing here opens a store, asks for the time or decides what is true.
//
// The looks are the same everywhere: the answer first, one line per thing, the reason beside it, the next step when there
// is one. Colour is never the only carrier of a meaning and every symbol has an ASCII form. Lines fit the width: text wraps
// under itself, paths lose their middle. Without a terminal there is no width and nothing is cut, so that output can be searched.
//
// Text that comes from outside (paths, messages, the last line of a program's error output) cannot move the cursor or change
// colours: escape sequences are removed and control characters are written out.
package view
