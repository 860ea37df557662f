package kernelbuild

import (
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
)

// Build is what a document is made of.
type Build struct {
	Producer    string // as the document names it
	Version     string // "" where it is not known
	Target      string // as declared; "" where nothing is
	Succeeded   bool   // the program ended as it should
	Exit        *int
	Workload    Workload
	Environment map[string]string
	Files       []File
	Kinds       []Kind
	Limitations []evidence.Limitation
}

// Document makes the document of a build. Its stages are the files of a known kind, and the reproducers.
func (b *Build) Document() *Document {
	d := &Document{
		Schema: Schema, Producer: b.Producer, Version: b.Version, Outcome: Failed, Exit: b.Exit, Cache: Unknown, Target: b.Target,
		Workload: b.Workload, Environment: b.Environment, Stages: Stages(b.Files, b.Kinds), Limitations: b.Limitations,
	}
	if d.Version == "" {
		d.Version = Unknown
	}
	// A reader of the document finds lists where there are lists.
	if d.Stages == nil {
		d.Stages = []Stage{}
	}
	if d.Limitations == nil {
		d.Limitations = []evidence.Limitation{}
	}
	if d.Environment == nil {
		d.Environment = map[string]string{}
	}
	switch {
	case b.Succeeded && len(d.Stages) > 0:
		d.Outcome = Succeeded
	case b.Succeeded:
		d.Outcome = Inconclusive
	}
	return d
}

var name = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`}

// CheckName refuses what can be no file or folder of a capture. argument is what the user wrote it as.
func CheckName(argument, value string) error {
	if !name.MatchString(value) {
		return fmt.Errorf("%s = %q is no name of one file or folder: write up to 200 letters, digits, dots, underscores and hyphens, the first a letter or a digit", argument, value)
	}
	return nil
}

var target = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9._:/+-]{0,199}$`}

// CheckTarget refuses what can be no declared target; "" is none.
func CheckTarget(value string) error {
	if value != "" && !target.MatchString(value) {
		return fmt.Errorf("target = %q is no target: write up to 200 letters, digits and ._:/+-, such as \"cuda:80\" or \"sm_90a\"", value)
	}
	return nil
}
