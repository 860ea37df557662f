package completion

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/flags"
)

//go:embed completion.bash completion.zsh completion.fish
var scripts embed.FS

// Hidden is the name of the command that the scripts call.
const Hidden = "__complete"

// Command prints the script of a shell.
func Command() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the script that completes command lines in a shell", ArgsUsage: "bash|zsh|fish",
		Description: "Completes commands, flags, their values, the addresses of the experiment and the ids of runs. The script asks this binary, " +
			"so it stays right when flameox is updated.\n\n" +
			"In ~/.bashrc:\n" +
			"  source <(flameox completion bash)\n" +
			"In ~/.zshrc, after compinit:\n" +
			"  source <(flameox completion zsh)\n" +
			"In ~/.config/fish/config.fish:\n" +
			"  flameox completion fish | source\n\n" +
			"Examples:\n" +
			"  flameox completion bash > flameox.bash\n" +
			"  flameox completion zsh > _flameox\n" +
			"  flameox completion fish > flameox.fish",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "completion takes one shell: bash, zsh or fish")
			}
			b, err := scripts.ReadFile("completion." + c.Args().First())
			if err != nil {
				return flags.Usage(c, "there is no completion for %q; there is for bash, zsh and fish", c.Args().First())
			}
			_, err = c.App.Writer.Write(b)
			return err
		},
	}
}

// Answering is the hidden command: `__complete SHELL …` prints the kind of the answer, then one candidate a line with a tab and what it
// is. bash hands over its line up to the cursor and its word breaks, and gets what it has to insert; zsh and fish hand over the words.
func Answering() *cli.Command {
	return &cli.Command{
		Name: Hidden, Usage: "answer a shell", Hidden: true, HideHelp: true, SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			// A line being typed is no place for an error, not even for one of this program's own.
			defer func() { _ = recover() }()
			answer(c, c.Args().Slice())
			return nil
		},
	}
}

func answer(c *cli.Context, args []string) {
	if len(args) < 2 {
		return
	}
	var words []word
	shell, args := args[0], args[1:]
	switch shell {
	case "bash":
		breaks := ""
		if len(args) > 1 {
			breaks = args[1]
		}
		words = arguments(split(args[0], breaks))
	default:
		for _, a := range args {
			words = append(words, word{text: a})
		}
		if last := len(words) - 1; shell == "fish" { // its current token is as it was typed
			pieces := split(args[last], "")
			words[last] = pieces[len(pieces)-1]
		}
	}
	typed := words[len(words)-1]
	var before []string
	for _, w := range words[:len(words)-1] {
		before = append(before, w.text)
	}
	s := read(c.App, before)
	src := &experiment{ctx: c.Context, app: c.App, dir: ".", vars: s.given["var"], varFiles: s.given["var-file"]}
	if dirs := s.given["C"]; len(dirs) > 0 {
		src.dir = dirs[len(dirs)-1]
	}
	print(c.App.Writer, shell, typed, Complete(s, typed.text, src))
}

func print(out io.Writer, shell string, typed word, a Answer) {
	w := bufio.NewWriter(out)
	defer w.Flush()
	kind := string(a.Kind)
	if shell != "bash" {
		fmt.Fprintln(w, kind)
		for _, c := range a.List {
			fmt.Fprintf(w, "%s\t%s\n", c.Value, strings.Join(strings.Fields(c.About), " "))
		}
		return
	}
	unfinished := len(a.List) > 0
	for _, c := range a.List {
		unfinished = unfinished && strings.ContainsAny(c.Value[len(c.Value)-1:], "=:")
	}
	if a.Kind == Words && unfinished {
		kind = "nospace"
	}
	fmt.Fprintln(w, kind)
	for _, c := range a.List {
		fmt.Fprintln(w, typed.replacement(c.Value))
	}
}
