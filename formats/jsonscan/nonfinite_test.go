package jsonscan_test

import (
	"testing"

	"github.com/flameox/flameox/formats/jsonscan"
)

func TestNumbersThatAreNoneArePassedOverWhereTheyAreAskedFor(t *testing.T) {
	r := jsonscan.New([]byte(`[NaN, -NaN ,Infinity,-Infinity, 1, nan]`))
	var words []string
	r.Array(func() {
		if w, ok := r.NonFinite(); ok {
			words = append(words, w)
			return
		}
		r.Float()
	})
	if len(words) != 4 || words[0] != "NaN" || words[3] != "-Infinity" || r.Err() == nil {
		t.Errorf("%q %v: nan is no word that a producer prints", words, r.Err())
	}
	if _, ok := r.NonFinite(); ok {
		t.Error("a reader with an error went on")
	}
}
