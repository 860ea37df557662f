package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/measure/comparison"
)

// Markdown writes a comparison as a comment of a review: one sentence, what changed, and all else folded.
func Markdown(w io.Writer, d *comparison.Document) error {
	var b strings.Builder
	local := ""
	if d.LocalOnly {
		local = " `[local-only]`"
	}
	fmt.Fprintf(&b, "### Benchmarks: %s%s\n\n", escape(Summary(d)), local)
	contender := "none"
	if d.Contender != nil {
		contender = *d.Contender
	}
	fmt.Fprintf(&b, "%s → %s (%s, run %s)\n", code(Short(d.Baseline)), code(Short(contender)), d.Profile, code(d.RunKey))
	for _, c := range d.Caveats {
		fmt.Fprintf(&b, "\n> caveat: %s\n", escape(c))
	}
	words, units := counted(d)
	for _, v := range words {
		folded := v == "unchanged" || v == "no-change-detected"
		title := fmt.Sprintf("%s (%d)", strings.ToUpper(Word(v)[:1])+Word(v)[1:], len(units[v]))
		if folded {
			fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n", title)
		} else {
			fmt.Fprintf(&b, "\n**%s**\n\n", title)
		}
		columns, table := rows(units[v])
		b.WriteString("|")
		for _, c := range columns {
			b.WriteString(" " + c.Title + " |")
		}
		b.WriteString("\n|")
		for _, c := range columns {
			b.WriteString(map[bool]string{true: " --: |", false: " --- |"}[c.Right])
		}
		b.WriteString("\n")
		for _, row := range table {
			b.WriteString("|")
			for i, cell := range row {
				if i == 0 {
					cell = code(cell)
				} else {
					cell = escape(cell)
				}
				b.WriteString(" " + cell + " |")
			}
			b.WriteString("\n")
		}
		if folded {
			b.WriteString("\n</details>\n")
		}
	}
	for _, l := range rest(d) {
		fmt.Fprintf(&b, "\n**%s (%d)**\n\n", strings.ToUpper(l.name[:1])+l.name[1:], len(l.lines))
		for _, s := range l.lines {
			fmt.Fprintf(&b, "- %s\n", escape(s))
		}
	}
	fmt.Fprintf(&b, "\n<sub>%s</sub>\n", escape(Method(d)))
	_, err := io.WriteString(w, b.String())
	return err
}

// escape keeps text from being markup: names of benchmarks hold stars, underscores and pipes.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "`", "\\`", "[", `\[`, "]", `\]`, "\n", " ", "\r", " ").Replace(s)
}

// code is text as code, also where it holds back quotes; a pipe would still end a cell of a table.
func code(s string) string {
	s = strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}
