// Package broker is the only place in flameox that starts a process.
//
// Measuring a program and answering for what it leaves behind are one job here, because both need the whole process
// tree. Every command runs from an argument array, never through a shell, in a constructed environment, in a session of its own,
// with its streams going straight into spool files: nothing of ours touches a byte while it runs. Limits on time,
// output, memory and disk are kept by polling from one goroutine per run. When the root has exited, whatever it left behind is ended
// and reaped, and the result says what that was.
//
// Why a session: the kernel hands a process's orphans to the nearest subreaper, which is this process, and a process
// can leave its session but never enter another. So a child of ours in a session that is not ours descends from a command
// we started, however often it forked and whatever it did to its environment.
//
// Why a supervisor: kill -9 lets nobody clean up. One small process, the same binary started again, blocks on a pipe that closes
// when this process dies by any means, and then ends everything that carries this process's mark. What even that
// misses (both killed at once) the next command finds by the mark: Leftovers.
//
// A program that uses the package calls MaybeSupervise first thing in main; tests call it in TestMain. It starts no
// children with a session of their own by other means: they would be taken for orphans of a command.
//
// The package also resolves executables to what really runs (Resolve), constructs environments (Environment), reads
// outputs without following links (Snapshot), and holds the registry of runtime-resource metrics (Registry).
//
// It never decides what to run, never retries, never keeps results, and never reads the arguments, environment (except for its own
// mark) or open files of a process. It needs Linux.
package broker
