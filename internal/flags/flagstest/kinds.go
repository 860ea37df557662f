package flagstest

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// sample is a value that f accepts: "" for a flag without value. known is false for a flag of a type
// whose values only the application knows.
func sample(f cli.Flag) (value string, known bool) {
	switch f := f.(type) {
	case *cli.StringFlag, *cli.PathFlag, *cli.StringSliceFlag:
		return "-x", true
	case *cli.IntFlag, *cli.Int64Flag, *cli.Float64Flag, *cli.IntSliceFlag, *cli.Int64SliceFlag, *cli.Float64SliceFlag:
		return "-7", true
	case *cli.UintFlag, *cli.Uint64Flag, *cli.UintSliceFlag, *cli.Uint64SliceFlag:
		return "7", true
	case *cli.DurationFlag:
		return "-3s", true
	case *cli.TimestampFlag:
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format(f.Layout), true
	case *cli.GenericFlag:
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			return "", true
		}
		return "x", false
	}
	if d, ok := f.(cli.DocGenerationFlag); ok && !d.TakesValue() {
		return "", true
	}
	return "x", false
}

// whole is a value that must arrive unchanged, for flags of text.
func whole(f cli.Flag) (string, bool) {
	switch f.(type) {
	case *cli.StringFlag, *cli.PathFlag, *cli.StringSliceFlag:
		return `capture.a.b["x=1,y=2"], c`, true
	}
	return "", false
}

// dropActions removes the flags' own callbacks: they may refuse a sample for reasons of the application.
func dropActions(fs []cli.Flag) {
	for _, f := range fs {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Action = nil
		case *cli.PathFlag:
			f.Action = nil
		case *cli.StringSliceFlag:
			f.Action = nil
		case *cli.BoolFlag:
			f.Action = nil
		case *cli.IntFlag:
			f.Action = nil
		case *cli.Int64Flag:
			f.Action = nil
		case *cli.UintFlag:
			f.Action = nil
		case *cli.Uint64Flag:
			f.Action = nil
		case *cli.Float64Flag:
			f.Action = nil
		case *cli.DurationFlag:
			f.Action = nil
		}
	}
}

// requiredArgs gives every required flag on the way to c a value.
func requiredArgs(c *cli.Command, app *cli.App) (args []string) {
	for _, f := range append(append([]cli.Flag{}, app.Flags...), c.Flags...) {
		r, ok := f.(cli.RequiredFlag)
		if !ok || !r.IsRequired() {
			continue
		}
		if value, _ := sample(f); value != "" {
			args = append(args, "-"+f.Names()[0]+"="+value)
		} else {
			args = append(args, "-"+f.Names()[0])
		}
	}
	return args
}

// text is the value of a flag as text, one element a line of a list.
func text(ctx *cli.Context, name string) string {
	if _, ok := ctx.Generic(name).(flag.Getter); !ok {
		return fmt.Sprint(ctx.Generic(name)) // cli's Value panics for these
	}
	switch v := ctx.Value(name).(type) {
	case cli.StringSlice:
		return strings.Join(v.Value(), "\n")
	case cli.Timestamp:
		return fmt.Sprint(v.Value())
	case fmt.Stringer:
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}
