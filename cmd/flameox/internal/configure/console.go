package configure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/urfave/cli/v2"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// ConsoleDocument is one line of `console -json`: what one expression came to.
type ConsoleDocument struct {
	Format    int    `json:"format_version" doc:"version of this document, 1"`
	Value     any    `json:"value" doc:"the value; null where it is sensitive"`
	Type      string `json:"type,omitempty" doc:"its type, as variables declare types"`
	Sensitive bool   `json:"sensitive" doc:"a sensitive variable takes part in the value, which is not shown"`
}

// Console is the command console.
func Console() *cli.Command {
	return &cli.Command{
		Name: "console", Usage: "evaluate expressions as the experiment sees them", ArgsUsage: "[ADDRESS]",
		Description: "Reads expressions, one a line, and prints what each comes to, as the configuration would write it. An open bracket goes on\n" +
			"on the next line. Variables, local values, functions and the results that stand now can be used; with the ADDRESS of an\n" +
			"instance its axes, too. Nothing is run and nothing is changed. Exits 1 where standard input is no terminal and an expression failed.\n\n" +
			"Examples:\n" +
			"  flameox console -e 'duration(\"1m30s\") / 1000'\n" +
			"  flameox console -e matrix.n 'workload.sort[\"impl=merge,n=1000\"]'\n" +
			"  echo 'upper(\"a\")' | flameox console",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "e", Usage: "evaluate `EXPR` and read no input"},
			cmdline.JSONFlag,
		}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return flags.Usage(c, "console takes at most one address; an expression is given with -e")
			}
			if c.IsSet("e") && strings.TrimSpace(c.String("e")) == "" {
				return flags.Usage(c, "the expression of -e is empty")
			}
			s, err := newScope(c, c.Args().First())
			if err != nil {
				return err
			}
			defer s.w.Save()
			if c.IsSet("e") {
				ok, err := s.print(c.String("e"))
				if err == nil && !ok {
					return cmdline.Exit(cmdline.ExitFailure)
				}
				return err
			}
			return s.loop(c.App.Reader, view.Detect(os.Stdin, os.Getenv).Live)
		},
	}
}

// maxLine bounds one line of input.
const maxLine = 1 << 20

// loop evaluates what it reads until the end of input, or `exit`.
func (s *scope) loop(in io.Reader, person bool) error {
	prompt := func(p string) {
		if person {
			fmt.Fprint(s.c.App.Writer, p)
		}
	}
	if person {
		fmt.Fprintln(s.c.App.Writer, "One expression a line; exit or Ctrl-D ends.")
	}
	more := "… "
	if cmdline.View(s.c).ASCII {
		more = "... "
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	failed := false
	pending := ""
	evaluate := func() error {
		expr := strings.TrimRight(pending, "\n")
		pending = ""
		ok, err := s.print(expr)
		failed = failed || !ok
		return err
	}
	for prompt("> "); lines.Scan(); {
		line := lines.Text()
		word := strings.TrimSpace(line)
		switch {
		case pending == "" && (word == "exit" || word == "quit"):
			return s.ended(failed && !person)
		case pending == "" && (word == "" || strings.HasPrefix(word, "#") || strings.HasPrefix(word, "//")):
			prompt("> ")
			continue
		case pending == "":
			pending = line
		default:
			pending += "\n" + line
		}
		if unfinished(pending) && (word != "" || !person) { // to a person an empty line is the way out
			prompt(more)
			continue
		}
		if err := evaluate(); err != nil {
			return err
		}
		prompt("> ")
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("read an expression: a line has more than %d KiB", maxLine>>10)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read an expression: %w", err)
	}
	if pending != "" {
		if err := evaluate(); err != nil {
			return err
		}
	}
	prompt("\n")
	return s.ended(failed && !person)
}

func (s *scope) ended(failed bool) error {
	if failed {
		return cmdline.Exit(cmdline.ExitFailure)
	}
	return nil
}

// unfinished says whether brackets, or a text over several lines, are open at the end.
func unfinished(expr string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(expr+"\n"), "", hcl.InitialPos)
	open := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			open--
		}
	}
	return open > 0
}

// print evaluates one expression and prints what it comes to, or why it cannot be evaluated. The error is one of writing.
func (s *scope) print(expr string) (ok bool, err error) {
	r, diags, files := s.eval(s.c.Context, expr)
	if r == nil {
		cmdline.Diagnostics(s.c, diags, files)
		return false, nil
	}
	if !s.c.Bool("json") {
		text := "(sensitive)"
		if !r.sensitive {
			text = written(r.value)
		}
		_, err := fmt.Fprintln(s.c.App.Writer, text)
		return true, err
	}
	doc := ConsoleDocument{Format: 1, Sensitive: r.sensitive}
	if !r.sensitive {
		doc.Type = typeexpr.TypeString(r.value.Type())
		if doc.Value, err = jsonValue(r); err != nil {
			return false, err
		}
	}
	return true, writeLine(s.c.App.Writer, doc)
}

func jsonValue(r *result) (any, error) {
	b, err := ctyjson.Marshal(r.value, r.value.Type())
	if err != nil {
		return nil, fmt.Errorf("write the value as JSON: %w", err)
	}
	return rawJSON(b), nil
}

// rawJSON is JSON that is already encoded.
type rawJSON = json.RawMessage

// writeLine writes a document as one line.
func writeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
