package funcs

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/flameox/flameox/lang/source"
)

// Each function with a call, what it gives, a call that fails, and a part of the reason.
var every = map[string][4]string{
	"abs":                    {`abs(-2)`, `2`, `abs("a")`, "number"},
	"alltrue":                {`alltrue([true, true])`, `true`, `alltrue([1])`, "element 0 must be a bool"},
	"anytrue":                {`anytrue([false, true])`, `true`, `anytrue(["x"])`, "must be a bool"},
	"bytes":                  {`bytes("1.5 GiB")`, `1610612736`, `bytes("4")`, "has no unit"},
	"can":                    {`can(tonumber("x"))`, `false`, `can()`, "argument"},
	"ceil":                   {`ceil(1.2)`, `2`, `ceil([])`, "number"},
	"chomp":                  {`chomp("a\n")`, `"a"`, `chomp([])`, "string"},
	"chunklist":              {`chunklist([1, 2, 3], 2)`, `[[1, 2], [3]]`, `chunklist([1], -1)`, "must be"},
	"coalesce":               {`coalesce(null, 2)`, `2`, `coalesce(null)`, "null"},
	"coalescelist":           {`coalescelist([], [1])`, `[1]`, `coalescelist()`, "argument"},
	"compact":                {`compact(["a", "", "b"])`, `["a", "b"]`, `compact([[]])`, "string"},
	"concat":                 {`concat([1], [2])`, `[1, 2]`, `concat(1)`, "must be"},
	"contains":               {`contains([1, 2], 2)`, `true`, `contains(1, 1)`, "must be"},
	"csvdecode":              {`csvdecode("a,b\n1,2\n")[0].b`, `"2"`, `csvdecode("a,b\n1\n")`, "fields"},
	"distinct":               {`distinct([1, 2, 1, 3, 2])`, `[1, 2, 3]`, `distinct(1)`, "list"},
	"duration":               {`duration("1.5s")`, `1500000000`, `duration("1.5")`, "has no unit"},
	"element":                {`element([1, 2, 3], 4)`, `2`, `element([], 0)`, "empty"},
	"endswith":               {`endswith("abc", "bc")`, `true`, `endswith("abc")`, "argument"},
	"env":                    {`env("HOME")`, `"/h"`, `env("HIDDEN")`, "not declared"},
	"file":                   {`file("greet.txt")`, `"hello"`, `file("../x")`, "leaves"},
	"fileset":                {`fileset("data", "*.csv")`, `["a.csv", "b.csv"]`, `fileset(".", "[")`, "malformed"},
	"filesha256":             {`strlen(filesha256("greet.txt"))`, `64`, `filesha256("none")`, "no such file"},
	"flatten":                {`flatten([[1], [[2]]])`, `[1, 2]`, `flatten(1)`, "list"},
	"floor":                  {`floor(1.8)`, `1`, `floor("a")`, "number"},
	"format":                 {`format("%s-%03d", "a", 7)`, `"a-007"`, `format("%d", "a")`, "number"},
	"formatdate":             {`formatdate("YYYY", "2026-01-02T03:04:05Z")`, `"2026"`, `formatdate("YYYY", "now")`, "timestamp"},
	"formatlist":             {`formatlist("%s!", ["a", "b"])`, `["a!", "b!"]`, `formatlist("%s%s", ["a"], ["b", "c"])`, "length"},
	"git_revision":           {`git_revision("HEAD")`, `"c0ffee"`, `git_revision("nope")`, "cannot resolve"},
	"indent":                 {`indent(2, "a\nb")`, `"a\n  b"`, `indent(1001, "a\nb")`, "0 to 1000"},
	"index":                  {`index(["a", "b"], "b")`, `1`, `index(["a"], "b")`, "not in the list"},
	"int":                    {`int(1.9)`, `1`, `int([])`, "number"},
	"join":                   {`join("-", ["a", "b"])`, `"a-b"`, `join("-", "a")`, "list"},
	"jsondecode":             {`jsondecode("{\"a\": [1]}").a[0]`, `1`, `jsondecode("{")`, "EOF"},
	"jsonencode":             {`jsonencode({ a = [1] })`, `"{\"a\":[1]}"`, `jsonencode()`, "argument"},
	"keys":                   {`keys({ b = 1, a = 2 })`, `["a", "b"]`, `keys([])`, "map"},
	"length":                 {`length("äö")`, `2`, `length(1)`, "has a length"},
	"log":                    {`log(8, 2)`, `3`, `log("a", 2)`, "number"},
	"lookup":                 {`lookup({ a = 1 }, "b", 2)`, `2`, `lookup([], "a", 1)`, "map"},
	"lower":                  {`lower("A")`, `"a"`, `lower([])`, "string"},
	"max":                    {`max(1, 3, 2)`, `3`, `max()`, "at least one"},
	"merge":                  {`merge({ a = 1 }, { b = 2 }).b`, `2`, `merge([])`, "map"},
	"min":                    {`min(3, 1)`, `1`, `min()`, "at least one"},
	"one":                    {`one([5])`, `5`, `one([1, 2])`, "at most one"},
	"parseint":               {`parseint("ff", 16)`, `255`, `parseint("z", 10)`, "cannot parse"},
	"pow":                    {`pow(2, 10)`, `1024`, `pow(10, 3000)`, "too large"},
	"range":                  {`range(5, 1, -2)`, `[5, 3]`, `range(1, 5, -1)`, "never leads"},
	"regex":                  {`regex("[0-9]+", "ab12")`, `"12"`, `regex("x", "abc")`, "did not match"},
	"regexall":               {`regexall("[0-9]", "a1b2")`, `["1", "2"]`, `regexall("(", "a")`, "regexp"},
	"replace":                {`replace("a1b2", "/[0-9]/", "_")`, `"a_b_"`, `replace("a", "/(/", "")`, "regexp"},
	"reverse":                {`reverse([1, 2])`, `[2, 1]`, `reverse(1)`, "list"},
	"setintersection":        {`setintersection(["a", "b"], ["b"])`, `["b"]`, `setintersection(1)`, "set"},
	"setproduct":             {`setproduct(["a"], ["b", "c"])[1][1]`, `"c"`, `setproduct(range(2000), range(2000))`, "more than"},
	"setsubtract":            {`setsubtract(["a", "b"], ["b"])`, `["a"]`, `setsubtract(["a"], 1)`, "set"},
	"setsymmetricdifference": {`setsymmetricdifference(["a", "b"], ["b", "c"])`, `["a", "c"]`, `setsymmetricdifference(1)`, "set"},
	"setunion":               {`setunion(["a"], ["b"])`, `["a", "b"]`, `setunion(1)`, "set"},
	"signum":                 {`signum(-3)`, `-1`, `signum("a")`, "number"},
	"slice":                  {`slice([1, 2, 3], 1, 3)`, `[2, 3]`, `slice([1], 0, 5)`, "index"},
	"sort":                   {`sort(["b", "a"])`, `["a", "b"]`, `sort([[]])`, "string"},
	"split":                  {`split(",", "a,b")`, `["a", "b"]`, `split(",")`, "argument"},
	"startswith":             {`startswith("abc", "ab")`, `true`, `startswith([], "a")`, "string"},
	"strcontains":            {`strcontains("abc", "b")`, `true`, `strcontains("abc", null)`, "null"},
	"strlen":                 {`strlen("äö")`, `2`, `strlen([])`, "string"},
	"strrev":                 {`strrev("ab")`, `"ba"`, `strrev({})`, "string"},
	"substr":                 {`substr("hello", 1, 3)`, `"ell"`, `substr("a", "b", 1)`, "number"},
	"sum":                    {`sum([1, 2.5])`, `3.5`, `sum([])`, "empty"},
	"templatefile":           {`templatefile("t.tmpl", { names = [1, 2], dir = "" })`, `"<1><2>"`, `templatefile("loop.tmpl", {})`, "templatefile"},
	"timeadd":                {`timeadd("2026-01-01T00:00:00Z", "1h")`, `"2026-01-01T01:00:00Z"`, `timeadd("now", "1h")`, "timestamp"},
	"title":                  {`title("a b")`, `"A B"`, `title([])`, "string"},
	"tobool":                 {`tobool("true")`, `true`, `tobool("yes")`, "cannot convert"},
	"tolist":                 {`tolist([1, "a"])`, `["1", "a"]`, `tolist(1)`, "cannot convert"},
	"tomap":                  {`tomap({ a = 1 }).a`, `1`, `tomap([1])`, "cannot convert"},
	"tonumber":               {`tonumber("12")`, `12`, `tonumber("x")`, "cannot convert"},
	"toset":                  {`toset(["b", "a", "b"])`, `["a", "b"]`, `toset("a")`, "set of dynamic required"},
	"tostring":               {`tostring(12)`, `"12"`, `tostring([])`, "cannot convert"},
	"trim":                   {`trim("xax", "x")`, `"a"`, `trim("a")`, "argument"},
	"trimprefix":             {`trimprefix("abc", "a")`, `"bc"`, `trimprefix([], "a")`, "string"},
	"trimspace":              {`trimspace(" a ")`, `"a"`, `trimspace([])`, "string"},
	"trimsuffix":             {`trimsuffix("abc", "c")`, `"ab"`, `trimsuffix("a", [])`, "string"},
	"try":                    {`try(tonumber("x"), 3)`, `3`, `try(tonumber("x"))`, "no expression"},
	"upper":                  {`upper("a")`, `"A"`, `upper({})`, "string"},
	"values":                 {`values({ b = 1, a = 2 })`, `[2, 1]`, `values([])`, "map"},
	"yamldecode":             {`yamldecode("a: [1, 2]").a[1]`, `2`, `yamldecode("a: [")`, "line"},
	"zipmap":                 {`zipmap(["a"], [1]).a`, `1`, `zipmap(["a"], [])`, "number of keys"},
}

func TestEveryFunctionGivesItsResultAndSaysWhyItCannot(t *testing.T) {
	h := host(t)
	if diff := cmp.Diff(Names(), slices.Sorted(maps.Keys(every))); diff != "" {
		t.Errorf("functions and cases:\n%s", diff)
	}
	for name, tc := range every {
		got, err := eval(h, tc[0])
		if err != nil {
			t.Errorf("%s: %v", tc[0], err)
			continue
		}
		want, err := eval(h, tc[1])
		if err != nil {
			t.Fatal(err)
		}
		if c, err := convert.Convert(want, got.Type()); err != nil || !c.RawEquals(got) {
			t.Errorf("%s = %#v, want %s", tc[0], got, tc[1])
		}
		if v, err := eval(h, tc[2]); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc[3])) {
			t.Errorf("%s: %s = %#v, %v; want an error about %q", name, tc[2], v, err, tc[3])
		} else if strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: a stack is shown: %v", tc[2], err)
		}
	}
}

// Each call would take minutes, gigabytes or the stack, or worked before at a cost that grew with the square of its arguments.
func TestNoFunctionTakesMoreThanThereIs(t *testing.T) {
	h := host(t)
	long := `[for i in range(30000) : "x${i}"]`
	for src, want := range map[string]string{
		`strlen(join(",", ` + long + `))`: "", `length(toset(` + long + `))`: "at most 20000", `length(toset(slice(` + long + `, 0, 20000)))`: "", `length(distinct(range(30000)))`: "", `length(tolist(` + long + `))`: "",
		`length(setunion(` + long + `, ["a"]))`: "at most 20000", `length(sort(` + long + `))`: "", `length(compact(` + long + `))`: "", `length(zipmap(` + long + `, ` + long + `))`: "",
		`length(chunklist(` + long + `, 10))`: "", `length(tomap({ for i in range(30000) : "k${i}" => i }))`: "",
		`length(tolist([for i in range(30000) : i % 2 == 0 ? tostring(i) : i]))`: "", `length(true ? ` + long + ` : [])`: "",
		`join(",", concat(` + long + `, [[]]))`: "element 30000", `tolist([for i in range(30000) : i == 5 ? [i] : i])`: "type",
		`jsondecode(join("", [for i in range(5000) : "["]))`: "nested", `yamldecode(join("", [for i in range(5000) : "["]))`: "nested",
		`yamldecode(join("", [for i in range(5000) : "- "]))`:                                                               "nested",
		`yamldecode("a0: &a0 [x]\n${join("", [for i in range(30) : "a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]\n"])}")`: "aliases",
		`indent(999999999, "a\nb")`: "1000 spaces", `join(join("", ` + long + `), ` + long + `)`: "longer than",
		`replace(join("", ` + long + `), "x", join("", ` + long + `))`: "longer than", `replace(join("", ` + long + `), "/x/", join("", ` + long + `))`: "longer than",
		`[for m in [range(1000000)] : flatten([m, [m, m, [m, [1]]]])]`: "elements", `[for m in [range(1000000)] : concat(m, m, m, m, [1])]`: "elements",
		`"x${tonumber("1e999999999")}"`: "too large", `"x${jsondecode("1e999999999")}"`: "too large", `int(pow(10, 3000))`: "too large",
		`formatlist("%s", ` + long + `, join("", ` + long + `))`: "longer than",
	} {
		start := time.Now()
		v, err := eval(h, src)
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", src, d)
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", src, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s = %.100s, %v; want an error about %q", src, v.GoString(), err, want)
		}
	}
}

func TestWhatIsReadIsNeverNamedByASensitiveValue(t *testing.T) {
	h := host(t)
	table := Table(h)
	secret := cty.StringVal("greet.txt").Mark("secret")
	for name := range reading {
		args := []cty.Value{secret}
		switch name {
		case "fileset":
			args = append(args, cty.StringVal("*"))
		case "templatefile":
			args = append(args, cty.EmptyObjectVal)
		}
		if v, err := table[name].Call(args); err == nil || strings.Contains(err.Error(), "greet") {
			t.Errorf("%s = %#v, %v", name, v, err)
		}
	}
	if reads := h.Reader.Reads(); len(reads) != 0 {
		t.Errorf("on record: %v", reads)
	}
	v, err := table["templatefile"].Call([]cty.Value{cty.StringVal("t.tmpl"), cty.ObjectVal(map[string]cty.Value{"names": cty.EmptyTupleVal, "dir": secret})})
	if err != nil || !v.IsMarked() {
		t.Errorf("a template with a sensitive value is %#v, %v, and is not marked", v, err)
	}
}

func FuzzDecoders(f *testing.F) {
	for _, s := range []string{"[[[", "a: &a [*a]", "- - - -", "{\"a\": 1e999}", "a,b\n1", "a: !!binary x", "? ? ?", "&a [*a]", "\"\\u0000\""} {
		f.Add(s)
	}
	table := Table(Host{Reader: &source.Reader{}})
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"jsondecode", "yamldecode", "csvdecode"} {
			v, err := table[name].Call([]cty.Value{cty.StringVal(text)})
			if err != nil && strings.Contains(err.Error(), "goroutine") {
				t.Errorf("%s shows a stack: %v", name, err)
			}
			if err == nil && hasNUL(v) {
				t.Errorf("%s lets a NUL byte through: %#v", name, v)
			}
		}
	})
}
