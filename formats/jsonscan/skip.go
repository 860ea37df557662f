package jsonscan

import "bytes"

// Raw passes over a value and returns it with the place where it begins.
func (r *Reader) Raw() (value []byte, offset int64) {
	if r.err == nil {
		r.space()
	}
	from := r.at
	r.Skip()
	if r.err != nil {
		return nil, 0
	}
	return r.data[from:r.at], r.base + int64(from)
}

// Skip passes over a value of any depth. It checks what it passes over, but for names that stand twice.
func (r *Reader) Skip() {
	r.stack = r.stack[:0]
	for {
		switch r.Kind() {
		case '{':
			r.at++
			if !r.Close('}') {
				r.stack = append(r.stack, '}')
				r.Quoted()
				r.Open(':')
				if r.err != nil {
					return
				}
				continue
			}
		case '[':
			r.at++
			if !r.Close(']') {
				r.stack = append(r.stack, ']')
				continue
			}
		case '"':
			r.Quoted()
		case 't':
			r.word("true")
		case 'f':
			r.word("false")
		case 'n':
			r.word("null")
		default:
			r.number()
		}
		for {
			if r.err != nil || len(r.stack) == 0 {
				return
			}
			top := r.stack[len(r.stack)-1]
			if !r.Close(top) {
				break
			}
			r.stack = r.stack[:len(r.stack)-1]
		}
		if !r.Open(',') {
			return
		}
		if r.stack[len(r.stack)-1] == '}' {
			r.Quoted()
			r.Open(':')
		}
		if r.err != nil {
			return
		}
	}
}

func (r *Reader) word(w string) {
	rest := r.data[r.at:]
	if !bytes.HasPrefix(rest, []byte(w)) {
		r.fail(len(rest) < len(w) && bytes.HasPrefix([]byte(w), rest), "%s stands where %s is expected", r.here(), w)
		return
	}
	r.at += len(w)
}

// Null passes over null if it comes next.
func (r *Reader) Null() bool {
	if r.Kind() != 'n' {
		return false
	}
	r.word("null")
	return r.err == nil
}
