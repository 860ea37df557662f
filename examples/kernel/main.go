// Command kernel compares kernels in float32 with references in float64 and says so in a kernel validation document, which
// `flameox register` appends to the run that left it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
)

type document struct {
	Schema    string           `json:"schema_version"`
	Producer  string           `json:"producer"`
	Version   string           `json:"producer_version"`
	Reference map[string]any   `json:"reference"`
	Status    string           `json:"status"`
	Complete  bool             `json:"coverage_complete"`
	Cases     []map[string]any `json:"cases"`
}

func main() {
	out := flag.String("o", "", "where the document goes")
	quick := flag.Bool("quick", false, "test the softmax that leaves the maximum out")
	n := flag.Int("n", 4096, "elements of a case")
	flag.Parse()
	kernel := softmax
	if *quick {
		kernel = quickSoftmax
	}
	doc := document{
		Schema: "flameox.kernel-validation.v2", Producer: "example.com/kernel", Version: "1", Complete: true,
		Reference: map[string]any{"name": "float64", "version": nil, "identity": "the same loops in float64, in this program"},
	}
	for _, scale := range []float32{1, 200} {
		x := random(*n, 7, scale)
		doc.add(compare(fmt.Sprintf("softmax-%d-%g", *n, scale), map[string]any{"n": *n, "scale": scale}, 7, kernel(x), referenceSoftmax(x), 1e-6))
	}
	x, y := whole(*n), whole(*n)
	doc.add(compare(fmt.Sprintf("add-%d", *n), map[string]any{"n": *n}, nil, add(x, y), referenceAdd(x, y), 0))
	doc.add(halves(*n))
	b, err := json.MarshalIndent(doc, "", " ")
	if err == nil {
		err = os.WriteFile(*out, append(b, '\n'), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernel:", err)
		os.Exit(1)
	}
	fmt.Println(doc.Status)
}

// add appends a case and computes the document's status again.
func (d *document) add(c map[string]any) {
	d.Cases = append(d.Cases, c)
	var all []string
	for _, c := range d.Cases {
		all = append(all, c["status"].(string))
	}
	d.Status = together(all)
}

// together is the status of what consists of parts.
func together(parts []string) string {
	count := map[string]int{}
	for _, p := range parts {
		count[p]++
	}
	switch {
	case count["fail"] > 0:
		return "fail"
	case count["pass"] == len(parts):
		return "pass"
	case count["unsupported"] == len(parts):
		return "unsupported"
	}
	return "inconclusive"
}

func random(n int, seed uint64, scale float32) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * scale
	}
	return x
}

func whole(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i % 1000)
	}
	return x
}

// compare measures how far got is from want and judges it by the largest error and, where everything agrees, by exactness.
func compare(id string, dimensions map[string]any, seed any, got []float32, want []float64, tolerance float64) map[string]any {
	worst, at, mse, peak := 0.0, 0, 0.0, 0.0
	for i := range got {
		e := math.Abs(float64(got[i]) - want[i])
		if e > worst {
			worst, at = e, i
		}
		mse += e * e / float64(len(got))
		peak = max(peak, math.Abs(want[i]))
	}
	verdict := map[bool]string{true: "pass", false: "fail"}
	metric := func(name, comparator string, value any, threshold float64, ok bool, unit string) map[string]any {
		return map[string]any{"name": name, "value": value, "comparator": comparator, "threshold": threshold, "unit": unit, "status": verdict[ok]}
	}
	finite := func(v float64) any { return map[string]any{"kind": "finite", "value": v} }
	metrics := []map[string]any{
		metric("max_abs_error", "<=", finite(worst), tolerance, worst <= tolerance, "1"),
		metric("mse", "<=", finite(mse), tolerance*tolerance, mse <= tolerance*tolerance, "1"),
	}
	decibels, value := math.Inf(1), any(map[string]any{"kind": "positive_infinity", "reason": "zero_mse_exact_agreement"})
	if mse > 0 {
		decibels = 10 * math.Log10(peak*peak/mse)
		value = finite(decibels)
	}
	ratio := metric("psnr", ">=", value, 60, decibels >= 60, "dB")
	ratio["profile"] = map[string]any{
		"identity_quality": "exact", "data_range": peak, "log_base": 10, "reduction": "mean_squared_error", "zero_mse_convention": "positive_infinity",
	}
	metrics = append(metrics, ratio)
	var all []string
	for _, m := range metrics {
		all = append(all, m["status"].(string))
	}
	output := map[string]any{"name": "y", "dtype": "float32", "shape": []int{len(got)}, "status": together(all), "metrics": metrics}
	if output["status"] == "fail" {
		output["representative_failures"] = []map[string]any{{
			"coordinates": []int{at}, "expected": want[at], "actual": got[at], "absolute_error": worst,
		}}
	}
	return map[string]any{
		"case_id": id, "dimensions": dimensions, "seed": seed, "device": "cpu", "status": output["status"],
		"inputs": []map[string]any{{"dtype": "float32", "shape": []int{len(got)}, "role": "x"}}, "outputs": []map[string]any{output},
	}
}

// halves is what cannot be compared here: Go has no float16.
func halves(n int) map[string]any {
	why := "this machine's Go has no float16"
	return map[string]any{
		"case_id": fmt.Sprintf("softmax-%d-float16", n), "dimensions": map[string]any{"n": n}, "device": "cpu", "status": "unsupported",
		"outputs": []map[string]any{{
			"name": "y", "dtype": "float16", "shape": []int{n}, "status": "unsupported", "limitations": []string{why},
			"metrics": []map[string]any{{"name": "max_abs_error", "value": nil, "comparator": nil, "threshold": nil, "unit": "1", "status": "unsupported", "limitation": why}},
		}},
	}
}
