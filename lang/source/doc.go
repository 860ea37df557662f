// Package source is the language's only way to the outside: files below the project root, directory
// listings, environment variables and git revisions. Everything it reads is recorded by kind and name,
// so a plan can be replayed cheaply: what was not read cannot have changed the plan.
//
// It also looks at text before a parser does. The HCL parser is recursive and trusts its input; a file
// of 10,000 brackets, a 50 MB file or a number with a million digits must be an error with a range, not
// a stack overflow or a hang.
//
// It never writes, never follows a path or a symbolic link out of the root, and never opens what is not a regular file
// below the root, because opening a pipe blocks.
package source
