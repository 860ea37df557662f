package manual

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

func TestADescriptionIsParagraphsVerbatimLinesAndExamples(t *testing.T) {
	body, examples := describe("One\ntwo.\n\nThree:\n  cd x\n  ls\nfour\n\nExamples:\n\n  a plan\n  a diff x  # exits 3\n")
	want := []Block{{Text: "One two."}, {Text: "Three:"}, {Verbatim: []string{"cd x", "ls"}}, {Text: "four"}}
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Example{{Line: "a plan"}, {Line: "a diff x  # exits 3", Exit: 3}}, examples); d != "" {
		t.Errorf("examples (-want +got):\n%s", d)
	}
}

func TestAFlagIsReadFromItsDeclaration(t *testing.T) {
	for _, c := range []struct {
		flag cli.Flag
		want Option
	}{
		{&cli.BoolFlag{Name: "json", Usage: "a document"}, Option{Names: []string{"json"}, Usage: "a document"}},
		{&cli.StringFlag{Name: "format", Value: "dot", Usage: "`FORMAT`: dot or json"}, Option{Names: []string{"format"}, Value: "FORMAT", Usage: "FORMAT: dot or json", Default: "dot"}},
		{&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 50, Usage: "the newest `N`"}, Option{Names: []string{"limit", "n"}, Value: "N", Usage: "the newest N", Default: "50"}},
		{&cli.IntFlag{Name: "x", Usage: "a number"}, Option{Names: []string{"x"}, Value: "VALUE", Usage: "a number"}},
	} {
		if d := cmp.Diff(c.want, NewOption(c.flag)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.flag.Names(), d)
		}
	}
}

// Whatever a text holds, the page shows it and roff takes none of it for a request of its own.
func TestRoffShowsTextAsItIs(t *testing.T) {
	path, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not here, which sets the page: ", err)
	}
	nasty := `.so /etc/passwd is no request. 'nor this. A back\slash, -dash, "quotes", ` + "`ticks`" + `, ^ and ~.`
	p := &Page{
		Path: []string{"flameox", "x"}, Usage: nasty, Body: []Block{{Text: nasty}, {Verbatim: []string{".so x", "'x' \\n"}}},
		Options: []Option{{Names: []string{"a-b"}, Value: "X-Y", Usage: nasty}}, Examples: []Example{{Line: nasty}},
	}
	for _, page := range []string{Roff(p, "1", "2026-01-02"), RoffAll([]*Page{{Path: []string{"flameox"}, Usage: "x"}, p}, "1", "")} {
		cmd := exec.Command(path, "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-ww")
		cmd.Stdin = strings.NewReader(".ll 1000\n.nr LL 1000n\n" + page)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := strings.Join(strings.Fields(string(out)), " ")
		want := strings.Join(strings.Fields(nasty), " ")
		if n := strings.Count(strings.ToLower(text), strings.ToLower(want)); n < 3 || !strings.Contains(text, `.so x 'x' \n`) {
			t.Errorf("the text is there %d times:\n%s", n, out)
		}
	}
}
