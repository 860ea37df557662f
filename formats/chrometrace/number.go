package chrometrace

import "math"

// nanoseconds is the value of a decimal text of microseconds, rounded to the nearest nanosecond; ok is false where the text is no number or
// the value does not fit. Every digit counts: floats hold too few for the time since 1970.
func nanoseconds(text []byte) (ns int64, ok bool) {
	s, negative := text, false
	if len(s) > 0 && s[0] == '-' {
		s, negative = s[1:], true
	}
	var whole uint64
	i := 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		if whole > (math.MaxUint64-9)/10 {
			return 0, false
		}
		whole = whole*10 + uint64(s[i]-'0')
	}
	if i == 0 || i < len(s) && s[i] != '.' {
		return shifted(s, i, negative)
	}
	var part uint64
	if i < len(s) {
		digits := s[i+1:]
		n := 0
		for n < len(digits) && digits[n]-'0' <= 9 {
			if n < 3 {
				part = part*10 + uint64(digits[n]-'0')
			} else if n == 3 && digits[n] >= '5' {
				part++
			}
			n++
		}
		if n == 0 || n < len(digits) {
			return shifted(s, i, negative)
		}
		for ; n < 3; n++ {
			part *= 10
		}
	}
	if whole > math.MaxInt64/1000-1 {
		return 0, false
	}
	return signed(whole*1000+part, negative)
}

func signed(n uint64, negative bool) (int64, bool) {
	if n > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// shifted is nanoseconds for a text with an exponent, which some producers print of long numbers: 1.7471328001234568e+15. dot is where its first
// digits end.
func shifted(s []byte, dot int, negative bool) (int64, bool) {
	var digits []byte
	digits = append(digits, s[:dot]...)
	point := dot
	i := dot
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			digits = append(digits, s[i])
		}
	}
	if len(digits) == 0 || i >= len(s) || s[i]|0x20 != 'e' {
		return 0, false
	}
	i++
	down := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		down = s[i] == '-'
		i++
	}
	e, from := 0, i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		if e = e*10 + int(s[i]-'0'); e > 1000 {
			e = 1000
		}
	}
	if i == from || i < len(s) {
		return 0, false
	}
	if down {
		e = -e
	}
	point += e + 3
	var n uint64
	for k := range digits {
		if k >= point {
			if k == point && digits[k] >= '5' {
				n++
			}
			break
		}
		if n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n = n*10 + uint64(digits[k]-'0')
	}
	for k := len(digits); k < point; k++ {
		if n == 0 {
			break
		}
		if n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n *= 10
	}
	return signed(n, negative)
}
