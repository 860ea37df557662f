package broker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"
)

// Pattern asks for outputs.
type Pattern struct {
	Glob     string // relative, with slashes; * stays within a directory, ** does not
	Required bool   // that nothing matches is a refusal
}

// Limits bound what is taken. Zero means the default.
type Limits struct {
	Files     int   // that match; 10,000
	Entries   int   // that are looked at; 200,000
	FileBytes int64 // of one file; no bound
	Bytes     int64 // of all files; no bound
}

// RefusalCode is a class of reasons.
type RefusalCode string

// The reasons for which an output is not taken.
const (
	RefusedSymlink    RefusalCode = "symlink"
	RefusedHardLink   RefusalCode = "hard_link"
	RefusedDevice     RefusalCode = "device"
	RefusedFifo       RefusalCode = "fifo"
	RefusedSocket     RefusalCode = "socket"
	RefusedOutside    RefusalCode = "outside" // the path leads out of the directory
	RefusedTooLarge   RefusalCode = "too_large"
	RefusedTooMany    RefusalCode = "too_many"
	RefusedBadName    RefusalCode = "bad_name"
	RefusedChanged    RefusalCode = "changed" // while it was read
	RefusedUnreadable RefusalCode = "unreadable"
	RefusedMissing    RefusalCode = "missing"
	RefusedPattern    RefusalCode = "bad_pattern"
)

// Refusal says why an output, or a pattern, was not taken. It is also the error of File.Read.
type Refusal struct {
	Path string // relative to the directory; of a pattern, the pattern
	Code RefusalCode
	Text string // a sentence
}

func (r *Refusal) Error() string { return r.Text }

// File is an output that may be read.
type File struct {
	Path    string // relative to the directory, with slashes
	Size    int64  // bytes
	Pattern int    // index of the first pattern that matches

	root *boundary
	id   fileID
}

type fileID struct {
	identity
	nlink uint64
}

// boundary is the directory that nothing is opened outside of.
type boundary struct {
	dir  *os.File // closed when the last File that needs it is gone
	name string
	// walk says that openat2 is missing: an old kernel, or a filter that does not know it.
	walk bool
}

// Snapshot lists the regular files below dir that match a pattern, sorted by path, and refuses everything else that matches. It
// opens nothing but directories, follows no symbolic link below dir, and never leaves dir; the files are read through File.Read. Whoever
// made the files may still run: what changes afterwards is refused when it is read.
func Snapshot(dir string, patterns []Pattern, limits Limits) ([]File, []Refusal) {
	limits.Files, limits.Entries = cmp.Or(limits.Files, 10_000), cmp.Or(limits.Entries, 200_000)
	s := &snapshot{patterns: patterns, limits: limits, hits: make([]int, len(patterns))}
	for i, p := range patterns {
		if !doublestar.ValidatePattern(p.Glob) || p.Glob == "" || strings.HasPrefix(p.Glob, "/") || slices.Contains(strings.Split(p.Glob, "/"), "..") {
			s.refuse(p.Glob, RefusedPattern, "the output pattern %q is not a relative glob without \"..\"", p.Glob)
			s.hits[i]++ // one refusal is enough
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.refuse(".", RefusedUnreadable, "open the output directory %s: %v", dir, err)
		return nil, s.refused
	}
	s.root = &boundary{dir: os.NewFile(uintptr(fd), dir), name: dir}
	s.root.probe()
	s.directory("")
	for i, p := range patterns {
		if p.Required && s.hits[i] == 0 && !s.full {
			s.refuse(p.Glob, RefusedMissing, "nothing in %s matches the required output %s", dir, p.Glob)
		}
	}
	slices.SortFunc(s.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return s.files, s.refused
}

type snapshot struct {
	root     *boundary
	patterns []Pattern
	limits   Limits
	hits     []int // by pattern: files and refusals that match
	files    []File
	refused  []Refusal
	entries  int
	bytes    int64
	full     bool
}

func (s *snapshot) refuse(path string, code RefusalCode, format string, args ...any) {
	s.refused = append(s.refused, Refusal{Path: path, Code: code, Text: fmt.Sprintf(format, args...)})
}

// match is the index of the first pattern that matches, or -1; every match is counted.
func (s *snapshot) match(rel string) int {
	first := -1
	for i, p := range s.patterns {
		if ok, err := doublestar.Match(p.Glob, rel); err == nil && ok {
			s.hits[i]++
			if first < 0 {
				first = i
			}
		}
	}
	return first
}

// leads says whether a pattern names something below rel: a link there stands for outputs that were asked for.
func (s *snapshot) leads(rel string) bool {
	at := strings.Split(rel, "/")
	return slices.ContainsFunc(s.patterns, func(p Pattern) bool {
		glob := strings.Split(p.Glob, "/")
		if len(glob) <= len(at) || slices.Contains(glob[:len(at)], "**") {
			return false
		}
		ok, err := doublestar.Match(strings.Join(glob[:len(at)], "/"), rel)
		return err == nil && ok
	})
}

// reaches says whether a pattern can match anything below the directory rel.
func (s *snapshot) reaches(rel string) bool {
	at := strings.Split(rel, "/")
	return slices.ContainsFunc(s.patterns, func(p Pattern) bool {
		glob := strings.Split(p.Glob, "/")
		for i := range at {
			if i >= len(glob) {
				return false
			}
			if strings.Contains(glob[i], "**") || strings.ContainsAny(glob[i], "{}") {
				return true
			}
			if ok, err := doublestar.Match(glob[i], at[i]); err != nil || !ok {
				return false
			}
		}
		return len(glob) > len(at)
	})
}

// directory looks at the entries of the directory rel, "" for the root.
func (s *snapshot) directory(rel string) {
	where := cmp.Or(rel, ".")
	fd, err := s.root.open(where, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		s.refuse(where, openCode(err), "open the directory %s of the outputs: %v", where, explainOpen(err))
		return
	}
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	for !s.full {
		entries, err := f.Readdirnames(1024)
		for _, name := range entries {
			if s.entries++; s.entries > s.limits.Entries {
				s.full = true
				s.refuse(where, RefusedTooMany, "the output directory has more than %d entries; the rest was not looked at", s.limits.Entries)
				return
			}
			s.entry(fd, path.Join(rel, name), name)
			if s.full {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				s.refuse(where, RefusedUnreadable, "list the directory %s of the outputs: %v", where, plain(err))
			}
			return
		}
	}
}

func (s *snapshot) entry(dir int, rel, name string) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if s.match(rel) >= 0 {
			s.refuse(rel, RefusedChanged, "%s disappeared while the outputs were listed", rel)
		}
		return
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if s.reaches(rel) {
			s.directory(rel)
		}
		return
	}
	i := s.match(rel)
	if i < 0 {
		if st.Mode&unix.S_IFMT == unix.S_IFLNK && s.leads(rel) {
			s.refuse(rel, RefusedSymlink, "%s is a symbolic link; outputs behind it are not taken, because it can lead anywhere: write them into a real directory", rel)
		}
		return
	}
	if !utf8.ValidString(rel) || strings.ContainsFunc(rel, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		s.refuse(rel, RefusedBadName, "the output %q has a name with control characters or invalid UTF-8; rename it", rel)
		return
	}
	if r := s.admit(rel, &st); r != nil {
		s.refused = append(s.refused, *r)
		return
	}
	if len(s.files) == s.limits.Files {
		s.full = true
		s.refuse(rel, RefusedTooMany, "more than %d files match the outputs; the rest was not taken", s.limits.Files)
		return
	}
	if s.limits.Bytes > 0 && st.Size > s.limits.Bytes-s.bytes {
		s.refuse(rel, RefusedTooLarge, "%s has %d bytes, with which the outputs pass their limit of %d bytes", rel, st.Size, s.limits.Bytes)
		return
	}
	s.bytes += st.Size
	s.files = append(s.files, File{Path: rel, Size: st.Size, Pattern: i, root: s.root, id: fileIDOf(&st)})
}

func fileIDOf(st *unix.Stat_t) fileID { return fileID{identityOf(st), uint64(st.Nlink)} }

// admit refuses what is not a regular file with one name.
func (s *snapshot) admit(rel string, st *unix.Stat_t) *Refusal {
	no := func(code RefusalCode, text string) *Refusal {
		return &Refusal{Path: rel, Code: code, Text: rel + " " + text}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		return no(RefusedSymlink, "is a symbolic link; outputs are not taken through links, because they can lead anywhere: write a regular file")
	case unix.S_IFIFO:
		return no(RefusedFifo, "is a named pipe, which has no content to keep: write a regular file")
	case unix.S_IFSOCK:
		return no(RefusedSocket, "is a socket, which has no content to keep: write a regular file")
	default:
		return no(RefusedDevice, "is a device, which is never opened: write a regular file")
	}
	if st.Nlink != 1 {
		return no(RefusedHardLink, fmt.Sprintf("has %d names (hard links), so something else can change it or it is somebody else's file: copy it instead of linking it", st.Nlink))
	}
	if s.limits.FileBytes > 0 && st.Size > s.limits.FileBytes {
		return no(RefusedTooLarge, fmt.Sprintf("has %d bytes, over the limit of %d bytes for one output", st.Size, s.limits.FileBytes))
	}
	return nil
}

// Read opens the file without following a link, hands its content to fn, and refuses the file where it is not the one that was
// listed or changed while fn read it. The error is a *Refusal or fn's. What fn did with the content counts only when Read returns nil.
func (f *File) Read(fn func(io.Reader) error) error {
	no := func(code RefusalCode, format string, args ...any) error {
		return &Refusal{Path: f.Path, Code: code, Text: f.Path + " " + fmt.Sprintf(format, args...)}
	}
	fd, err := f.root.open(f.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return no(openCode(err), "cannot be read: %v", explainOpen(err))
	}
	file := os.NewFile(uintptr(fd), f.Path)
	defer file.Close()
	moved := func() bool {
		var st unix.Stat_t
		return unix.Fstat(fd, &st) != nil || fileIDOf(&st) != f.id
	}
	if moved() {
		return no(RefusedChanged, "changed after the command had ended: something still writes there")
	}
	// One byte more than its size: a file that grew without its times moving shows it.
	r := &counter{r: io.LimitReader(file, f.Size+1)}
	if err := fn(r); err != nil {
		if r.err != nil {
			return no(RefusedUnreadable, "could not be read to its end: %v", plain(r.err))
		}
		return err
	}
	if moved() || r.n > f.Size || r.done && r.n != f.Size {
		return no(RefusedChanged, "changed while it was read: something still writes there")
	}
	return nil
}

// counter notes how far fn has read and whether reading itself failed.
type counter struct {
	r    io.Reader
	n    int64
	done bool
	err  error
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if err == io.EOF {
		c.done = true
	} else if err != nil {
		c.err = err
	}
	return n, err
}

// probe finds out whether openat2 works.
func (b *boundary) probe() {
	fd, err := unix.Openat2(int(b.dir.Fd()), ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		b.walk = true
		return
	}
	unix.Close(fd)
}

// open opens rel beneath the directory without following any link. The kernel enforces it in one call; where it cannot, each
// step is opened by itself.
func (b *boundary) open(rel string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
	if !b.walk {
		how := &unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		for range 100 {
			fd, err := unix.Openat2(int(b.dir.Fd()), rel, how)
			if err != unix.EINTR && err != unix.EAGAIN { // again: something was renamed meanwhile
				return fd, err
			}
		}
		return -1, unix.EAGAIN
	}
	steps := strings.Split(rel, "/")
	at := int(b.dir.Fd())
	for i, step := range steps {
		if step == ".." || step == "" {
			return -1, unix.EXDEV
		}
		f := unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i == len(steps)-1 {
			f = flags
		}
		fd, err := unix.Openat(at, step, f, 0)
		if err == unix.ENOTDIR {
			// A link asked for as a directory is said to be none.
			var st unix.Stat_t
			if unix.Fstatat(at, step, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		if i > 0 {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = fd
	}
	return at, nil
}

func openCode(err error) RefusalCode {
	switch {
	case errors.Is(err, unix.ELOOP):
		return RefusedSymlink
	case errors.Is(err, unix.EXDEV):
		return RefusedOutside
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EAGAIN):
		return RefusedChanged
	}
	return RefusedUnreadable
}

func explainOpen(err error) error {
	switch openCode(err) {
	case RefusedSymlink:
		return errors.New("a symbolic link stands in its path, and none is followed")
	case RefusedOutside:
		return errors.New("its path leads out of the output directory")
	case RefusedChanged:
		return fmt.Errorf("it was moved or removed (%w)", err)
	}
	return err
}

// Exec says whether the owner may execute the file.
func (f *File) Exec() bool { return f.id.mode&0o100 != 0 }
