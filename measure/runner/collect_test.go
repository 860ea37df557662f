package runner_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flameox/flameox/measure/document"
)

// collecting is a test's suite of one case that needs no harness installed: a program that says what Google Benchmark says.
func collecting(t *testing.T) *work {
	w := newWork(t)
	w.write("build/bench", `#!/bin/sh
for a in "$@"; do
  case $a in
  --benchmark_list_tests=true) echo A; exit ;;
  --benchmark_out=*) out=${a#--benchmark_out=} ;;
  esac
done
echo '{"context":{},"benchmarks":[{"name":"A","run_name":"A","run_type":"iteration","iterations":1,"real_time":1,"cpu_time":1,"time_unit":"ns"},{"name":"A","run_name":"A","run_type":"iteration","iterations":1,"real_time":2,"cpu_time":1,"time_unit":"ns"}]}' > "$out"
`)
	w.opts.AllowCollectors = true
	w.opts.Root = w.dir
	return w
}

func TestACollectorsSummaryIsMatchedAndAllOfItIsKept(t *testing.T) {
	w := collecting(t)
	w.write("collect", "#!/bin/sh\ntest \"$ONE\" = 1 && test \"$PWD\" = "+w.path("build")+" && echo '{\"summary\":{\"numpy\":\"2.0\"},\"all\":{\"pid\":'$$'}}'\n")
	d := w.run(w.order("google-benchmark", "bench", `{"environment_variables":{"ONE":"1"},"collectors":{"np":{"command":["sh","-c","exec {root}/collect"]}}}`))["A wall-time"]
	entry, _ := document.At(d, "coordinates", "environment", "system", "np").(map[string]any)
	if sum, _ := entry["sha256"].(string); entry["numpy"] != "2.0" || len(entry) != 2 || len(sum) != 64 || warnings(d) != "null" {
		t.Fatalf("%s, warnings %s", text(entry), warnings(d))
	}
	list, _ := document.At(d, "provenance", "artifacts").([]any)
	for _, a := range list {
		m := a.(map[string]any)
		if m["kind"] == "collector" {
			b, err := os.ReadFile(w.path("out/" + m["uri"].(string)))
			if err != nil || !strings.Contains(string(b), `"pid"`) || m["sha256"] != entry["sha256"] {
				t.Errorf("%s, %v: %v", b, err, m)
			}
			return
		}
	}
	t.Error("no artifact of the collector")
}

func TestACollectorThatFailsAddsNothingAndIsSaid(t *testing.T) {
	for name, script := range map[string]string{
		"it fails":             "exit 3",
		"no object":            "echo '[]'",
		"two objects":          "echo '{}{}'",
		"a name twice":         `echo '{"a":1,"a":2}'`,
		"no UTF-8":             `printf '{"a":"\377"}'`,
		"nothing":              "true",
		"a summary of no kind": `echo '{"summary":1}'`,
		"too long":             "sleep 712345",
	} {
		t.Run(name, func(t *testing.T) {
			w := collecting(t)
			w.write("collect", "#!/bin/sh\n"+script+"\n")
			d := w.run(w.order("google-benchmark", "bench", `{"collectors":{"np":{"command":["{root}/collect"],"timeout_s":1}}}`))["A wall-time"]
			if document.At(d, "coordinates", "environment", "system", "np") != nil || warnings(d) != `["collector-failed"]` || outcome(d) != "success" {
				t.Errorf("%s, warnings %s", outcome(d), warnings(d))
			}
			if why, _ := document.At(d, "provenance", "info", "collectors", "np").(string); why == "" {
				t.Error("nothing says why")
			}
		})
	}
	if p := processes(t, "712345"); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
	w := collecting(t)
	d := w.run(w.order("google-benchmark", "bench", `{"collectors":{"np":{"command":["no-such-program"]}}}`))["A wall-time"]
	if warnings(d) != `["collector-failed"]` {
		t.Errorf("a program that is not there: %s", warnings(d))
	}
}

func TestWhatIsDeclaredIsVerifiedBeforeAnythingRuns(t *testing.T) {
	const prints = `#!/bin/sh
echo '{"summary":{"blas":{"name":"openblas","threads":1},"numpy":"2.0"}}'
`
	for name, c := range map[string]struct{ built, collector, refusal, warnings string }{
		"as declared":           {`{"blas":{"name":"openblas"}}`, `"verify":"how_built"`, "", "null"},
		"text is never checked": {`"blas: mkl"`, `"verify":"how_built"`, "", "null"},
		"another":               {`{"blas":{"name":"mkl"}}`, `"verify":"how_built"`, `blas.name is "mkl", and the collector found "openblas"`, ""},
		"missing":               {`{"scipy":"1"}`, `"verify":"how_built"`, `scipy is "1", and the collector found nothing`, ""},
		"another, as a warning": {`{"blas":{"name":"mkl"}}`, `"verify":"how_built","on_fail":"warn"`, "", `["collector-mismatch"]`},
		"expected":              {`null`, `"expect":{"numpy":"2.0","blas":{"threads":1.0}}`, "", "null"},
		"not expected":          {`null`, `"expect":{"blas":{"threads":"1"}}`, `blas.threads is "1", and the collector found 1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := collecting(t)
			w.write("collect", prints)
			order := w.order("google-benchmark", "bench", `{"collectors":{"np":{"command":["{root}/collect"],`+c.collector+`}}}`)
			order["target"].(map[string]any)["how_built"] = w.object(`{"x":` + c.built + `}`)["x"]
			if c.refusal != "" {
				if got := w.refused(order); !strings.Contains(got, c.refusal) {
					t.Errorf("%s", got)
				}
				return
			}
			if d := w.run(order)["A wall-time"]; warnings(d) != c.warnings {
				t.Errorf("the warnings are %s", warnings(d))
			}
		})
	}
	w := collecting(t)
	order := w.order("google-benchmark", "bench", `{"collectors":{"np":{"command":["false"],"verify":"how_built"}}}`)
	if got := w.refused(order); !strings.Contains(got, "what it should verify is not known") {
		t.Error(got)
	}
	order = w.order("google-benchmark", "bench", `{"collectors":{"np":{"command":["false"],"verify":"how_built","on_fail":"warn"}}}`)
	if d := w.run(order)["A wall-time"]; warnings(d) != `["collector-failed","collector-mismatch"]` {
		t.Errorf("the warnings are %s", warnings(d))
	}
}

func TestDeclaredFactsAreMatchedAndBrokenOnesAreSaid(t *testing.T) {
	w := collecting(t)
	w.write("src/.benchx/setup.json", `{"arrow":"conda"}`)
	d := w.run(w.order("google-benchmark", "bench", `{}`))["A wall-time"]
	if v := text(document.At(d, "coordinates", "environment", "system", "setup")); v != `{"arrow":"conda"}` {
		t.Errorf("setup is %s", v)
	}
	w.write("src/.benchx/setup.json", `{not json`)
	d = w.run(w.order("google-benchmark", "bench", `{"run_key":"r2"}`))["A wall-time"]
	if document.At(d, "coordinates", "environment", "system", "setup") != nil || !strings.Contains(warnings(d), "collector-failed") {
		t.Errorf("warnings %s", warnings(d))
	}
}
