package hyperfine

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/providers"
)

// result is what was measured of one command.
type result struct {
	command    string
	times      []float64 // seconds
	exits      []*int64  // of each run; nil where a signal ended it
	memory     []int64   // bytes, of each run
	summary    []number  // what hyperfine computed, in the order of quantities
	parameters map[string]string
}

// number is one that hyperfine computed.
type number struct {
	quantity, aggregation string
	seconds               float64
}

// computed are the members that hyperfine computes.
var computed = map[string]struct{ quantity, aggregation string }{
	"mean": {"wall_time", "mean"}, "stddev": {"wall_time", "stddev"}, "median": {"wall_time", "median"}, "min": {"wall_time", "min"}, "max": {"wall_time", "max"},
	"user": {"user_time", "mean"}, "system": {"system_time", "mean"},
}

// parse reads an export. An error is a *providers.Refusal.
func parse(data []byte) (list []result, unknown int, err error) {
	r := jsonscan.New(data)
	if r.Kind() != '{' {
		text := strings.TrimSpace(string(data[:min(len(data), 200)]))
		if text != "" && text[0] != '[' {
			return nil, 0, providers.Refuse(NotJSON, "the payload begins with %.40q and not with a document: what a program prints stands in front of it, or it is another format; write it with --export-json", text)
		}
		return nil, 0, providers.Refuse(NotHyperfine, "the payload is no JSON object, and so not hyperfine's")
	}
	found := false
	r.Object(func(name []byte) {
		if string(name) != "results" {
			unknown++
			r.Skip()
			return
		}
		found = true
		r.Array(func() {
			one := result{parameters: map[string]string{}}
			unknown += one.read(r)
			list = append(list, one)
		})
	})
	r.End()
	var bad *jsonscan.Error
	switch err := r.Err(); {
	case errors.As(err, &bad) && bad.Cut:
		return nil, 0, providers.Refuse(Truncated, "the payload breaks off: hyperfine ended while it wrote, or the file was cut (%v)", bad)
	case errors.As(err, &bad):
		return nil, 0, providers.Refuse(NotJSON, "the payload is no JSON, or not in the form of hyperfine's results (%v)", bad)
	case err != nil:
		return nil, 0, err
	case !found:
		return nil, 0, providers.Refuse(NotHyperfine, "the payload is JSON without results, which hyperfine always writes: it is none of its exports")
	}
	return list, unknown, nil
}

func (one *result) read(r *jsonscan.Reader) (unknown int) {
	named, timed := false, false
	r.Object(func(name []byte) {
		switch n := string(name); n {
		case "command":
			named = true
			one.command = r.Text()
		case "times":
			if timed = !r.Null(); timed {
				r.Array(func() { one.times = append(one.times, seconds(r)) })
			}
		case "exit_codes":
			r.Array(func() {
				if r.Null() {
					one.exits = append(one.exits, nil)
					return
				}
				e := r.Int()
				one.exits = append(one.exits, &e)
			})
		case "memory_usage_byte":
			r.Array(func() { one.memory = append(one.memory, r.Int()) })
		case "parameters":
			r.Object(func(name []byte) {
				if r.Kind() == '"' {
					one.parameters[string(name)] = r.Text()
					return
				}
				text, _ := r.Raw() // numbers, as old versions write them
				one.parameters[string(name)] = string(text)
			})
		default:
			c, ok := computed[n]
			if !ok {
				unknown++
				r.Skip()
				return
			}
			if !r.Null() { // one run has no deviation
				one.summary = append(one.summary, number{c.quantity, c.aggregation, seconds(r)})
			}
		}
	})
	refuse := func(code, format string, args ...any) {
		if r.Err() == nil {
			r.Stop(providers.Refuse(code, format, args...))
		}
	}
	mean := false
	for _, s := range one.summary {
		mean = mean || s.aggregation == "mean" && s.quantity == "wall_time"
	}
	switch {
	case !named || !mean:
		refuse(NotHyperfine, "a result has no command or no mean, which hyperfine always writes: the payload is none of its exports")
	case one.exits != nil && timed && len(one.exits) != len(one.times):
		refuse(Contradiction, "%q has %d times and %d exit codes", one.command, len(one.times), len(one.exits))
	case len(one.memory) > 0 && timed && len(one.memory) != len(one.times):
		refuse(Contradiction, "%q has %d times and %d amounts of memory", one.command, len(one.times), len(one.memory))
	}
	return unknown
}

// seconds reads a time. hyperfine measures none below zero, and none that nanoseconds do not hold.
func seconds(r *jsonscan.Reader) float64 {
	v := r.Float()
	if r.Err() == nil && (v < 0 || math.IsInf(v*1e9, 0)) {
		r.Stop(providers.Refuse(Contradiction, "a time is %s seconds, which no run takes", strconv.FormatFloat(v, 'g', -1, 64)))
	}
	return v
}
