package kernelbuild

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// Facts are what a file says of how it was built. "" is what it does not say.
type Facts struct {
	Target   string // sm_80, amdgpu9.42-amd-amdhsa-unknown-gfx942, cuda:80
	Language string // version of PTX
	Producer string // version of Triton
}

// mostMetadata is the size up to which a file of metadata is read.
const mostMetadata = 1 << 20

var tritonVersion = pattern.Lazy{Expr: `!"Triton version ([0-9A-Za-z.+_-]{1,100})"`}

// ReadFacts reads what the format of the kind documents. A kind without such a thing has none, and r is not read.
func ReadFacts(kind string, r io.Reader) (Facts, error) {
	switch kind {
	case "ptx":
		return directives(r, func(f *Facts, line string) bool {
			if v, ok := directive(line, ".version"); ok {
				f.Language = v
			}
			if v, ok := directive(line, ".target"); ok {
				f.Target = strings.TrimSpace(strings.Split(v, ",")[0])
			}
			return f.Language != "" && f.Target != ""
		})
	case "amdgcn":
		return directives(r, func(f *Facts, line string) bool {
			if v, ok := directive(line, ".amdgcn_target"); ok {
				f.Target = strings.Trim(v, `"`)
			}
			return f.Target != ""
		})
	case "llir":
		return directives(r, func(f *Facts, line string) bool {
			if m := tritonVersion.FindStringSubmatch(line); m != nil {
				f.Producer = m[1]
			}
			return f.Producer != ""
		})
	case "json", "metadata":
		return metadata(r)
	}
	return Facts{}, nil
}

// directives calls see for each line until it has what it wants. A line is cut at 64 KiB: directives are short, and inlined data is not.
func directives(r io.Reader, see func(f *Facts, line string) bool) (f Facts, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, more, err := in.ReadLine()
		if err == io.EOF {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		if see(&f, string(line)) {
			return f, nil
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return f, err
		}
	}
}

// directive is what follows a word that begins a line. Of what is printable, at most 200 bytes.
func directive(line, word string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), word)
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "//")
	rest = strings.TrimSpace(rest)
	return rest, rest != "" && len(rest) <= 200
}

// metadata reads Triton's: what is not of the documented type is not there.
func metadata(r io.Reader) (f Facts, err error) {
	data, err := io.ReadAll(io.LimitReader(r, mostMetadata+1))
	if err != nil || len(data) > mostMetadata {
		return f, err
	}
	var doc struct {
		Version json.RawMessage `json:"triton_version"`
		Target  struct {
			Backend string          `json:"backend"`
			Arch    json.RawMessage `json:"arch"`
		} `json:"target"`
	}
	if json.Unmarshal(data, &doc) != nil {
		return f, nil
	}
	var version, arch string
	var number int
	if json.Unmarshal(doc.Version, &version) == nil {
		f.Producer = version
	}
	if json.Unmarshal(doc.Target.Arch, &number) == nil {
		arch = fmt.Sprint(number)
	} else if json.Unmarshal(doc.Target.Arch, &arch) != nil {
		arch = ""
	}
	if doc.Target.Backend != "" && arch != "" {
		f.Target = doc.Target.Backend + ":" + arch
	}
	return f, nil
}
