package tool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
)

// version is raised whenever what is made of the same download changes.
const version = 1

// maxSize is the most bytes that a download, or an executable in it, may have.
const maxSize = 2 << 30

// Kind is the block `tool "<name>"`.
type Kind struct{}

// Options of a tool.
type Options struct {
	Revision   string        `arg:"revision" doc:"the release, as those who publish it call it, such as \"v2.12.0\"" facet:"exempt: a name for what the digests identify; recorded"`
	URL        string        `arg:"url" doc:"where it is downloaded: https, file, or http on this machine" facet:"exempt: the digests say what is downloaded, wherever it comes from"`
	Size       int64         `arg:"size" doc:"bytes of what is downloaded" facet:"exempt: the digest says it"`
	SHA256     string        `arg:"sha256" doc:"SHA-256 of what is downloaded" facet:"executables"`
	Member     string        `arg:"member,optional" doc:"path of the executable in the archive that is downloaded (tar, tar.gz, zip); without it what is downloaded is the executable, perhaps as .gz" facet:"executables"`
	Executable string        `arg:"executable_sha256" doc:"SHA-256 of the executable" facet:"executables"`
	Timeout    time.Duration `arg:"timeout" default:"\"30m\"" doc:"after this the download has failed; what has come is kept, and the next one goes on from there" facet:"exempt: ends a download, does not change what it brings"`
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "tool", Labels: []string{"name"},
		Doc: "A program that flameox downloads, checks and keeps.",
		Schemas: map[string]*lang.Schema{"": {
			Doc: "A managed binary. It is downloaded once, and nothing of it is run before the digests of the download and of the executable are what the configuration " +
				"says; the executable is hashed again before every use. Commands name it by its token path. Its users' keys have the digest of the executable.",
			Options: &Options{},
			Tokens:  []lang.Attr{{Name: "path", Type: cty.String, Doc: "the executable, while a stage runs"}},
			Stage:   true,
		}},
	}
}

// Tool is an instance of the block.
type Tool struct {
	Address    string // of the block
	o          *Options
	url        *url.URL
	archive    digest.Digest
	executable digest.Digest
	name       string // of the executable's file
	dir        string // folder of the configuration, absolute
}

// Compile makes a pure node.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	dir := filepath.Join(c.Project.Root, filepath.FromSlash(c.Project.Dir))
	tool, err := New(inst.Block.Address(), inst.Options.(*Options), dir)
	if err != nil {
		return nil, err
	}
	n := c.Node(inst, graph.Pure, tool)
	n.Attempts = 1
	n.Command = "fetch " + redact(tool.url)
	return &kind.Compiled{Node: n, Value: tool, Exact: true, Tokens: map[string]kind.Token{"path": {Node: n, File: tool}}}, nil
}

// New checks the options. dir is the absolute folder of the configuration.
func New(block string, o *Options, dir string) (*Tool, error) {
	t := &Tool{Address: block, o: o, dir: dir}
	var err error
	if t.url, err = parseURL(o.URL); err != nil {
		return nil, err
	}
	for _, d := range []struct {
		name, text string
		to         *digest.Digest
	}{{"sha256", o.SHA256, &t.archive}, {"executable_sha256", o.Executable, &t.executable}} {
		if *d.to, err = digest.Parse(d.text); err != nil {
			return nil, fmt.Errorf("%s is %q: give the 64 hexadecimal digits of a SHA-256", d.name, d.text)
		}
	}
	t.name = path.Base(t.url.Path)
	switch {
	case o.Revision == "":
		return nil, errors.New("revision is empty: give the release, so that people know what the digests are of")
	case o.Size <= 0 || o.Size > maxSize:
		return nil, fmt.Errorf("size is %d: give the bytes of the download, at most %d", o.Size, int64(maxSize))
	case o.Timeout <= 0 || o.Timeout > 24*time.Hour:
		return nil, fmt.Errorf("timeout is %s: give more than 0 and at most 24h", o.Timeout)
	case o.Member != "" && (!filepath.IsLocal(o.Member) || path.Clean(o.Member) != o.Member || strings.Contains(o.Member, `\`)):
		return nil, fmt.Errorf("member is %q: give the path of a file in the archive, as the archive lists it, without dots in front: bin/tool", o.Member)
	case o.Member != "":
		t.name = path.Base(o.Member)
	case t.archive == t.executable:
	default:
		t.name = strings.TrimSuffix(t.name, ".gz")
	}
	if !filepath.IsLocal(t.name) || t.name == "." {
		return nil, fmt.Errorf("url is %q, which does not end with the name of a file", o.URL)
	}
	return t, nil
}

// parseURL accepts what can be fetched without trusting the way: the digests decide, but nothing is asked of other machines in the clear.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("url is no address: %w", errors.Unwrap(err))
	}
	switch {
	case u.User != nil:
		return nil, errors.New("url has a user or a password, which would stand in the configuration and in records: give an address without")
	case u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && path.IsAbs(u.Path):
	case u.Scheme == "https" && u.Host != "":
	case u.Scheme == "http" && onThisMachine(u.Hostname()):
	case u.Scheme == "http":
		return nil, fmt.Errorf("url is %q: http is for this machine only; give https", s)
	default:
		return nil, fmt.Errorf("url is %q: give https://…, file:///…, or http:// with an address of this machine", s)
	}
	return u, nil
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// redact leaves the query out: it may hold a signature.
func redact(u *url.URL) string {
	v := *u
	if v.RawQuery != "" {
		v.RawQuery = "…"
	}
	return v.String()
}

// Archive is the SHA-256 of what is downloaded.
func (t *Tool) Archive() digest.Digest { return t.archive }

func (t *Tool) manifest() facet.Manifest {
	f := facet.Facet{Name: facet.Executables}
	f.AddNote("tool.archive", t.archive.String(), t.o.Revision)
	if t.o.Member != "" {
		f.Add("tool.member", t.o.Member)
	}
	f.AddNote("tool.executable", t.executable.String(), t.o.Revision)
	return facet.New(kind.Definition("tool", version), f)
}

// Fact identifies the tool in the executables facet of its users.
func (t *Tool) Fact() facet.Entry {
	return facet.Entry{Name: "executable", Value: t.executable.String(), Note: t.name + " " + t.o.Revision}
}

// Actions is one action: bring the tool here. It is exact before anything is downloaded.
func (t *Tool) Actions(context.Context, *graph.Results) ([]*graph.Action, error) {
	return []*graph.Action{{Manifest: t.manifest(), Run: t.make}}, nil
}

// archiveName is the name of the output that has what was downloaded.
const archiveName = "archive"

func (t *Tool) make(ctx context.Context, task *graph.Task) (*cache.Record, error) {
	rec := &cache.Record{
		Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Dir: t.dir, Producer: t.o.Revision,
		Argv: []string{"fetch", redact(t.url)},
	}
	err := t.acquire(ctx, task)
	if err == nil {
		rec.Outputs = append(rec.Outputs, cache.Output{Name: archiveName, Role: archiveName, MediaType: "application/octet-stream", Digest: t.archive, Size: t.o.Size})
		rec.Limitations, err = t.Ready(ctx, task)
	}
	var wrong *Error
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		rec.Execution = cache.ExecutionCancelled
		return rec.Fail("cancelled", "flameox was interrupted; what was downloaded is kept, and the next apply goes on from there"), nil
	case errors.As(err, &wrong):
		rec.Outputs, rec.Execution, rec.Capture = nil, cache.ExecutionFailed, cache.CaptureFailed
		return rec.Fail("tool_"+string(wrong.Kind), wrong.Error()), nil
	}
	return nil, err
}
