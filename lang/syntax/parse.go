package syntax

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/flameox/flameox/lang/source"
)

// Parse parses a configuration file that has passed source.CheckText. Problems are what no parser may see, in which case there is no
// file; otherwise the file and diagnostics are those of hclsyntax.ParseConfig. Visit, which may be nil, is called with bodies that together are the
// file's, where it has no errors, by several goroutines at once.
func Parse(src []byte, name string, visit func(*hclsyntax.Body)) (*hcl.File, []source.Problem, hcl.Diagnostics) {
	if f := parsePieces(src, name, pieceSize, visit); f != nil {
		return f, nil, nil
	}
	return parseWhole(src, name, visit)
}

func parseWhole(src []byte, name string, visit func(*hclsyntax.Body)) (*hcl.File, []source.Problem, hcl.Diagnostics) {
	if !harmless(src) {
		if problems := source.CheckConfig(src, name); len(problems) > 0 {
			return nil, problems, nil
		}
	}
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if visit != nil && !diags.HasErrors() {
		visit(f.Body.(*hclsyntax.Body))
	}
	return f, nil, diags
}

// pieceSize is how many bytes a piece has at least. Smaller ones cost more in being joined, larger ones more in lists of tokens.
const pieceSize = 512

// maxWorkers bounds the goroutines of one file: planning has other things to do.
const maxWorkers = 4

// piece is a part of a file that begins at the start of a line.
type piece struct {
	src   []byte
	start hcl.Pos
}

// cut divides src behind lines that are a closing brace, into pieces of at least size bytes.
func cut(src []byte, size int) []piece {
	pieces := make([]piece, 0, len(src)/size+1)
	at := hcl.InitialPos
	for len(src) > 0 {
		end := len(src)
		if end > 2*size {
			for from := size; from < len(src); {
				i := bytes.Index(src[from:], []byte("\n}"))
				if i < 0 {
					break
				}
				from += i + 2
				if rest := src[from:]; bytes.HasPrefix(rest, []byte("\n")) {
					end = from + 1
					break
				} else if bytes.HasPrefix(rest, []byte("\r\n")) {
					end = from + 2
					break
				}
			}
		}
		pieces = append(pieces, piece{src[:end:end], at})
		at.Byte += end
		at.Line += bytes.Count(src[:end], []byte{'\n'})
		src = src[end:]
	}
	return pieces
}

// parsePieces is the file where every piece is a body without any diagnostic, and nil otherwise.
func parsePieces(src []byte, name string, size int, visit func(*hclsyntax.Body)) *hcl.File {
	pieces := cut(src, size)
	if len(pieces) < 2 {
		return nil
	}
	bodies := make([]*hclsyntax.Body, len(pieces))
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(pieces) {
				return
			}
			if bodies[i] = parsePiece(pieces[i], name); bodies[i] == nil {
				failed.Store(true)
				return
			}
			if visit != nil {
				visit(bodies[i])
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers, len(pieces)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if failed.Load() {
		return nil
	}
	body := join(bodies)
	if body == nil {
		return nil
	}
	return &hcl.File{Body: body, Bytes: src}
}

func parsePiece(p piece, name string) *hclsyntax.Body {
	// Between pieces nothing is open, so what is counted in one has no bearing on the next.
	if !harmless(p.src) && len(source.CheckConfig(p.src, name)) > 0 {
		return nil
	}
	// A byte order mark is skipped where a text begins and an error elsewhere.
	if bytes.HasPrefix(p.src, []byte{0xEF, 0xBB, 0xBF}) {
		return nil
	}
	f, diags := hclsyntax.ParseConfig(p.src, name, p.start)
	if len(diags) > 0 {
		return nil
	}
	return f.Body.(*hclsyntax.Body)
}

// join is one body of all, nil where an argument is set in two of them.
func join(bodies []*hclsyntax.Body) *hclsyntax.Body {
	first, last := bodies[0], bodies[len(bodies)-1]
	whole := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, EndRange: last.EndRange, SrcRange: hcl.RangeBetween(first.SrcRange, last.SrcRange)}
	n := 0
	for _, b := range bodies {
		n += len(b.Blocks)
	}
	whole.Blocks = make(hclsyntax.Blocks, 0, n)
	for _, b := range bodies {
		whole.Blocks = append(whole.Blocks, b.Blocks...)
		for name, a := range b.Attributes {
			if whole.Attributes[name] != nil {
				return nil
			}
			whole.Attributes[name] = a
		}
	}
	return whole
}
