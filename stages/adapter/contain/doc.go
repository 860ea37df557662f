// Package contain starts a program that is not trusted, in a process of its own that can read what it needs and write one folder.
//
// It is a hidden command of the flameox binary: the broker starts the binary, which takes rights away from itself and then becomes the program. So
// whatever the program does, it does without them, and so do its children. Taken away are the file system but for the named paths and the
// system's programs and libraries, TCP, signals to and abstract sockets of others, as far as the kernel's Landlock goes, the network as a whole where the
// process may leave its namespace, and by resource limits files, their sizes, CPU time and core dumps. What was taken away is written down before
// the program begins, because the record of a run says it.
//
// What it never does: trust the program less or more for what it is called, or run it uncontained where the kernel cannot contain it. Then it
// refuses, unless it was told that as much as there is will do.
package contain
