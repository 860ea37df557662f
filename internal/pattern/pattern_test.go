package pattern_test

import (
	"sync"
	"testing"

	"github.com/flameox/flameox/internal/pattern"
)

func TestAnExpressionIsCompiledOnceByWhomeverAsksFirst(t *testing.T) {
	t.Parallel()
	l := pattern.Lazy{Expr: `^([a-z]+)-([0-9]+)$`}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m := l.FindStringSubmatch("merge-12"); len(m) != 3 || m[1] != "merge" || m[2] != "12" {
				t.Errorf("found %q", m)
			}
		})
	}
	wg.Wait()
	if first, second := l.Regexp(), l.Regexp(); first != second {
		t.Error("it was compiled twice")
	}
}

func TestWhatIsNoExpressionPanicsWhenItIsAsked(t *testing.T) {
	t.Parallel()
	l := pattern.Lazy{Expr: `(`}
	defer func() {
		if recover() == nil {
			t.Error("a broken expression matched")
		}
	}()
	l.MatchString("x")
}
