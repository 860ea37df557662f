package runner_test

import (
	"os"
	"strings"
	"testing"
)

func TestAnOrderThatCannotBeAppliedExactlyIsRefusedByTheFieldThatIsToBlame(t *testing.T) {
	w := newWork(t)
	w.write("build/bench", "#!/bin/sh\ntouch "+w.path("ran")+"\n")
	suite := func(more string) string {
		return `{"suites":[{"adapter":"google-benchmark","suite":"bench"` + more + `}]}`
	}
	for name, c := range map[string]struct{ change, want string }{
		"a field that there is not":            {`{"surprise":1}`, "the work order is invalid"},
		"a draft":                              {`{"state":"draft","plan":null}`, "state: the order is a draft"},
		"resolved without a plan":              {`{"plan":null}`, "plan"},
		"a draft with a plan":                  {`{"state":"draft"}`, "invalid"},
		"another version":                      {`{"schema_version":"benchx/work-order/9.0.0"}`, "is not known"},
		"a quantity of others":                 {`{"quantities":["peak-rss"]}`, "does not measure peak-rss"},
		"one of two quantities":                {`{"quantities":["wall-time","peak-rss"]}`, "does not measure peak-rss"},
		"an adapter that there is not":         {`{"suites":[{"adapter":"criterion","suite":"x"}]}`, `there is no adapter "criterion"`},
		"two suites":                           {`{"suites":[{"adapter":"google-benchmark","suite":"a"},{"adapter":"google-benchmark","suite":"b"}]}`, "2 suites"},
		"include":                              {suite(`,"include":["x"]`), "suites.include: this is deferred"},
		"exclude":                              {suite(`,"exclude":["x"]`), "suites.exclude: this is deferred"},
		"parameters of a suite":                {suite(`,"parameters":{}`), "suites.parameters: this is deferred"},
		"filter and include":                   {suite(`,"filter":"x","include":["x"]`), "invalid"},
		"an artifact":                          {`{"target":{"kind":"artifact","uri":"https://example.org/a","sha256":"` + strings.Repeat("a", 64) + `","source":{"uri":"https://example.org","type":"git"},"revision":"1"}}`, "deferred"},
		"a working tree":                       {`{"target":{"kind":"working_tree","path":"/tmp","source":{"uri":"https://example.org","type":"git"}}}`, "target.kind"},
		"a relative path":                      {`{"target":{"kind":"build","path":"build","source":{"uri":"https://example.org","type":"git"}}}`, "/target/path"},
		"a policy":                             {`{"environment_policy":{"name":"p","version":1}}`, "environment_policy: this part of a work order is deferred"},
		"a build":                              {`{"build":{"type":"Release"}}`, "build: this part of a work order is deferred"},
		"components":                           {`{"components":[]}`, "components: this part of a work order is deferred"},
		"a schedule":                           {`{"schedule":{"kind":"random"}}`, "schedule: this part of a work order is deferred"},
		"a benchmark elsewhere":                {`{"benchmark":{"source":{"uri":"https://example.org","type":"git"},"revision":"1"}}`, "benchmark: "},
		"parameters":                           {`{"workload_parameters":{"n":1}}`, "workload_parameters: google-benchmark takes no parameters"},
		"a name that is both":                  {`{"workload_parameters":{"n":1},"environment_variables":{"n":"1"}}`, "n is an environment variable of the order too"},
		"levels of others":                     {`{"precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"process","n":1}]}}}`, `no level of repetition called "process"`},
		"a counted warm-up":                    {`{"precision":{"repetitions":1,"warmup":{"mode":"count","n_warmup":1}}}`, "no warm-up by count"},
		"a precision that there is not":        {`{"precision":{"repetitions":1,"gc":true}}`, "gc"},
		"a fixed calibration without a number": {`{"precision":{"repetitions":1,"calibration":{"mode":"fixed"}}}`, "n_iterations"},
		"collectors":                           {`{"collectors":{"np":{"command":["touch","` + w.path("ran") + `"]}}}`, "--allow-collectors"},
		"a collector of a name that is taken":  {`{"collectors":{"kernel":{"command":["true"]}}}`, "the facts called kernel are the runner's own"},
		"no target":                            {`{"target":{"kind":"build","path":"/no/such/place","source":{"uri":"https://example.org","type":"git"}}}`, "is not there"},
		"no checkout":                          {`{"target":{"kind":"build","path":"` + w.path("build") + `","source":{"uri":"https://example.org","type":"git"}}}`, "does not say which checkout"},
		"a checkout without git":               {`{"target":{"kind":"build","path":"` + w.path("build") + `","source_dir":"` + w.path("build") + `","source":{"uri":"https://example.org","type":"git"}}}`, "in no git repository"},
		"a suite that there is not":            {`{"suites":[{"adapter":"google-benchmark","suite":"none"}]}`, "there is no executable none"},
	} {
		t.Run(name, func(t *testing.T) {
			v := *w
			v.t = t
			if got := v.refused(v.order("google-benchmark", "bench", c.change)); !strings.Contains(got, c.want) {
				t.Errorf("the refusal is\n%s\nwhich does not say %q", got, c.want)
			}
		})
	}
	if _, err := os.Stat(w.path("ran")); err == nil {
		t.Error("something ran")
	}
}

func TestARepositoryWithoutACommitIsRefused(t *testing.T) {
	w := newWork(t)
	w.write("build/bench", "#!/bin/sh\n")
	if err := os.RemoveAll(w.path("src/.git")); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q")
	if got := w.refused(w.order("google-benchmark", "bench", `{}`)); !strings.Contains(got, "nothing is committed") {
		t.Error(got)
	}
}

func TestAPlanWithoutCasesIsRefusedByTheFilterAndWhatTheHarnessSays(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	for filter, want := range map[string]string{"^zzz$": `"^zzz$"`, "[": "Could not compile benchmark re"} {
		if got := w.refused(w.filtered("google-benchmark", "bench", filter, `{}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", filter, got)
		}
	}
	// A filter that begins with a minus is the harness's own way to say what not.
	w.run(w.filtered("google-benchmark", "bench", "-Sum|Hangs|Aborts", `{}`))
}

func TestAListingThatFailsOrTakesTooLongIsRefusedAndEnded(t *testing.T) {
	w := newWork(t)
	w.write("build/bench", "#!/bin/sh\necho no such GPU >&2\nexit 4\n")
	if got := w.refused(w.order("google-benchmark", "bench", `{}`)); !strings.Contains(got, "exited with 4: no such GPU") {
		t.Error(got)
	}
	w.write("build/bench", "#!/bin/sh\nsleep 912345\n")
	if got := w.refused(w.order("google-benchmark", "bench", `{"timeouts":{"case_s":1,"order_s":0.5}}`)); !strings.Contains(got, "timeouts.order_s") {
		t.Error(got)
	}
	if p := processes(t, "912345"); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
}

func TestAnOldLibraryCannotBeAskedForAFixedNumberOfIterations(t *testing.T) {
	w := newWork(t)
	// The library before 1.8 refuses the form, as this does; that it does is seen with the real one where it is here.
	w.write("build/bench", "#!/bin/sh\nfor a in \"$@\"; do case $a in --benchmark_min_time=*x) echo 'error: unrecognized command-line flag' >&2; exit 1;; esac; done\necho A\n")
	order := w.order("google-benchmark", "bench", `{"precision":{"repetitions":1,"calibration":{"mode":"fixed","n_iterations":512}}}`)
	if got := w.refused(order); !strings.Contains(got, "before 1.8") {
		t.Error(got)
	}
}
