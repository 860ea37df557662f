package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// workspace is a folder with an experiment, its input files and, where it has an equivalent, a build.ninja.
type workspace struct {
	dir   string
	files []string // input files, absolute
}

// header is what every generated experiment begins with.
const header = `target "working_tree" "here" {}

environment "host" "sh" {}
`

// matrixWorkspace has one block of n instances, each with perInstance input files and one output.
func (b *bench) matrixWorkspace(n, perInstance int) (*workspace, error) {
	w := &workspace{dir: filepath.Join(b.dir, fmt.Sprintf("matrix-%d-%d", n, perInstance))}
	for i := range n {
		if err := w.inputs(step(i), perInstance); err != nil {
			return nil, err
		}
	}
	return w, w.write("flameox.hcl", header+fmt.Sprintf(`
build "copy" {
  target      = target.working_tree.here
  environment = environment.host.sh
  matrix      = { i = [for i in range(%d) : format("%%05d", i)] }
  command     = ["cp", "in/${matrix.i}/0", "${out.dir}/out"]
  sources     = ["in/${matrix.i}/*"]
  outputs     = ["out"]
}
`, n))
}

// blocksWorkspace has n separate blocks, each with perBlock input files.
func (b *bench) blocksWorkspace(n, perBlock int) (*workspace, error) {
	w := &workspace{dir: filepath.Join(b.dir, fmt.Sprintf("blocks-%d-%d", n, perBlock))}
	var hcl strings.Builder
	hcl.WriteString(header)
	for i := range n {
		if err := w.inputs(step(i), perBlock); err != nil {
			return nil, err
		}
		fmt.Fprintf(&hcl, `
build "copy%05[1]d" {
  target      = target.working_tree.here
  environment = environment.host.sh
  command     = ["cp", "in/%05[1]d/0", "${out.dir}/out"]
  sources     = ["in/%05[1]d/*"]
  outputs     = ["out"]
}
`, i)
	}
	return w, w.write("flameox.hcl", hcl.String())
}

// bigWorkspace has one block over a few large files.
func (b *bench) bigWorkspace(files int, size int64) (*workspace, error) {
	w := &workspace{dir: filepath.Join(b.dir, "big")}
	block := make([]byte, 1<<20)
	for i := range files {
		for j := range block {
			block[j] = byte(j * (i + 7) >> 3)
		}
		path := filepath.Join(w.dir, "in", strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		for written := int64(0); written < size && err == nil; written += int64(len(block)) {
			_, err = f.Write(block)
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
		w.files = append(w.files, path)
	}
	return w, w.write("flameox.hcl", header+`
build "copy" {
  target      = target.working_tree.here
  environment = environment.host.sh
  command     = ["cp", "in/0", "${out.dir}/out"]
  sources     = ["in/*"]
  outputs     = ["out"]
}
`)
}

// inputs makes n small files, each with bytes of its own.
func (w *workspace) inputs(folder string, n int) error {
	for j := range n {
		name := filepath.Join(folder, strconv.Itoa(j))
		if err := w.write(name, "input "+name+"\n"); err != nil {
			return err
		}
		w.files = append(w.files, filepath.Join(w.dir, name))
	}
	return nil
}

func (w *workspace) write(name, text string) error {
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if b, err := os.ReadFile(path); err == nil && string(b) == text {
		return nil // from an earlier time: a file that is written again has other stamps
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// workers is how many goroutines the baselines inside this program use. More than the two of
// the usual machine do not help lstat.
const workers = 2

// each calls f for every file, from a few goroutines.
func (w *workspace) each(f func(path string) error) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k; i < len(w.files) && errs[k] == nil; i += workers {
				errs[k] = f(w.files[i])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lstat is the least that any tool must do to know whether the files changed.
func (w *workspace) lstat() error {
	return w.each(func(path string) error { _, err := os.Lstat(path); return err })
}

// hash is the least that any tool must do that has never seen the files.
func (w *workspace) hash() error {
	return w.each(func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		// Hiding the file's WriteTo keeps the copy at our buffer size.
		_, err = io.CopyBuffer(sha256.New(), struct{ io.Reader }{f}, make([]byte, 1<<18))
		return err
	})
}
