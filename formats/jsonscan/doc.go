// Package jsonscan reads JSON documents that producers leave: strictly, in one pass, without reflection.
//
// It exists because the standard library's reader keeps the last of two members of one name, matches names whatever their case, and is too
// slow for profiles of many megabytes. What is not JSON (RFC 8259) is an error that says where: NaN and Infinity, which
// some producers print, bytes behind the document, a document that breaks off, and a name that stands twice in one object. The depth of what is passed
// over costs no stack.
//
// A Reader is told what to expect, value by value, and keeps its first error: after that every call returns at once, so callers look at Err where a
// loop could go on. Text that is not UTF-8 is passed on as it is.
//
// What it never does: hold more than the caller's bytes and the names of the objects that are open, or know a format.
package jsonscan
