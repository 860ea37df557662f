package gotest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/token"
)

func TestRecognize(t *testing.T) {
	for _, c := range []struct {
		argv string
		kind string
	}{
		{"go test", "go test"}, {"go test ./...", "go test"}, {"/usr/local/go/bin/go test", "go test"}, {"go1.26.8 test", "go test"}, {`C:\go\bin\go.exe test`, "go test"},
		{"go -C d test", "go test"}, {"go -C=d test", "go test"}, {"./x.test", "binary"}, {"x.test.exe -v", "binary"}, {token.Make("build.b.dir") + "/x.test", "binary"},
		{"go", ""}, {"go build", ""}, {"go vet test", ""}, {"gotest", ""}, {"x.test.sh", ""}, {"taskset -c 1 go test", ""}, {"", ""}, {"go -C", ""},
	} {
		argv := strings.Fields(c.argv)
		got, ok := Recognize(argv)
		kind := ""
		if ok && got.GoTest() {
			kind = "go test"
		} else if ok {
			kind = "binary"
		}
		if kind != c.kind {
			t.Errorf("%q is %q, want %q", c.argv, kind, c.kind)
		}
	}
}

func TestFlagsOfTheCommandAreSeenInEverySpelling(t *testing.T) {
	for _, c := range []struct {
		argv string
		has  bool
	}{
		{"go test -count=3", true}, {"go test --count=3", true}, {"go test -count 3", true}, {"go test -test.count=3", true}, {"go test . -count=3", true},
		{"go test -args -count=3", false}, {"go test -counts=3", false}, {"go test count", false},
		{"x.test -test.count=3", true}, {"x.test --test.count 3", true}, {"x.test -count=3", false}, {"x.test -- -test.count=3", false},
	} {
		cmd, ok := Recognize(strings.Fields(c.argv))
		if !ok || cmd.Has("count") != c.has {
			t.Errorf("%q: has is %v", c.argv, !c.has)
		}
	}
}

func TestWithNeverChangesTheCommandItIsGiven(t *testing.T) {
	argv := append(make([]string, 0, 32), "go", "test", ".")
	cmd, _ := Recognize(argv)
	one, err := cmd.With(Flag{Name: "run", Value: "X"}, Flag{Name: "short", Bool: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, []string{"go", "test", "-run=X", "-short", "."}) || !slices.Equal(argv, []string{"go", "test", "."}) {
		t.Errorf("%q from %q", one, argv)
	}
	var conflict *ConflictError
	cmd, _ = Recognize([]string{"go", "test", "-run=Y"})
	if _, err := cmd.With(Flag{Name: "run", Value: "X"}); !errors.As(err, &conflict) || conflict.Flag != "-run" {
		t.Errorf("error %v", err)
	}
}

func TestValidBenchtime(t *testing.T) {
	for _, ok := range []string{"1s", "500ms", "1m30s", "1.5s", "100x", "1x", token.Make("matrix.x")} {
		if err := ValidBenchtime(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "0x", "x", "100", "-1s", "1 s", "soon", "1x1s"} {
		if ValidBenchtime(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestManyPackages(t *testing.T) {
	for argv, want := range map[string]bool{"go test ./...": true, "go test -run=... .": false, "go test all...": true, "go test -args ...": false, "x.test ...": false} {
		if cmd, _ := Recognize(strings.Fields(argv)); cmd.ManyPackages() != want {
			t.Errorf("%q: %v", argv, !want)
		}
	}
}
