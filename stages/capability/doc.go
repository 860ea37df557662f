// Package capability says what each provider can do on this machine: whether its producer is there, whether it can be used, and whether
// that version was ever tried out. The states are kept apart, because what to do about each is another thing.
//
// A place is the caller's PATH, or an environment of the configuration. In each the program is resolved as a stage would resolve it, and
// asked for its version once, bounded in time and output, with a constructed environment. An environment that flameox builds is not asked but
// read: its lock says what is in it, also before it is built.
//
// What is in the project is not started by a look at everything: a repository that was just cloned could put anything under the name of a
// program. It is started when a provider is asked for by name.
//
// What it never does: install, start a workload, decide about a stage. A plan asks for itself.
package capability
