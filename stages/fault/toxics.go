package fault

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
)

// Affects are the arguments of every toxic.
type Affects struct {
	Scenarios []string `arg:"scenarios,optional" doc:"the scenarios that it is in; without it all but baseline" facet:"exempt: selects; the toxics that act are in the key"`
	Stream    string   `arg:"stream" default:"\"downstream\"" doc:"what it acts on: downstream, from the server to the client, or upstream" facet:"identity"`
	Toxicity  float64  `arg:"toxicity" default:"1" doc:"share of the connections that it is drawn for, 0 to 1; below 1 the stage needs attempts = 2 at least" facet:"identity"`
}

// Latency delays what passes.
type Latency struct {
	Delay  time.Duration `arg:"delay" doc:"1ms to 1h, whole milliseconds" facet:"identity"`
	Jitter time.Duration `arg:"jitter" default:"\"0s\"" doc:"how much the delay varies up and down, at most delay, whole milliseconds; with a toxicity below 1 only" facet:"identity"`
}

// Timeout stops what passes, and closes the connection later.
type Timeout struct {
	After time.Duration `arg:"after" doc:"when the connection is closed, up to 1h, whole milliseconds; \"0s\" for never" facet:"identity"`
}

// ResetPeer resets the connection.
type ResetPeer struct {
	After time.Duration `arg:"after" default:"\"0s\"" doc:"when the connection is reset, up to 1h, whole milliseconds; \"0s\" for at once" facet:"identity"`
}

// Bandwidth limits how much passes.
type Bandwidth struct {
	Rate int `arg:"bandwidth_kb_per_s" doc:"thousands of bytes in a second, 1 to 100000000" facet:"identity"`
}

// Slicer cuts what passes into pieces.
type Slicer struct {
	Size      int           `arg:"average_size" doc:"bytes of a piece, 1 to 1000000000" facet:"identity"`
	Variation int           `arg:"size_variation" default:"0" doc:"how much the size varies up and down, less than average_size" facet:"identity"`
	Delay     time.Duration `arg:"delay" default:"\"0s\"" doc:"between pieces, up to 1h, whole microseconds" facet:"identity"`
}

// LimitData closes the connection when that much has passed.
type LimitData struct {
	Bytes int `arg:"bytes" doc:"that pass, 0 to 1000000000000" facet:"identity"`
}

// SlowClose delays the closing of the connection.
type SlowClose struct {
	Delay time.Duration `arg:"delay" doc:"1ms to 1h, whole milliseconds" facet:"identity"`
}

// Down is that nothing listens. It is no toxic: the proxy is switched off.
type Down struct {
	Scenarios []string `arg:"scenarios,optional" doc:"the scenarios that it is in; without it all but baseline" facet:"exempt: selects; that nothing listens is in the key"`
}

// down is the nested block of Down.
const down = "down"

// Toxic is one toxic as Toxiproxy's interface has it.
type Toxic struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Stream     string           `json:"stream"`
	Toxicity   float64          `json:"toxicity"`
	Attributes map[string]int64 `json:"attributes"`
}

// toxicType is one kind of toxic: its block, and what the proxy is told of it.
type toxicType struct {
	name, doc  string
	options    any
	attributes func(options any) (map[string]int64, error)
}

// toxicTypes are all of them. The proxy takes milliseconds everywhere but in the delay of slicer, which it takes in microseconds.
var toxicTypes = []toxicType{
	{"latency", "delays what passes", &Latency{}, func(o any) (map[string]int64, error) {
		l := o.(*Latency)
		delay, err := span("delay", l.Delay, time.Millisecond, time.Millisecond)
		if err != nil {
			return nil, err
		}
		jitter, err := span("jitter", l.Jitter, 0, time.Millisecond)
		if err == nil && jitter > delay {
			err = fmt.Errorf("jitter is %s, more than delay = %s: nothing arrives before it is sent", l.Jitter, l.Delay)
		}
		return map[string]int64{"latency": delay, "jitter": jitter}, err
	}},
	{"timeout", "lets nothing pass, and closes the connection after a time", &Timeout{}, func(o any) (map[string]int64, error) {
		after, err := span("after", o.(*Timeout).After, 0, time.Millisecond)
		return map[string]int64{"timeout": after}, err
	}},
	{"reset_peer", "resets the connection, as a program that crashed", &ResetPeer{}, func(o any) (map[string]int64, error) {
		after, err := span("after", o.(*ResetPeer).After, 0, time.Millisecond)
		return map[string]int64{"timeout": after}, err
	}},
	{"bandwidth", "limits how much passes in a second", &Bandwidth{}, func(o any) (map[string]int64, error) {
		rate, err := count("bandwidth_kb_per_s", o.(*Bandwidth).Rate, 1, 100_000_000)
		return map[string]int64{"rate": rate}, err
	}},
	{"slicer", "cuts what passes into pieces", &Slicer{}, func(o any) (map[string]int64, error) {
		s := o.(*Slicer)
		size, err := count("average_size", s.Size, 1, 1_000_000_000)
		if err != nil {
			return nil, err
		}
		variation, err := count("size_variation", s.Variation, 0, s.Size-1)
		if err != nil {
			return nil, err
		}
		delay, err := span("delay", s.Delay, 0, time.Microsecond)
		return map[string]int64{"average_size": size, "size_variation": variation, "delay": delay}, err
	}},
	{"limit_data", "closes the connection when so much has passed", &LimitData{}, func(o any) (map[string]int64, error) {
		n, err := count("bytes", o.(*LimitData).Bytes, 0, 1_000_000_000_000)
		return map[string]int64{"bytes": n}, err
	}},
	{"slow_close", "delays the closing of the connection", &SlowClose{}, func(o any) (map[string]int64, error) {
		delay, err := span("delay", o.(*SlowClose).Delay, time.Millisecond, time.Millisecond)
		return map[string]int64{"delay": delay}, err
	}},
}

// merged is the block of a toxic: its own arguments, then those of all.
func (t toxicType) merged() kind.Merged { return kind.Merge(t.options, &Affects{}) }

// span is a duration in whole units, from least to an hour.
func span(name string, d, least, unit time.Duration) (int64, error) {
	if d < least || d > time.Hour || d%unit != 0 {
		return 0, fmt.Errorf("%s is %s: give %s to 1h in whole %s", name, d, least, map[time.Duration]string{time.Millisecond: "milliseconds", time.Microsecond: "microseconds"}[unit])
	}
	return int64(d / unit), nil
}

func count(name string, n, least, most int) (int64, error) {
	if n < least || n > most {
		return 0, fmt.Errorf("%s is %d: give %d to %d", name, n, least, most)
	}
	return int64(n), nil
}

// acting is whether what is in the scenarios acts in scenario. Where the block has no scenario everything acts.
func acting(scenarios []string, scenario string) bool {
	return scenario != baseline && (scenarios == nil || slices.Contains(scenarios, scenario))
}

// toxics are those of an instance that act, and whether the proxy is switched off. named are the scenarios that toxics name.
func toxics(inst *lang.Instance, scenario string) (act []Toxic, off bool, named map[string]bool, err error) {
	named = map[string]bool{}
	note := func(block string, scenarios []string) error {
		for _, s := range scenarios {
			if s == baseline {
				return fmt.Errorf("%s names the scenario %q, which has no toxic", block, baseline)
			}
			named[s] = true
		}
		if scenarios != nil && scenario == "" {
			return fmt.Errorf("%s names scenarios, and the block has none: write scenario = matrix.scenario", block)
		}
		return nil
	}
	for _, t := range toxicTypes {
		o := inst.Nested[t.name]
		if o == nil {
			continue
		}
		parts := t.merged().Split(o)
		a := parts[1].(*Affects)
		attributes, err := t.attributes(parts[0])
		switch {
		case err != nil:
		case a.Stream != downstream && a.Stream != upstream:
			err = fmt.Errorf("stream is %q: give %q or %q", a.Stream, downstream, upstream)
		case !(a.Toxicity >= 0 && a.Toxicity <= 1):
			err = fmt.Errorf("toxicity is %g: give 0 to 1", a.Toxicity)
		case a.Toxicity == 1 && attributes["jitter"] > 0:
			err = fmt.Errorf("it has a jitter and a toxicity of 1: what varies is declared as chance. Give a toxicity below 1, or no jitter")
		}
		if err != nil {
			return nil, false, nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := note(t.name, a.Scenarios); err != nil {
			return nil, false, nil, err
		}
		if acting(a.Scenarios, scenario) {
			act = append(act, Toxic{Name: t.name, Type: t.name, Stream: a.Stream, Toxicity: a.Toxicity, Attributes: attributes})
		}
	}
	if d, ok := inst.Nested[down].(*Down); ok {
		if err := note(down, d.Scenarios); err != nil {
			return nil, false, nil, err
		}
		off = acting(d.Scenarios, scenario)
	}
	return act, off, named, nil
}

// canonical is the text of a toxic's attributes: the same for equal ones.
func canonical(attributes map[string]int64) string {
	b, err := json.Marshal(attributes) // sorts the keys
	if err != nil {
		panic("fault: " + err.Error())
	}
	return string(b)
}

// The streams of a connection.
const (
	downstream = "downstream"
	upstream   = "upstream"
)
