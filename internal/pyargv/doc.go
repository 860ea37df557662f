// Package pyargv takes the command of a Python program apart: the interpreter, its flags, and what it runs.
//
// Providers that put themselves between an interpreter and its program (coverage run, -X importtime, a test runner) need to know where the one ends
// and the other begins, and what cannot be kept. Nothing is looked up and no file is read: a command that does not name Python itself is an error.
package pyargv
