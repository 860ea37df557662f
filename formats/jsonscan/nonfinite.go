package jsonscan

import "bytes"

// NonFinite passes over one of the words that producers print where JSON has no number, and returns it: NaN, Infinity, with a sign or without. They are
// no JSON, so nothing else of this package passes over them; a caller that knows a producer to write them asks where a number belongs.
func (r *Reader) NonFinite() (word string, ok bool) {
	if r.err != nil || !r.space() {
		return "", false
	}
	rest := r.data[r.at:]
	for _, w := range [...]string{"NaN", "-NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(rest, []byte(w)) {
			r.at += len(w)
			return w, true
		}
	}
	return "", false
}
