package token

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestATokenThatWasCutApartIsAnErrorThatSaysSo(t *testing.T) {
	whole := "a " + Make("build.x.dir") + "/name"
	for _, s := range []string{whole[:8], strings.ToUpper(whole)[:3] + "\x00", "\x00\x00", whole + "\x00"} {
		if _, err := Expand(s, func(string) (string, error) { return "v", nil }); err == nil || !strings.Contains(err.Error(), "was cut apart") {
			t.Errorf("%q: %v", s, err)
		}
	}
	refused := errors.New("no")
	if _, err := Expand(whole, func(string) (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Errorf("the error of the value is lost: %v", err)
	}
	if got := Display(whole); got != "a ${build.x.dir}/name" {
		t.Errorf("%q", got)
	}
}

func FuzzTokensAreFoundAsTheyWereMade(f *testing.F) {
	f.Add("--out=", "build.x.dir", "/bin", "server.y.port", "")
	f.Add("\xff", "${x}", "$", "a\nb", "\u2028")
	f.Fuzz(func(t *testing.T, a, first, b, second, c string) {
		raw := a + first + b + second + c
		_, _ = Expand(raw, func(n string) (string, error) { return n, nil }) // cut apart or not, it ends
		Display(raw)
		Names(raw)
		if strings.Contains(raw, mark) || first == "" || second == "" {
			return
		}
		s := a + Make(first) + b + Make(second) + c
		if got := Names(s); !slices.Equal(got, []string{first, second}) {
			t.Fatalf("the names of %q are %q", s, got)
		}
		got, err := Expand(s, func(n string) (string, error) { return "<" + n + ">", nil })
		if want := a + "<" + first + ">" + b + "<" + second + ">" + c; err != nil || got != want {
			t.Fatalf("%q is expanded to %q, %v; want %q", s, got, err, want)
		}
		if Has(Display(s)) {
			t.Fatalf("what is displayed of %q holds a token", s)
		}
	})
}
