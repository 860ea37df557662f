// Package syntax parses a configuration file in pieces.
//
// The library keeps every token of a text in one list, of 136 bytes each, before its parser begins, and whoever looks at a text before the
// parser has to make that list a second time. For a file of a thousand blocks both lists together are 25 MB, and most of the
// time goes into growing them. Pieces of half a kilobyte are lexed once, in memory that a core's caches hold, and on several cores.
//
// A file is cut where a line is a closing brace and nothing else. That such a line ends a block is a guess: it may stand in a
// heredoc or a comment. The guess is proved by the parser: the lexer reads from left to right, so a piece that is a
// whole body by itself, without any diagnostic, has the same tokens in the whole file. A heredoc, a
// comment, a text or a bracket that a cut went through is not closed, which is an error of the piece. Whatever is wrong with any piece, the file is parsed
// again as a whole, and only that counts, so diagnostics are always the library's own, of the whole file.
//
// A cache of parsed files was measured and not built: see ADR 13.
package syntax
