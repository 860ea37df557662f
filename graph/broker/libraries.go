package broker

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLibraries bounds the closure of one program.
const maxLibraries = 512

// libraryCache is where the dynamic loader of glibc remembers what it found.
const libraryCache = "/etc/ld.so.cache"

// loader finds shared libraries as the dynamic loader does. It is made for one program.
type loader struct {
	env     Env
	class   elf.Class
	machine elf.Machine
	cached  map[string][]string // of ld.so.cache: paths by name; read at the first question
	seen    map[string]bool     // real paths
	opened  map[string]opened   // by path: most are asked for by several others, and once more to be followed
	found   []Link
	missing []string
}

// opened is what open came to.
type opened struct {
	o   *object
	err error
}

// object is what the loader needs to know of a file.
type object struct {
	path           string
	needed         []string
	rpath, runpath []string
	interpreter    string
}

// addLibraries adds the shared libraries that the last file of the chain loads, and those that these load: another libc is another program. What
// is opened while it runs (dlopen) is not seen.
func (x *Executable) addLibraries(env Env) {
	last := x.Chain[len(x.Chain)-1]
	for i := len(x.Chain) - 1; i >= 0 && (last.Kind == KindTool || last.Kind == KindData); i-- {
		last = x.Chain[i] // the launcher, not what its toolchain holds
	}
	l := &loader{env: env, seen: map[string]bool{}, opened: map[string]opened{}}
	root, err := l.open(last.Real)
	if err != nil || root == nil {
		return // no ELF file, or one that nothing is known of; the kernel says so when it is started
	}
	l.follow(root, nil, env.Preload)
	x.Libraries = l.found
	slices.SortFunc(x.Libraries, func(a, b Link) int { return strings.Compare(a.Asked, b.Asked) })
	if len(l.missing) > 0 {
		slices.Sort(l.missing)
		x.Limitations = append(x.Limitations, fmt.Sprintf("shared libraries that %s asks for are not found where the loader looks, and are in no key: %s", last.Real, strings.Join(slices.Compact(l.missing), ", ")))
	}
}

// open is what is at path, which is read once. It is nil for a file that is no ELF file, or of another kind than the program.
func (l *loader) open(path string) (*object, error) {
	r, known := l.opened[path]
	if !known {
		l.env.looked(path)
		r.o, r.err = l.read(path)
		l.opened[path] = r
	}
	return r.o, r.err
}

// read reads the dynamic section.
func (l *loader) read(path string) (*object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != elf.ELFMAG {
		return nil, nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	if l.class == elf.ELFCLASSNONE {
		l.class, l.machine = e.Class, e.Machine
	}
	if e.Class != l.class || e.Machine != l.machine {
		return nil, nil
	}
	o := &object{path: path}
	if o.needed, err = dynamicTexts(e, elf.DT_NEEDED); err != nil {
		return nil, err
	}
	for tag, into := range map[elf.DynTag]*[]string{elf.DT_RPATH: &o.rpath, elf.DT_RUNPATH: &o.runpath} {
		values, err := dynamicTexts(e, tag)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			*into = append(*into, o.expand(v)...)
		}
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				o.interpreter = string(bytes.TrimRight(b, "\x00"))
			}
		}
	}
	return o, nil
}

// dynamicTexts is elf.File.DynString without reading the whole table of texts at each call: that of node, which exports what its
// add-ons may use, is megabytes.
func dynamicTexts(e *elf.File, tag elf.DynTag) (texts []string, err error) {
	section := e.SectionByType(elf.SHT_DYNAMIC)
	if section == nil {
		return nil, nil
	}
	offsets, err := e.DynValue(tag)
	if err != nil || len(offsets) == 0 {
		return nil, err
	}
	if section.Link == 0 || int(section.Link) >= len(e.Sections) {
		return nil, errors.New("its dynamic section has no table of texts")
	}
	table := e.Sections[section.Link]
	for _, at := range offsets {
		if at >= table.Size {
			continue
		}
		b, err := bufio.NewReader(io.NewSectionReader(table, int64(at), int64(table.Size-at))).ReadBytes(0)
		if err == io.EOF {
			continue // not ended: no text
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(b[:len(b)-1]))
	}
	return texts, nil
}

// expand splits a search path and fills in where the object lies.
func (o *object) expand(list string) (dirs []string) {
	for d := range strings.SplitSeq(list, ":") {
		if d != "" {
			dirs = append(dirs, strings.NewReplacer("$ORIGIN", filepath.Dir(o.path), "${ORIGIN}", filepath.Dir(o.path)).Replace(d))
		}
	}
	return dirs
}

// follow adds what o needs. above are the search paths that o's loaders hand down (DT_RPATH); names are more libraries to load first.
func (l *loader) follow(o *object, above, names []string) {
	if o.interpreter != "" {
		l.add(filepath.Base(o.interpreter), o.interpreter, nil)
	}
	handed := above
	if len(o.runpath) == 0 {
		handed = append(slices.Clone(o.rpath), above...)
	}
	for _, name := range append(slices.Clone(names), o.needed...) {
		path := l.find(name, o, handed)
		if path == "" {
			l.missing = append(l.missing, name)
			continue
		}
		l.add(name, path, handed)
	}
}

func (l *loader) add(name, path string, handed []string) {
	if len(l.found) >= maxLibraries {
		return
	}
	link, err := newLink(l.env, path, path, KindLibrary)
	if err != nil || l.seen[link.Real] {
		return
	}
	l.seen[link.Real] = true
	link.Asked = name
	l.found = append(l.found, link)
	if o, err := l.open(link.Real); err == nil && o != nil {
		library := *o
		library.interpreter = ""
		l.follow(&library, handed, nil)
	}
}

// find is where the loader finds a library that o needs: "" where it does not.
func (l *loader) find(name string, o *object, handed []string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.env.Dir, name)
		}
		return l.usable(name)
	}
	var dirs []string
	if len(o.runpath) == 0 {
		dirs = append(dirs, handed...)
	}
	dirs = append(dirs, l.env.Libraries...)
	dirs = append(dirs, o.runpath...)
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			d = filepath.Join(l.env.Dir, d)
		}
		if p := l.usable(filepath.Join(d, name)); p != "" {
			return p
		}
	}
	if l.cached == nil {
		l.env.looked(libraryCache)
		b, err := os.ReadFile(libraryCache)
		if err != nil {
			b = nil
		}
		l.cached = parseLibraryCache(b)
	}
	for _, p := range l.cached[name] {
		if p := l.usable(p); p != "" {
			return p
		}
	}
	for _, d := range []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		if p := l.usable(filepath.Join(d, name)); p != "" {
			return p
		}
	}
	return ""
}

// usable is path where it is a library of the program's kind, else "".
func (l *loader) usable(path string) string {
	if o, err := l.open(path); err != nil || o == nil {
		return ""
	}
	return path
}

// parseLibraryCache reads ld.so.cache, in the format that glibc writes since 2.32: a header, entries of name and path, texts. What it cannot read is empty.
func parseLibraryCache(b []byte) map[string][]string {
	const magic = "glibc-ld.so.cache1.1"
	const header, entry = 48, 24
	out := map[string][]string{}
	i := bytes.Index(b, []byte(magic)) // an older format may stand before it
	if i < 0 {
		return out
	}
	b = b[i:]
	if len(b) < header {
		return out
	}
	order := binary.NativeEndian
	n := uint64(order.Uint32(b[20:]))
	if header+n*entry > uint64(len(b)) {
		return out
	}
	text := func(at uint32) string {
		if uint64(at) >= uint64(len(b)) {
			return ""
		}
		s, _, ok := bytes.Cut(b[at:], []byte{0})
		if !ok {
			return ""
		}
		return string(s)
	}
	for k := range n {
		e := b[header+k*entry:]
		if hwcap := order.Uint64(e[16:]); hwcap != 0 {
			continue // a variant for some processors: which of them is loaded is the loader's to know
		}
		if name, path := text(order.Uint32(e[4:])), text(order.Uint32(e[8:])); name != "" && path != "" {
			out[name] = append(out[name], path)
		}
	}
	return out
}
