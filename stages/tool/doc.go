// Package tool is the stage kind of managed binaries: programs that flameox fetches, checks and keeps.
//
// What a tool is, the configuration says: the digest of what is downloaded and the digest of the executable in it. Both are checked in, so
// whoever changes a file on disk, and whatever was noted beside it, cannot make a program trusted. What is on disk is hashed from its
// bytes before every use; its size and times are believed by nobody, and there is no receipt.
//
// The download is a blob of the store under its own digest. The executable is taken out of it again whenever what lies in its place is
// something else. A download that was cut or killed goes on where it ended; a part is no artifact and is never run.
//
// The package takes one file out of an archive. What needs more files beside it is an environment or a build.
package tool
