package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
)

var name = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`}

// ValidName says whether an adapter, a kind of artifact or a version may be called s.
func ValidName(s string) bool { return name.MatchString(s) }

var version = pattern.Lazy{Expr: `^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$`}

// ValidVersion says whether s can be a version.
func ValidVersion(s string) bool { return version.MatchString(s) }

// parser reads one response.
type parser struct {
	r  *jsonscan.Reader
	at []string
}

// response reads an object with api_version and the members of a phase, of which those that are required must be there.
func response(data []byte, members func(p *parser) map[string]func(), required ...string) error {
	p := &parser{r: jsonscan.New(data)}
	fields := members(p)
	fields["api_version"] = func() {
		if v := p.r.Int(); p.r.Err() == nil && v != Version {
			p.wrong("is %d, and this flameox speaks %d", v, Version)
		}
	}
	p.object(fields, append([]string{"api_version"}, required...)...)
	p.r.End()
	return p.r.Err()
}

func (p *parser) wrong(format string, args ...any) {
	where := "the response"
	if len(p.at) > 0 {
		where = strings.Join(p.at, ".")
	}
	p.r.Stop(fmt.Errorf("%s %s", where, fmt.Sprintf(format, args...)))
}

func (p *parser) object(fields map[string]func(), required ...string) {
	seen := map[string]bool{}
	p.r.Object(func(b []byte) {
		n := string(b)
		read := fields[n]
		if read == nil {
			p.wrong("has the member %q, which version %d of the protocol does not have", short(n), Version)
			return
		}
		seen[n] = true
		p.at = append(p.at, n)
		read()
		if p.r.Err() == nil {
			p.at = p.at[:len(p.at)-1]
		}
	})
	for _, n := range required {
		if p.r.Err() == nil && !seen[n] {
			p.wrong("has no member %q", n)
		}
	}
}

func (p *parser) list(most int, element func()) {
	n := 0
	p.r.Array(func() {
		if n++; n > most {
			p.wrong("has more than %d elements", most)
			return
		}
		element()
	})
}

func (p *parser) text(into *string, most int) func() {
	return func() { *into = p.line(most) }
}

// line reads a string without control characters.
func (p *parser) line(most int) string {
	s := p.r.Text()
	switch {
	case p.r.Err() != nil:
	case !utf8.ValidString(s) || token.Has(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		p.wrong("holds control characters, or is not UTF-8")
	case utf8.RuneCountInString(s) > most:
		p.wrong("has more than %d characters", most)
	}
	return s
}

func (p *parser) bool(into *bool) func() {
	return func() {
		raw, _ := p.r.Raw()
		if s := string(raw); p.r.Err() == nil && s != "true" && s != "false" {
			p.wrong("is %s, want true or false", short(s))
		}
		*into = string(raw) == "true"
	}
}

func (p *parser) notes(into *[]Note) func() {
	return func() {
		p.list(maxNotes, func() {
			var n Note
			p.object(map[string]func(){"code": p.text(&n.Code, maxName), "text": p.text(&n.Text, maxText)}, "code", "text")
			if p.r.Err() == nil && !ValidName(n.Code) {
				p.wrong("has the code %q; a code is letters, digits, dots, dashes and underscores", short(n.Code))
			}
			*into = append(*into, n)
		})
	}
}

func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// ParseProbe reads the answer of who it is.
func ParseProbe(data []byte) (out Probe, err error) {
	err = response(data, func(p *parser) map[string]func() {
		return map[string]func(){"name": p.text(&out.Name, maxName), "version": p.text(&out.Version, maxName), "doc": p.text(&out.Doc, maxText)}
	}, "name", "version")
	switch {
	case err != nil:
	case !ValidName(out.Name):
		err = fmt.Errorf("the name %q is none: up to 64 letters, digits, dots, dashes and underscores", short(out.Name))
	case !ValidVersion(out.Version):
		err = fmt.Errorf("the version %q is none: up to 64 letters, digits, dots, dashes, underscores and plus signs", short(out.Version))
	}
	return out, err
}

// ParsePlan reads the answer of what goes in front of the command.
func ParsePlan(data []byte) (out Plan, err error) {
	err = response(data, func(p *parser) map[string]func() {
		return map[string]func(){
			"prefix":            func() { p.list(maxPrefix, func() { out.Prefix = append(out.Prefix, p.line(maxArgument)) }) },
			"outputs":           func() { p.list(maxOutputs, func() { out.Outputs = append(out.Outputs, p.output()) }) },
			"permissions":       func() { p.list(maxNotes, func() { out.Permissions = append(out.Permissions, p.line(maxText)) }) },
			"overhead":          p.text(&out.Overhead, maxText),
			"limitations":       p.notes(&out.Limitations),
			"extractor_version": p.text(&out.ExtractorVersion, maxName),
		}
	}, "prefix", "outputs", "extractor_version")
	if err == nil {
		err = out.check()
	}
	return out, err
}

func (p *parser) output() Output {
	o := Output{Required: true, MediaType: "application/octet-stream"}
	p.object(map[string]func(){
		"path": p.text(&o.Path, maxArgument), "kind": p.text(&o.Kind, maxName), "media_type": p.text(&o.MediaType, maxName),
		"required": p.bool(&o.Required), "sensitive": p.bool(&o.Sensitive),
	}, "path", "kind")
	return o
}

func (p *Plan) check() error {
	if len(p.Prefix) > 0 && p.Prefix[0] == "" {
		return fmt.Errorf("prefix begins with an empty string where a program should be")
	}
	if !ValidVersion(p.ExtractorVersion) {
		return fmt.Errorf("extractor_version is %q, which is no version", short(p.ExtractorVersion))
	}
	if len(p.Outputs) == 0 {
		return fmt.Errorf("outputs is empty, so there would be nothing to extract")
	}
	for i, o := range p.Outputs {
		switch {
		case o.Path == "" || path.IsAbs(o.Path) || strings.Contains(o.Path, `\`) || path.Clean(o.Path) != o.Path || o.Path == "." || o.Path == ".." || strings.HasPrefix(o.Path, "../"):
			return fmt.Errorf("outputs has the path %q, which is not a plain path below the output folder", short(o.Path))
		case !ValidName(o.Kind):
			return fmt.Errorf("outputs has the kind %q: up to 64 letters, digits, dots, dashes and underscores", short(o.Kind))
		case slices.ContainsFunc(p.Outputs[:i], func(other Output) bool { return other.Path == o.Path }):
			return fmt.Errorf("outputs has the path %q twice", short(o.Path))
		}
	}
	return nil
}

// ParseValidated reads the answer of whether an artifact is whole.
func ParseValidated(data []byte) (out Validated, err error) {
	err = response(data, func(p *parser) map[string]func() {
		return map[string]func(){
			"valid": p.bool(&out.Valid), "reasons": p.notes(&out.Reasons), "limitations": p.notes(&out.Limitations),
			"validator_version": p.text(&out.ValidatorVersion, maxName), "producer_version": p.text(&out.Producer, maxName),
		}
	}, "valid", "validator_version")
	switch {
	case err != nil:
	case out.Valid == (len(out.Reasons) > 0):
		err = fmt.Errorf("valid is %v and there are %d reasons; there are some where it is false, and only there", out.Valid, len(out.Reasons))
	case !ValidVersion(out.ValidatorVersion):
		err = fmt.Errorf("validator_version is %q, which is no version", short(out.ValidatorVersion))
	}
	return out, err
}

// ParseExtracted reads the answer of what is in an artifact.
func ParseExtracted(data []byte) (out Extracted, err error) {
	err = response(data, func(p *parser) map[string]func() {
		return map[string]func(){
			"summary": func() {
				if p.r.Kind() != '{' {
					p.wrong("is no object")
					return
				}
				raw, _ := p.r.Raw()
				out.Summary = slices.Clone(raw)
			},
			"limitations": p.notes(&out.Limitations), "extractor_version": p.text(&out.ExtractorVersion, maxName),
		}
	}, "summary", "extractor_version")
	if err == nil && !ValidVersion(out.ExtractorVersion) {
		err = fmt.Errorf("extractor_version is %q, which is no version", short(out.ExtractorVersion))
	}
	if err == nil {
		var b bytes.Buffer
		if err = json.Compact(&b, out.Summary); err == nil && !utf8.Valid(b.Bytes()) {
			err = fmt.Errorf("summary is not UTF-8")
		}
		out.Summary = b.Bytes()
	}
	return out, err
}
