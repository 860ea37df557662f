package harness

import (
	"errors"

	"github.com/flameox/flameox/formats/jsonscan"
)

const maxDepth = 100

var errDeep = errors.New("the document is nested too deeply")

// JSON reads what a harness wrote. Unlike a document it may hold NaN and Infinity, which harnesses print where JSON has no number: they become nil. Numbers are float64.
func JSON(data []byte) (any, error) {
	r := jsonscan.New(data)
	v := jsonValue(r, 0)
	r.End()
	return v, r.Err()
}

func jsonValue(r *jsonscan.Reader, depth int) any {
	if depth > maxDepth {
		r.Stop(errDeep)
	}
	if r.Err() != nil {
		return nil
	}
	if _, none := r.NonFinite(); none {
		return nil
	}
	switch r.Kind() {
	case '{':
		m := map[string]any{}
		r.Object(func(name []byte) {
			key := string(name)
			m[key] = jsonValue(r, depth+1)
		})
		return m
	case '[':
		list := []any{}
		r.Array(func() { list = append(list, jsonValue(r, depth+1)) })
		return list
	case '"':
		return r.Text()
	case 't', 'f':
		word, _ := r.Raw()
		return string(word) == "true"
	case 'n':
		r.Null()
		return nil
	}
	return r.Float()
}
