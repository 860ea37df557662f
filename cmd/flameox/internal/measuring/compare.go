package measuring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/paired"
	"github.com/flameox/flameox/measure/session"
)

// Compare is the command compare. Its arguments choose the mode: targets are measured and then compared, a run key names results that are there.
func Compare() *cli.Command {
	measure := measureFlags()
	return &cli.Command{
		Name: "compare", Usage: "measure two sides alternately and compare them, or compare a run that was measured", ArgsUsage: "[BASELINE CONTENDER | TARGET]",
		Description: "BASELINE CONTENDER runs both, one after the other in each of -rounds rounds, and compares them: two revisions of a source, or two environments of one, named by -label " +
			"NAME=BASE,CONTENDER. TARGET alone, with -profile variants, compares two values of a benchmark's parameter. Everything is looked at before anything runs. Targets are those of " +
			"`flameox bench`.\n\n" +
			"-run KEY compares what was measured before, from the store or from the files of -results, and measures nothing.\n\n" +
			"Exit 0 whatever the verdicts are, 2 where nothing can be compared.\n\n" +
			"Examples:\n" +
			"  flameox compare old new -profile revisions -suite bench_sums.py -rounds 5\n" +
			"  flameox compare -run nightly -profile variants -baseline \"'list'\"",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "profile", Usage: "what varies: revisions, environments or variants (default: compare.profile)"},
			&cli.StringFlag{Name: "run", Usage: "compare the results of the run `KEY`, and measure nothing"},
			&cli.StringFlag{Name: "results", Usage: "with -run: the results are the files of `DIR`, and not the store's"},
			&cli.StringFlag{Name: "baseline", Usage: "the side that the other is held against: `VALUE` is a tree or revision, a label's value, a parameter's value"},
			&cli.StringFlag{Name: "label", Usage: "what tells environments apart: `NAME=BASE,CONTENDER`, with -run NAME"},
			&cli.StringFlag{Name: "vary", Usage: "`NAME` of the parameter whose values are compared as variants"},
			&cli.IntFlag{Name: "rounds", Usage: "how often both sides run (default: compare.rounds)"},
			&cli.Float64Flag{Name: "k", Usage: "how many standard errors a change must exceed (default: compare.k, else 3)"},
			&cli.IntFlag{Name: "min-rounds", Usage: "rounds that a verdict needs (default: compare.min_rounds, else 3)"},
		}, measure...), reportFlags()...),
		Action: func(c *cli.Context) error { return compare(c, measure) },
	}
}

// Flags that only one of the modes has. Under variants -baseline chooses a side in both.
var readOnly, measureOnly = []string{"results", "baseline"}, []string{"rounds"}

func compare(c *cli.Context, measure []cli.Flag) error {
	p, err := project(c)
	if err != nil {
		return err
	}
	reads, targets := c.IsSet("run"), c.Args().Slice()
	profile := config.Pick("--profile", c.String("profile"), p.Compare.Profile, "")
	switch {
	case reads && len(targets) > 0:
		return refusedf("--run %s compares what was measured, and the target %s is to be measured: give one of them", c.String("run"), targets[0])
	case !reads && len(targets) == 0:
		return refused(errors.New("nothing to compare is given: compare BASELINE CONTENDER measures two targets, compare --run KEY compares a run that was measured"))
	case !profile.Set():
		return refusedf("no profile is given: say --profile revisions, environments or variants, or set compare.profile in %s", config.FileName)
	}
	other, mode := slices.Clone(readOnly), "measures targets"
	if reads {
		other, mode = slices.Clone(measureOnly), "compares a run that was measured"
		for _, f := range measure {
			other = append(other, f.Names()[0])
		}
	}
	for _, name := range other {
		if c.IsSet(name) && (name != "baseline" || profile.Value != string(comparison.Variants)) {
			return refusedf("--%s is of no use here: this call %s", name, mode)
		}
	}
	// How it is shown, too, before hours of measuring and not after.
	if _, err := wantedGates(c); err != nil {
		return err
	}
	if c.Bool("json") && c.Bool("markdown") {
		return misused(c, "-json and -markdown exclude each other")
	}
	method, err := relative(c, p)
	if err != nil {
		return err
	}
	if reads {
		if name, _, values := strings.Cut(c.String("label"), "="); values {
			return refusedf("--label %s: with --run the label is only named, --label %s, and --baseline is one of its values", c.String("label"), name)
		}
		return readCompare(c, p, comparison.Request{RunKey: c.String("run"), Profile: comparison.Profile(profile.Value), Baseline: c.String("baseline"), Label: c.String("label"), Vary: c.String("vary"), Relative: method})
	}
	return measureCompare(c, p, profile.Value, method)
}

// relative is the method with its constants.
func relative(c *cli.Context, p *config.Config) (paired.RelativeOptions, error) {
	o := paired.RelativeOptions{K: config.DefaultK, MinRounds: config.DefaultRounds}
	if p.Compare.K != nil {
		o.K = *p.Compare.K
	}
	if c.IsSet("k") {
		if o.K = c.Float64("k"); !(o.K >= 0) {
			return o, refusedf("--k %v must be 0 or more", o.K)
		}
	}
	if p.Compare.MinRounds > 0 {
		o.MinRounds = p.Compare.MinRounds
	}
	if c.IsSet("min-rounds") {
		if o.MinRounds = c.Int("min-rounds"); o.MinRounds < 1 {
			return o, refusedf("--min-rounds %d must be 1 or more", o.MinRounds)
		}
	}
	return o, nil
}

func measureCompare(c *cli.Context, p *config.Config, profile string, method paired.RelativeOptions) error {
	rounds := config.Pick("--rounds", 0, p.Compare.Rounds, 0)
	if c.IsSet("rounds") {
		rounds = config.Value[int]{Value: c.Int("rounds"), From: "--rounds"}
	}
	if !rounds.Set() {
		return refusedf("the number of rounds is not given: say --rounds R, or set compare.rounds in %s", config.FileName)
	}
	h, err := newHost(c, p, true)
	if err != nil {
		return refused(err)
	}
	s, err := session.Resolve(p, said(c), session.Compare, h.Dir, time.Now())
	if err != nil {
		return refused(errors.Join(err, h.close()))
	}
	ctx, done := interruptible(c)
	defer done()
	comparing, err := s.PrepareCompare(ctx, h.Host, c.Args().Slice(), session.Asked{Profile: profile, Rounds: rounds.Value, Label: c.String("label"), Vary: c.String("vary"), Baseline: c.String("baseline")})
	if err != nil {
		return ended(ctx, errors.Join(err, h.close()))
	}
	for _, text := range comparing.Unclean() {
		fmt.Fprintf(c.App.ErrWriter, "the comparison will be local-only: %s\n", text)
	}
	if len(comparing.Left) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "without the parameter %s, and so on neither side: %s\n", comparing.Vary, strings.Join(comparing.Left, ", "))
	}
	fmt.Fprintf(c.App.ErrWriter, "run %s: %d rounds, results in %s\n", s.RunKey, rounds.Value, s.Out)
	err = errors.Join(comparing.Run(ctx, h.Host), h.close())
	if err != nil {
		return ended(ctx, err)
	}
	fmt.Fprintln(c.App.ErrWriter, h.report)
	request := comparing.Request()
	request.Relative = method
	return readCompare(c, p, request)
}
