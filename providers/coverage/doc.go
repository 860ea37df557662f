// Package coverage is the provider for coverage.py: which lines of a Python program ran, and which steps from line to line.
//
// A data file is coverage's own SQLite database, and is read by coverage's own CoverageData: reader.py, which is embedded here, runs in an interpreter that has
// coverage and prints what the file holds, and this package bounds and stores it. The engine starts it (providers.Reader). A capture is read by the version that made it; an
// import by the one that its interpreter has, where coverage itself decides whether it knows the file's schema. Before coverage sees a file it is looked at: one that is
// damaged, or was never finished, would otherwise be read as an empty one.
//
// What ran is a fact; how often, and what did not run, is not in the file. With branch = true, the default, steps (arcs) are kept: executed lines are
// their positive ends, as coverage has it, and negative numbers are the entry and the exit of the code object that begins at that line. Each line and each arc is one row
// for each context in which it ran; contexts are recorded where dynamic_context says so, such as the function of a test.
//
// With parallel = true the processes of Python that the program forks or starts are recorded too. Each leaves a file of its own, and all are combined by coverage before
// they are read: a file's lines and arcs are those of any of them. What a process that was killed never finished is left out, and the evidence is partial.
// Lines and steps cannot be combined with each other, and coverage refuses to.
//
// Rows are of files of the project: relative to its root, also where coverage wrote relative names, which are so to where the capture ran. Other files are counted and left out.
//
// What it never does: read the database itself, analyze a source file, compute a percentage, or decide what should have run.
package coverage
