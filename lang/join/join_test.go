package join

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func up(axes string, rows ...string) Upstream {
	u := Upstream{}
	if axes != "" {
		u.Axes = strings.Split(axes, ",")
	}
	for _, r := range rows {
		if axes == "" {
			u.Rows = append(u.Rows, nil)
		} else {
			u.Rows = append(u.Rows, strings.Split(r, ","))
		}
	}
	return u
}

func show(t *Table) string {
	var b strings.Builder
	b.WriteString(strings.Join(t.Axes, ","))
	for i, r := range t.Rows {
		fmt.Fprintf(&b, " %s%v", strings.Join(r, ","), t.Picks[i])
	}
	return b.String()
}

func TestUpstreamsJoinNaturally(t *testing.T) {
	for _, tc := range []struct {
		name string
		ups  []Upstream
		want string
	}{
		{"nothing", nil, " []"},
		{"one without axes", []Upstream{up("", "")}, " [0]"},
		{"equal axes", []Upstream{up("n", "1", "2"), up("n", "2", "1")}, "n 1[0 1] 2[1 0]"},
		{"disjoint axes are a product", []Upstream{up("n", "1", "2"), up("e", "a", "b")}, "n,e 1,a[0 0] 1,b[0 1] 2,a[1 0] 2,b[1 1]"},
		{"shared and own", []Upstream{up("n,e", "1,a", "2,b"), up("e,k", "a,x", "a,y", "c,z")}, "n,e,k 1,a,x[0 0] 1,a,y[0 1]"},
		{"nothing in common", []Upstream{up("n", "1"), up("n", "2")}, "n"},
		{"an empty one", []Upstream{up("n", "1"), up("e")}, "n,e"},
	} {
		tab := One()
		var err error
		for _, u := range tc.ups {
			if tab, err = tab.Join(u); err != nil {
				t.Fatal(err)
			}
		}
		if got := show(tab); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestOwnAxisMultipliesOrSelects(t *testing.T) {
	tab, err := One().Join(up("n", "1", "2", "3"))
	if err != nil {
		t.Fatal(err)
	}
	selected, unknown, err := tab.Axis("n", []string{"3", "1", "9"})
	if err != nil || show(selected) != "n 1[0] 3[2]" || !slices.Equal(unknown, []string{"9"}) {
		t.Errorf("selection: %s, unknown %v, %v", show(selected), unknown, err)
	}
	product, unknown, err := selected.Axis("k", []string{"a", "b"})
	if err != nil || unknown != nil || show(product) != "n,k 1,a[0] 1,b[0] 3,a[2] 3,b[2]" {
		t.Errorf("product: %s, %v, %v", show(product), unknown, err)
	}
}

func TestAProductBeyondTheLimitIsRefusedBeforeItIsMade(t *testing.T) {
	values := make([]string, 1001)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	tab, _, err := One().Axis("a", values)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, _, err := tab.Axis("b", values); !errors.Is(err, ErrTooMany) {
		t.Errorf("1001 × 1001 rows: %v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("refusing took %v", d)
	}
}
