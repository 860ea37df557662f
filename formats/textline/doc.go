// Package textline reads the lines of text files that people and shells have passed on: in UTF-8 or UTF-16, with a byte order mark or
// without, with the line ends of any system.
//
// It exists because profiles in text go through redirects, editors and mail, and a shell that writes UTF-16 must not turn a profile into an
// empty success. UTF-16 is known by its byte order mark only: without one the text has bytes of zero, which no format of lines has, and the
// format refuses them.
//
// Lines are handed on one at a time from one buffer, so a file of any size takes the memory of its longest line, which has a limit.
//
// What it never does: guess an encoding, or repair text. Bytes that are no UTF-8 are passed on as they are.
package textline
