// Package pattern holds regular expressions that are compiled when they are first asked.
//
// A command uses two or three of the program's dozens. Compiling them all as the program starts took a tenth of the
// time of its shortest commands, which internal/archtest keeps from coming back.
package pattern
