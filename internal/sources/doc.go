// Package sources decides which files a stage reads: those that its "sources" globs match or,
// where it has none, those that git knows below its working directory.
//
// Globs are relative to the experiment's directory: * and ? within a name, ** for any number of directories, [a-z],
// {a,b}, and !pattern to take files out again, in any order. A glob that matches no file is an error, because a
// misspelt source would otherwise leave a stage "unchanged" for ever. Wildcards never match flameox's own files
// (flameox.hcl, *.flameox.hcl, flameox.lock.hcl) nor anything in .flameox, .git or __pycache__, so editing an experiment does not by itself
// make its measurements stale; a glob without wildcards may name such a file of the experiment.
//
// Symbolic links to files and directories inside the experiment are followed and listed under the link's name. A link that
// leaves the experiment is refused where it would be an input: what lies behind it is not what the repository says.
// A link to nothing is nothing.
//
// A Resolver remembers directories and globs for one plan. It never reads a file's content and never changes anything.
package sources
