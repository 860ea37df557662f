package evidence

// The rows of what is known of Python programs beside profiles: their tests, their imports, and which of their lines ran.

// Names of the tables of Python.
const (
	TestsTable         = "tests"
	CoverageLinesTable = "coverage_lines"
	CoverageArcsTable  = "coverage_arcs"
	PythonImportsTable = "python_imports"
)

// Test is one phase of a test, or a test of which no report came.
type Test struct {
	Test       string  `col:"test" doc:"the test, as the producer names it" source:"pytest-reportlog: nodeid"`
	Result     string  `col:"result" doc:"what became of the test, the same in all its rows: passed, failed, errored, skipped, xfailed, xpassed, crashed, or unexecuted where no report came" source:"outcome of all phases of the last attempt, wasxfail"`
	Phase      *string `col:"phase,null" doc:"setup, call or teardown; subtest; crash where the process that ran it died; collect where a file of tests could not be read; missing for a test that did not run" source:"when"`
	Attempt    int64   `col:"attempt" doc:"from 0; more where the test was run again because it failed"`
	Outcome    *string `col:"outcome,null" doc:"of the phase: passed, failed, skipped, xfailed, xpassed, rerun; missing for a test that did not run" source:"outcome, wasxfail"`
	DurationNS *int64  `col:"duration_ns,null" unit:"ns" doc:"of the phase; missing where there was none" source:"duration"`
	StartNS    *int64  `col:"start_ns,null" unit:"ns" doc:"from the beginning of the run to the beginning of the phase, where the producer says both" source:"start, flameox.run_started_ns"`
	Worker     *string `col:"worker,null" doc:"the process that ran it: master, or one of pytest-xdist; missing for a test that did not run" source:"worker_id"`
	File       *string `col:"file,null" doc:"of the test, relative to the producer's root folder" source:"location"`
	Line       *int64  `col:"line,null" doc:"of the test, from 1" source:"location"`
	Subtest    *string `col:"subtest,null" doc:"of the phase subtest: its message and arguments" source:"_subtest.context"`
	Message    *string `col:"message,null" doc:"first line of why the phase failed or was skipped, at most 400 bytes" source:"longrepr.reprcrash.message, longrepr, wasxfail"`
}

// PythonImport is one import that Python timed.
type PythonImport struct {
	Ordinal      int64   `col:"ordinal" doc:"in the order in which imports ended, from 0: a module comes behind those that it imports"`
	Module       string  `col:"module" doc:"the module, with its packages"`
	Package      string  `col:"package" doc:"the module's outermost package"`
	Parent       *int64  `col:"parent,null" doc:"ordinal of the import during which this one happened: by that module, or by one that it did not have to load; missing for the program's own"`
	ParentModule *string `col:"parent_module,null" doc:"module of parent"`
	Depth        int64   `col:"depth" doc:"imports that were under way, 0 for the program's own"`
	SelfUS       int64   `col:"self_us" unit:"us" doc:"time of the module itself, without what was imported while it was loaded"`
	CumulativeUS int64   `col:"cumulative_us" unit:"us" doc:"time with everything that was imported while it was loaded; never to be summed over modules"`
}

// CoverageLine is one line that ran in one context.
type CoverageLine struct {
	File    string  `col:"file" doc:"relative to the project root" source:"coverage: measured_files"`
	Line    int64   `col:"line" doc:"from 1" source:"coverage: lines"`
	Context *string `col:"context,null" doc:"what was under way, such as a test; missing where none was recorded" source:"coverage: contexts_by_lineno"`
	Tracer  *string `col:"tracer,null" doc:"plugin that measured the file, where one did" source:"coverage: file_tracer"`
}

// CoverageArc is one step from a line to another that was taken in one context.
type CoverageArc struct {
	File    string  `col:"file" doc:"relative to the project root" source:"coverage: measured_files"`
	From    int64   `col:"line_from" doc:"the line before; negative where the step enters a code object, which begins at that line without the sign" source:"coverage: arcs"`
	To      int64   `col:"line_to" doc:"the line behind; negative where the step leaves a code object, which begins at that line without the sign" source:"coverage: arcs"`
	Context *string `col:"context,null" doc:"what was under way, such as a test; missing where none was recorded"`
	Tracer  *string `col:"tracer,null" doc:"plugin that measured the file, where one did" source:"coverage: file_tracer"`
}
