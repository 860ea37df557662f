package broker

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// Resources is what the sampler saw. Everything in it is an observation at points in time, not a total.
type Resources struct {
	Backend  string        // BackendProc
	Interval time.Duration // between samples

	PeakRSS       Value
	MinimumFree   Value
	StagingGrowth Value

	Samples int     // taken
	Points  []Point // at most 2,000, evenly thinned
}

// Value is a number of bytes, or the reason why there is none. Without Unavailable, zero means zero.
type Value struct {
	Bytes       int64
	Unavailable string
}

// Point is one sample. A field that could not be read is -1.
type Point struct {
	At        time.Duration // since the start
	RSS       int64         // bytes, sum over the tree
	Free      int64         // bytes on the staging file system
	User, Sys time.Duration // of the live tree and the children it has waited for; may fall when an orphan dies
	Threads   int
	Processes int
}

// Value is the value of a metric of the registry; ok is false for a metric that is not in it.
func (r *Resources) Value(id string) (Value, bool) {
	switch id {
	case PeakRSS:
		return r.PeakRSS, true
	case MinimumFree:
		return r.MinimumFree, true
	case StagingGrowth:
		return r.StagingGrowth, true
	}
	return Value{}, false
}

// maxPoints bounds what is kept: beyond it every second point is dropped and only every second new one kept.
const maxPoints = 2000

// maxStaging is the number of files and directories up to which the staging directory is measured.
const maxStaging = 10_000

// sampler turns scans into points and peaks. It is used by one goroutine.
type sampler struct {
	every   time.Duration
	staging string
	exclude []string

	rss, peak int64 // of the last sample, of all; peak is -1 before the first
	low       int64 // minimum free, -1 before the first
	noFree    string

	before   int64
	noBefore string

	samples, stride int
	points          []Point
}

func newSampler(c *Command) *sampler {
	s := &sampler{every: c.SampleEvery, staging: c.Staging, exclude: c.StagingExclude, peak: -1, low: -1, stride: 1}
	s.before, s.noBefore = stagingSize(s.staging, s.exclude, maxStaging)
	return s
}

// free is the space on the staging file system that an unprivileged user may fill, or -1.
func (s *sampler) free() int64 {
	if s.staging == "" {
		s.noFree = "no staging directory was given"
		return -1
	}
	var st unix.Statfs_t
	for {
		err := unix.Statfs(s.staging, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			s.noFree = fmt.Sprintf("statfs %s: %v", s.staging, err)
			return -1
		}
		return clamp(st.Bavail * uint64(st.Bsize))
	}
}

// sample takes one point from the tree as it was scanned just now.
func (s *sampler) sample(at time.Duration, t *tree) {
	p := Point{At: at, RSS: -1, Free: s.free()}
	var user, sys uint64
	for i := range t.procs {
		st := &t.procs[i]
		user, sys = user+st.User+st.ChildUser, sys+st.Sys+st.ChildSys
		if st.Dead() {
			continue
		}
		p.RSS = max(p.RSS, 0) + st.RSS
		p.Threads += st.Threads
		p.Processes++
	}
	p.User, p.Sys = time.Duration(user)*proc.Tick, time.Duration(sys)*proc.Tick
	if p.RSS == 0 {
		// Every process was between losing its memory and being dead.
		p.RSS = -1
	}
	s.rss, s.peak = p.RSS, max(s.peak, p.RSS)
	if p.Free >= 0 && (s.low < 0 || p.Free < s.low) {
		s.low = p.Free
	}
	if s.samples%s.stride == 0 {
		if len(s.points) == maxPoints {
			for i := 0; i < maxPoints/2; i++ {
				s.points[i] = s.points[2*i]
			}
			s.points, s.stride = s.points[:maxPoints/2], 2*s.stride
		}
		s.points = append(s.points, p)
	}
	s.samples++
}

func (s *sampler) result() Resources {
	r := Resources{Backend: BackendProc, Interval: s.every, Samples: s.samples, Points: s.points}
	if r.PeakRSS.Bytes = s.peak; s.peak < 0 {
		r.PeakRSS = Value{Unavailable: "every process of the tree had exited before the first sample"}
	}
	if r.MinimumFree.Bytes = s.low; s.low < 0 {
		r.MinimumFree = Value{Unavailable: s.noFree}
	}
	after, none := stagingSize(s.staging, s.exclude, maxStaging)
	switch {
	case s.noBefore != "":
		r.StagingGrowth.Unavailable = "before the run: " + s.noBefore
	case none != "":
		r.StagingGrowth.Unavailable = "after the run: " + none
	default:
		r.StagingGrowth.Bytes = max(after-s.before, 0)
	}
	return r
}

// stagingSize is the sum of the sizes of the regular files below dir, or why there is none. It follows no link.
func stagingSize(dir string, exclude []string, most int) (total int64, unavailable string) {
	if dir == "" {
		return 0, "no staging directory was given"
	}
	skip := map[string]bool{}
	for _, e := range exclude {
		skip[filepath.Join(dir, e)] = true
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skip[path] && path != dir {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if n++; n > most+1 { // the directory itself is one
			return fmt.Errorf("the staging directory %s has more than %d entries", dir, most)
		}
		if d.Type().IsRegular() {
			st, err := d.Info()
			if err != nil {
				return err
			}
			total += st.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Sprintf("measure the staging directory: %v", err)
	}
	return total, ""
}
