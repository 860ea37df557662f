// Package gc makes room in the store: it finds the artifacts that nothing needs any more and moves them to a trash from which they can
// be brought back exactly.
//
// What is kept is decided run by run, because a run is what a person knows: a run that is young, pinned, or stands for a stage of a configuration
// keeps all of its artifacts; so does one that cannot be made again, unless that is asked for. A blob goes when no run that is kept
// refers to it. Records never go: they are small, they are the history, and a record without its artifacts is what the planner
// calls lost evidence, so a stage that is asked for again simply runs again.
//
// Nothing is deleted in the same step. A journal that names everything is durable before the first blob moves, so a process that is
// killed in between leaves nothing that restore does not find. Emptying the trash is another command on another day; its journal stays behind without
// the blobs, because it is how fsck knows evidence that was given up from evidence that was lost.
//
// What was built of the store (environments, tools) is no evidence: a folder that no kept run was made with, and that was left alone for as long
// as runs are kept, is deleted at once. It is made again when it is needed.
//
// The caller holds the workspace's apply lock for everything that moves: between the moment a blob gets its name and the commit of the
// record that needs it, it looks like rubbish.
//
// The formats are described in docs/formats/trash-and-pins.md.
package gc
