package render

import (
	"fmt"
	"math"
	"slices"

	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/measure/comparison"
)

// unit draws one unit: three pictures beside each other.
func (p *page) unit(d *comparison.Document, u comparison.Unit, e comparison.Evidence) {
	p.f(`<article id="%s"><h3>%s <small>%s</small> <span class="verdict %s">%s</span></h3>`, anchor(u), esc(Named(u.Workload.Name, u.Workload.Parameters)), esc(u.Quantity), esc(u.Verdict), esc(Word(u.Verdict)))
	p.f(`<p>%s</p><div class="plots">`, esc(sentence(u)))
	p.rounds(u, e)
	p.differences(u, e)
	p.interval(d, u)
	p.f(`</div></article>`)
}

func sentence(u comparison.Unit) string {
	s := fmt.Sprintf("%d paired rounds", u.Rounds)
	if u.Reference != nil {
		s += ", baseline " + Value(*u.Reference, u.QuantityUnit)
	}
	if u.Effect != nil {
		s += ", effect " + Percent(*u.Effect)
	}
	if u.Noise != nil {
		s += ", standard error " + size(*u.Noise)
	}
	if u.Interval != nil {
		s += fmt.Sprintf(", interval %s .. %s at %v %%", Percent(u.Interval.Low), Percent(u.Interval.High), 100*u.Interval.Level)
	}
	if n := notes(u); n != "" {
		s += ". " + n
	}
	return s
}

// The pictures' measures, in units of the drawing.
const (
	width, height          = 320.0, 190.0
	left, top, base, inner = 58.0, 12.0, 158.0, 250.0
)

// axis maps values to a length.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	if a.high == a.low {
		return (a.from + a.to) / 2
	}
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks are three or so round numbers on the axis.
func (a axis) ticks() []float64 {
	span := a.high - a.low
	if !(span > 0) || math.IsInf(span, 0) {
		return []float64{a.low}
	}
	step := math.Pow(10, math.Floor(math.Log10(span/3)))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= 4 {
			step *= m
			break
		}
	}
	var out []float64
	for v := math.Ceil(a.low/step) * step; v <= a.high+step*1e-9 && len(out) < 9; v += step {
		if math.Abs(v) < step*1e-9 {
			v = 0
		}
		out = append(out, v)
	}
	return out
}

// spread is an axis around values with some room.
func spread(values []float64, from, to float64) axis {
	if len(values) == 0 {
		return axis{0, 1, from, to}
	}
	low, high := slices.Min(values), slices.Max(values)
	room := (high - low) * 0.08
	if room == 0 {
		room = math.Max(math.Abs(high)*0.01, 1e-12)
	}
	return axis{low - room, high + room, from, to}
}

func (p *page) open(title string) {
	p.f(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s"><text class="t" x="%g" y="%g">%s</text>`, width, height, esc(title), left, height-4, esc(title))
}

// vertical draws ticks and labels of an upright axis.
func (p *page) vertical(a axis, label func(float64) string) {
	for _, v := range a.ticks() {
		y := a.at(v)
		p.f(`<line class="g" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text class="l" x="%g" y="%.1f">%s</text>`, left, left+inner, y, y, left-4, y+3, esc(label(v)))
	}
}

// maxDots is how many observations of a round are drawn.
const maxDots = 200

// rounds draws the observations of both sides, round by round.
func (p *page) rounds(u comparison.Unit, e comparison.Evidence) {
	var all []float64
	numbers := map[int]bool{}
	for _, side := range e.Sides {
		for _, a := range side {
			all = append(all, a.Values...)
			numbers[a.Round] = true
		}
	}
	order := make([]int, 0, len(numbers))
	for n := range numbers {
		order = append(order, n)
	}
	slices.Sort(order)
	y := spread(all, base, top)
	p.open("observations by round")
	p.vertical(y, func(v float64) string { return Value(v, u.QuantityUnit) })
	step := inner / float64(max(1, len(order)))
	for i, side := range e.Sides {
		class := [2]string{"b", "c"}[i]
		for _, a := range side {
			if len(a.Values) == 0 {
				continue
			}
			half := math.Min(step*0.2, 9)
			x := left + step*(float64(slices.Index(order, a.Round))+0.5) + [2]float64{-1, 1}[i]*math.Min(step*0.25, 11)
			every := (len(a.Values) + maxDots - 1) / maxDots
			for k := 0; k < len(a.Values); k += every {
				// The dots of a round lie a little beside each other, always in the same way.
				off := (float64(k*7%11)/10 - 0.5) * half * 1.4
				p.f(`<circle class="%s" cx="%.1f" cy="%.1f" r="1.8"/>`, class, x+off, y.at(a.Values[k]))
			}
			m := stats.Median(slices.Clone(a.Values))
			p.f(`<line class="m %s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"><title>%s</title></line>`, class, x-half, x+half, y.at(m), y.at(m),
				esc(fmt.Sprintf("%s, round %d: median %s of %d", [2]string{"baseline", "contender"}[i], a.Round, Value(m, u.QuantityUnit), len(a.Values))))
		}
	}
	for i, n := range order {
		if len(order) <= 12 || i%(len(order)/8+1) == 0 {
			p.f(`<text class="x" x="%.1f" y="%g">%d</text>`, left+step*(float64(i)+0.5), base+12, n)
		}
	}
	p.f(`</svg>`)
}

// differences draws contender/baseline − 1 of each round.
func (p *page) differences(u comparison.Unit, e comparison.Evidence) {
	byRound := [2]map[int]float64{{}, {}}
	for i, side := range e.Sides {
		for _, a := range side {
			if a.Status == "success" && a.Round >= 0 && len(a.Values) > 0 {
				byRound[i][a.Round] = stats.Median(slices.Clone(a.Values))
			}
		}
	}
	var order []int
	diff := map[int]float64{}
	values := []float64{0}
	for n, b := range byRound[0] {
		if c, ok := byRound[1][n]; ok && b != 0 {
			order = append(order, n)
			diff[n] = c/b - 1
			values = append(values, c/b-1)
		}
	}
	slices.Sort(order)
	y := spread(values, base, top)
	p.open("difference of each round")
	p.vertical(y, Percent)
	p.f(`<line class="z" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, left, left+inner, y.at(0), y.at(0))
	step := inner / float64(max(1, len(order)))
	for i, n := range order {
		x := left + step*(float64(i)+0.5)
		p.f(`<line class="s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><circle class="d" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`, x, x, y.at(0), y.at(diff[n]), x, y.at(diff[n]),
			esc(fmt.Sprintf("round %d: %s", n, Percent(diff[n]))))
		if len(order) <= 12 || i%(len(order)/8+1) == 0 {
			p.f(`<text class="x" x="%.1f" y="%g">%d</text>`, x, base+12, n)
		}
	}
	if u.Effect != nil {
		p.f(`<line class="e" x1="%g" x2="%g" y1="%.1f" y2="%.1f"><title>%s</title></line>`, left, left+inner, y.at(*u.Effect), y.at(*u.Effect), esc("effect "+Percent(*u.Effect)))
	}
	p.f(`</svg>`)
}

// interval draws the effect with its uncertainty against what it is held against: the threshold of k standard errors about zero, or the band in which changes do not matter.
func (p *page) interval(d *comparison.Document, u comparison.Unit) {
	title := "no effect could be told"
	if u.Effect == nil {
		p.open(title)
		p.f(`</svg>`)
		return
	}
	low, high, band := *u.Effect, *u.Effect, 0.0
	switch {
	case u.Interval != nil:
		low, high, title = u.Interval.Low, u.Interval.High, fmt.Sprintf("interval at %v %%", 100*u.Interval.Level)
		if d.Method.Band != nil {
			band = *d.Method.Band
			title += fmt.Sprintf(" against ±%v %%", 100*band)
		}
	case u.Noise != nil && u.Threshold != nil:
		low, high, band = low-*u.Noise, high+*u.Noise, *u.Threshold
		title = "effect ± its error against the threshold"
	}
	x := spread([]float64{low, high, -band, band, 0}, left, left+inner)
	p.open(title)
	if band > 0 {
		p.f(`<rect class="band" x="%.1f" y="%g" width="%.1f" height="%g"/>`, x.at(-band), top, x.at(band)-x.at(-band), base-top)
	}
	p.f(`<line class="z" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/>`, x.at(0), x.at(0), top, base)
	for _, v := range x.ticks() {
		p.f(`<text class="x" x="%.1f" y="%g">%s</text>`, x.at(v), base+12, esc(Percent(v)))
	}
	y := (top + base) / 2
	p.f(`<line class="i" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><circle class="d" cx="%.1f" cy="%g" r="4"><title>%s</title></circle></svg>`, x.at(low), x.at(high), y, y, x.at(*u.Effect), y,
		esc(fmt.Sprintf("%s, %s .. %s", Percent(*u.Effect), Percent(low), Percent(high))))
}
