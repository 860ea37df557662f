package render

import (
	_ "embed" // the page's style
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/flameox/flameox/measure/comparison"
)

//go:embed page.css
var style string

// maxPlots is how many units a page draws; the others are in its tables.
const maxPlots = 500

// Page writes a comparison as one HTML file that needs nothing else and runs no script: the tables, and of each unit the observations of both sides, the paired differences, and the
// interval against what it was held against. evidence is in the order of the units.
func Page(w io.Writer, d *comparison.Document, evidence []comparison.Evidence) error {
	p := &page{}
	title := fmt.Sprintf("%s: %s", d.RunKey, Summary(d))
	p.f(`<!doctype html><html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/><title>%s</title><style>%s</style></head><body><main>`, esc(title), style)
	p.head(d)
	words, units := counted(d)
	at := map[string]int{}
	for i, u := range d.Units {
		at[Named(u.Workload.Name, u.Workload.Parameters)+"\x00"+u.Quantity] = i
	}
	for _, v := range words {
		p.f(`<section><h2 class="%s">%s <span class="n">%d</span></h2>`, esc(v), esc(Word(v)), len(units[v]))
		p.table(units[v])
		p.f(`</section>`)
	}
	for _, l := range rest(d) {
		p.f(`<section><h2>%s <span class="n">%d</span></h2><ul>`, esc(l.name), len(l.lines))
		for _, s := range l.lines {
			p.f(`<li>%s</li>`, esc(s))
		}
		p.f(`</ul></section>`)
	}
	for _, l := range sides(d) {
		p.f(`<section><h3>%s</h3><ul>`, esc(l.name))
		for _, s := range l.lines {
			p.f(`<li>%s</li>`, esc(s))
		}
		p.f(`</ul></section>`)
	}
	drawn := 0
	p.f(`<section><h2>Units</h2><p class="legend"><span class="key b"></span> baseline %s <span class="key c"></span> contender %s. Each dot is an observation, each bar the median of a round.</p>`,
		esc(Short(d.Baseline)), esc(Short(contenderOf(d))))
	for _, v := range words {
		for _, u := range units[v] {
			i := at[Named(u.Workload.Name, u.Workload.Parameters)+"\x00"+u.Quantity]
			if i >= len(evidence) || drawn >= maxPlots {
				continue
			}
			drawn++
			p.unit(d, u, evidence[i])
		}
	}
	if left := len(d.Units) - drawn; left > 0 {
		p.f(`<p>%d more units are in the tables and are not drawn.</p>`, left)
	}
	p.f(`</section></main></body></html>`)
	_, err := io.WriteString(w, p.b.String())
	return err
}

type page struct{ b strings.Builder }

func (p *page) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func esc(s string) string { return html.EscapeString(s) }

func contenderOf(d *comparison.Document) string {
	if d.Contender == nil {
		return "none"
	}
	return *d.Contender
}

func (p *page) head(d *comparison.Document) {
	local := ""
	if d.LocalOnly {
		local = ` <span class="tag">local-only</span>`
	}
	p.f(`<header><h1>%s%s</h1><dl>`, esc(Summary(d)), local)
	rows := [][2]string{{"run", d.RunKey}, {"profile", string(d.Profile)}, {"varying", d.Varying}, {"baseline", d.Baseline}, {"contender", contenderOf(d)}, {"method", Method(d)}, {"identity", d.IdentitySchema}}
	for _, c := range d.Caveats {
		rows = append(rows, [2]string{"caveat", c})
	}
	for _, f := range differences(d) {
		rows = append(rows, [2]string{"differs", f})
	}
	for _, r := range rows {
		p.f(`<dt>%s</dt><dd>%s</dd>`, esc(r[0]), esc(r[1]))
	}
	p.f(`</dl></header>`)
}

func (p *page) table(units []comparison.Unit) {
	columns, table := rows(units)
	p.f(`<div class="scroll"><table><thead><tr>`)
	for _, c := range columns {
		p.f(`<th%s>%s</th>`, right(c.Right), esc(c.Title))
	}
	p.f(`</tr></thead><tbody>`)
	for i, row := range table {
		p.f(`<tr>`)
		for k, cell := range row {
			if k == 0 {
				cell = fmt.Sprintf(`<a href="#%s">%s</a>`, anchor(units[i]), esc(cell))
			} else {
				cell = esc(cell)
			}
			p.f(`<td%s>%s</td>`, right(columns[k].Right), cell)
		}
		p.f(`</tr>`)
	}
	p.f(`</tbody></table></div>`)
}

func right(yes bool) string {
	if yes {
		return ` class="r"`
	}
	return ""
}

// anchor is a unit's place in the page.
func anchor(u comparison.Unit) string {
	var b strings.Builder
	b.WriteString("u-")
	for _, r := range Named(u.Workload.Name, u.Workload.Parameters) + "-" + u.Quantity {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "_%x", r)
		}
	}
	return b.String()
}
