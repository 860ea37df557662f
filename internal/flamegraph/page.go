package flamegraph

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the files of assets
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
)

// The files that every page carries.
var (
	//go:embed assets/d3.min.js
	d3 string
	//go:embed assets/d3.LICENSE
	d3License string
	//go:embed assets/d3-flamegraph.umd.min.js
	library string
	//go:embed assets/d3-flamegraph.LICENSE
	libraryLicense string
	//go:embed assets/page.js
	script string
	//go:embed assets/page.css
	style string
)

// MaxNodes is how many frames a page shows where nothing else is asked for: more than fit on any screen, and few enough for a browser.
const MaxNodes = 20_000

// Side is a run that the picture is of.
type Side struct {
	Run     string
	Address string
	Host    string
	Started string // as a person reads it, with its zone
	Source  string // producer and its version, commit, whatever tells where the profile comes from
	Total   string // weight of all samples, with its unit
	State   string // of the evidence
	Notes   []string
}

// Page is a flame graph.
type Page struct {
	Metric, Unit string
	After        Side
	Before       *Side  // what it is compared with; nil for one profile
	Verdict      string // whether the two may be compared, and why not
	Absolute     bool   // the page opens with differences of weights, not of shares
	Root         *Node
	MaxNodes     int // MaxNodes for 0
	Notes        []string
	By           string // program and version that wrote the page
}

// document is the data that the script draws.
type document struct {
	Metric   string      `json:"metric"`
	Unit     string      `json:"unit"`
	Diff     bool        `json:"diff"`
	Absolute bool        `json:"absolute"`
	Caption  []string    `json:"caption"`
	Totals   [2]string   `json:"totals"` // before, after
	Names    [][2]string `json:"names"`
	Nodes    [][5]int64  `json:"nodes"` // parent, index in names, before, after, folded
}

// data makes the document, and says how many frames were too light to be shown.
func (p *Page) data() (*document, int) {
	limit := p.MaxNodes
	if limit <= 0 {
		limit = MaxNodes
	}
	d := &document{Metric: p.Metric, Unit: p.Unit, Diff: p.Before != nil, Absolute: p.Absolute, Totals: [2]string{"", p.After.Total}, Names: [][2]string{}}
	if p.Before != nil {
		d.Totals[0] = p.Before.Total
		d.Caption = append(d.Caption, "before: "+p.Before.line(), "after: "+p.After.line())
	} else {
		d.Caption = append(d.Caption, p.After.line())
	}
	if p.Verdict != "" {
		d.Caption = append(d.Caption, short(p.Verdict))
	}
	list, folded := rows(p.Root, limit)
	at := map[[2]string]int64{}
	for _, r := range list {
		name := [2]string{r.name, r.place}
		i, ok := at[name]
		if !ok {
			i = int64(len(d.Names))
			at[name] = i
			d.Names = append(d.Names, name)
		}
		d.Nodes = append(d.Nodes, [5]int64{int64(r.parent), i, r.before, r.after, int64(r.folded)})
	}
	return d, folded
}

// line names the run in one line of the picture.
func (s *Side) line() string {
	text := s.Address + ", run " + s.Run
	if s.Host != "" {
		text += ", on " + s.Host
	}
	text += ", " + s.Started
	if s.State != "" && s.State != "complete" {
		text += ", evidence " + s.State
	}
	return text
}

// captionLimit is about how many characters fit on a line of a picture that is as wide as a screen.
const captionLimit = 180

func short(s string) string {
	if r := []rune(s); len(r) > captionLimit {
		return string(r[:captionLimit-1]) + "…"
	}
	return s
}

// Write writes the page.
func (p *Page) Write(out io.Writer) error {
	d, folded := p.data()
	data, err := json.Marshal(d) // which escapes <, > and &, so that no name ends the element
	if err != nil {
		return fmt.Errorf("write a flame graph: %w", err)
	}
	w := bufio.NewWriter(out)
	put := func(parts ...string) {
		for _, s := range parts {
			w.WriteString(s)
		}
	}
	title := p.After.Address + ": " + p.Metric
	if p.Before != nil {
		title = p.After.Address + " against " + p.Before.Address + ": " + p.Metric
	}
	put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	put("<meta http-equiv=\"Content-Security-Policy\" content=\"", policy(), "\">\n")
	put("<meta name=\"viewport\" content=\"width=device-width\">\n<title>", esc(title), "</title>\n<style>", style, "</style>\n</head>\n<body>\n")
	put("<h1>", esc(title), "</h1>\n")
	p.sides(put)
	p.notes(put, folded)
	put(`<div id="controls">
<label>Search <input id="search" type="search" placeholder="part of a name"></label>
<button id="reset" type="button">Reset zoom</button>
`)
	if p.Before != nil {
		put(`<label>Width is <select id="width"><option value="after">after</option><option value="before">before</option></select></label>
<label>Difference of <select id="mode"><option value="shares">shares: each side is 100 %</option><option value="absolute">absolute weights</option></select></label>
`)
	}
	put(`<button id="save" type="button">Save picture (SVG)</button>
</div>
<p id="details" aria-live="polite"></p>
<div id="legend"></div>
<div id="chart"></div>
<noscript><p>The picture needs JavaScript, which this page brings along. The numbers are in it as JSON, in the element "data".</p></noscript>
<h2 id="table-title"></h2>
<table id="table"></table>
<footer><p>Written by `, esc(p.By), `. Drawn with d3 (ISC) and d3-flame-graph (Apache-2.0), unmodified.</p>
<details><summary>Licences</summary><pre>`, esc(d3License), `</pre><pre>`, esc(libraryLicense), `</pre></details></footer>
<script type="application/json" id="data">`, string(data), "</script>\n")
	for _, s := range []string{d3, library, script} {
		put("<script>", s, "</script>\n")
	}
	put("</body>\n</html>\n")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write a flame graph: %w", err)
	}
	return nil
}

// sides is a table of the runs.
func (p *Page) sides(put func(...string)) {
	list, heads := []*Side{&p.After}, []string{""}
	if p.Before != nil {
		list, heads = []*Side{p.Before, &p.After}, []string{"before", "after"}
	}
	put("<table class=\"runs\">\n")
	if p.Before != nil {
		put("<tr><th></th>")
		for _, h := range heads {
			put("<th scope=\"col\">", h, "</th>")
		}
		put("</tr>\n")
	}
	line := func(name string, of func(*Side) string) {
		any := false
		for _, s := range list {
			any = any || of(s) != ""
		}
		if !any {
			return
		}
		put("<tr><th scope=\"row\">", name, "</th>")
		for _, s := range list {
			put("<td>", esc(of(s)), "</td>")
		}
		put("</tr>\n")
	}
	line("stage", func(s *Side) string { return s.Address })
	line("run", func(s *Side) string { return s.Run })
	line("host", func(s *Side) string { return s.Host })
	line("started", func(s *Side) string { return s.Started })
	line("from", func(s *Side) string { return s.Source })
	line("metric", func(*Side) string { return p.Metric + " in " + p.Unit })
	line("total", func(s *Side) string { return s.Total })
	line("evidence", func(s *Side) string { return s.State })
	line("limitations", func(s *Side) string { return strings.Join(s.Notes, "\n") })
	put("</table>\n")
}

// notes is what the picture does not show.
func (p *Page) notes(put func(...string), folded int) {
	notes := p.Notes
	if p.Verdict != "" {
		notes = append([]string{p.Verdict}, notes...)
	}
	if folded > 0 {
		notes = append(notes[:len(notes):len(notes)], fmt.Sprintf("%d frames were too light to be drawn one by one; they are together, as \"(N lighter frames)\", below who called them.", folded))
	}
	if len(notes) == 0 {
		return
	}
	put("<ul class=\"notes\">\n")
	for _, n := range notes {
		put("<li>", esc(n), "</li>\n")
	}
	put("</ul>\n")
}

func esc(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// libraryStyle is the style that the library puts into the page by itself: what stands between its first pair of backquotes.
func libraryStyle() string {
	_, rest, _ := strings.Cut(library, "textContent=`")
	css, _, _ := strings.Cut(rest, "`")
	return css
}

// policy lets the page run what it came with and load nothing.
func policy() string {
	sum := func(s string) string {
		d := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(d[:]) + "'"
	}
	return "default-src 'none'; script-src " + sum(d3) + " " + sum(library) + " " + sum(script) +
		"; style-src " + sum(style) + " " + sum(libraryStyle()) + "; base-uri 'none'; form-action 'none'"
}
