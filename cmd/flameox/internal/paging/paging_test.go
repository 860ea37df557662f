package paging

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// with is a command's context with flags.
func with(t *testing.T, limit int, cursor string) *cli.Context {
	t.Helper()
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.Int("limit", limit, "")
	set.String("cursor", cursor, "")
	app := cli.NewApp()
	app.Writer, app.ErrWriter = new(bytes.Buffer), new(bytes.Buffer)
	c := cli.NewContext(app, set, nil)
	c.Command = &cli.Command{Name: "test"}
	return c
}

func TestPagesTogetherAreTheAnswer(t *testing.T) {
	key := func(i int) string { return fmt.Sprint("row ", i) }
	for _, size := range []int{1, 2, 3, 7, 10, 11} {
		seen, cursor := 0, ""
		for {
			p, err := Of(with(t, size, cursor), Ask([]string{"a"}, "x"))
			if err != nil {
				t.Fatal(err)
			}
			begin, end, next, err := p.Cut(10, key)
			if err != nil || begin != seen || end <= begin || end-begin > size {
				t.Fatalf("a page of %d goes from %d to %d, %v, and %d rows were seen", size, begin, end, err, seen)
			}
			seen = end
			if cursor = next; next == "" {
				break
			}
		}
		if seen != 10 {
			t.Errorf("pages of %d show %d rows of 10", size, seen)
		}
	}
	p, err := Of(with(t, 5, ""), Ask(nil))
	if err != nil {
		t.Fatal(err)
	}
	if begin, end, next, err := p.Cut(0, key); begin != 0 || end != 0 || next != "" || err != nil {
		t.Errorf("nothing is %d to %d, next %q, %v", begin, end, next, err)
	}
}

func TestACursorHoldsForItsQuestionAlone(t *testing.T) {
	key := func(i int) string { return fmt.Sprint(i) }
	p, err := Of(with(t, 1, ""), Ask([]string{"bytes"}, "hotspots", "self"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, cursor, _ := p.Cut(3, key)
	for _, q := range []Question{
		Ask([]string{"bytes"}, "hotspots", "inclusive"), Ask([]string{"other"}, "hotspots", "self"), Ask(nil, "hotspots", "self", "bytes"),
		Ask([]string{"self", "bytes"}, "hotspots"), Ask([]string{"bytes"}, "hotspotsself"),
	} {
		if _, err := Of(with(t, 1, cursor), q); err == nil || !strings.Contains(err.Error(), "another question") {
			t.Errorf("the error is %v", err)
		}
	}
	for _, bad := range []string{"x", "!!!", cursor + "A", cursor[:10]} {
		if _, err := Of(with(t, 1, bad), p.of); err == nil {
			t.Errorf("%q passes for a cursor", bad)
		}
	}
	again, err := Of(with(t, 1, cursor), p.of)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := again.Cut(3, func(i int) string { return fmt.Sprint("other ", i) }); err == nil {
		t.Error("a cursor whose row is gone was followed")
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	for _, n := range []int{-1, 0, 1001} {
		if _, err := Of(with(t, n, ""), Ask(nil)); err == nil {
			t.Errorf("a page of %d rows is allowed", n)
		}
	}
}
