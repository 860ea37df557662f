//go:build unix

package otlp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/otlp"
	"github.com/flameox/flameox/providers"
	provider "github.com/flameox/flameox/providers/otlp"
)

// What reading and extracting spans costs, in bytes of payload a second of one core's time: the machine may have other work. The payload is spans as a web service
// has them, eight attributes and an event each.
func BenchmarkProtobuf(b *testing.B) {
	data := webService(0, 100_000)
	path := b.TempDir() + "/payload"
	if err := os.WriteFile(path, data, 0o444); err != nil {
		b.Fatal(err)
	}
	in := providers.Input{Artifacts: []providers.Artifact{{Name: "payload", Role: provider.Protobuf, Size: int64(len(data)), Path: path}}}
	measure := func(b *testing.B, run func()) {
		b.SetBytes(int64(len(data)))
		before := cpu(b)
		for b.Loop() {
			run()
		}
		b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpu(b)-before), "MB/cpu-s")
	}
	b.Run("read", func(b *testing.B) {
		measure(b, func() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			if sum, err := otlp.Protobuf(f, int64(len(data)), 1<<20, nothing{}); err != nil || sum.Spans != 100_000 {
				b.Fatal(sum, err)
			}
		})
	})
	b.Run("to Parquet", func(b *testing.B) {
		measure(b, func() {
			sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "otlp", ProviderVersion: 1}, evidence.Budget{})
			if out, err := p.Extract(b.Context(), in, nil, evidence.DefaultBudget(), sink); err != nil || out.State != evidence.Complete {
				b.Fatal(out, err)
			}
			if _, err := sink.Close(); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// BenchmarkAgainstTheOfficialPackage holds reading and extracting one file, down to Parquet, against reading it with the official Python package and looking at the same
// fields, in the same run. FLAMEOX_OTLP_SPANS is how many spans the file has; 100,000 where it says nothing.
func BenchmarkAgainstTheOfficialPackage(b *testing.B) {
	if why := install(); why != "" {
		b.Skip(why)
	}
	n := 100_000
	if text := os.Getenv("FLAMEOX_OTLP_SPANS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	path := b.TempDir() + "/payload"
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	const batch = 10_000
	size := int64(0)
	for i := range n / batch { // messages of one type behind each other are one message
		k, err := f.Write(webService(i*batch, batch))
		if err != nil {
			b.Fatal(err)
		}
		size += int64(k)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	in := providers.Input{Artifacts: []providers.Artifact{{Name: "payload", Role: provider.Protobuf, Size: size, Path: path}}}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "python3", "testdata/oracle.py", "time", path)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1")
		cmd.Stderr = os.Stderr
		printed, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var theirs struct {
			Spans int64
			CPU   float64
			RSS   float64
		}
		if err := json.Unmarshal(printed, &theirs); err != nil {
			b.Fatal(err)
		}
		before := cpu(b)
		sum, err := func() (*otlp.Summary, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return otlp.Protobuf(f, size, 1<<20, nothing{})
		}()
		reading := cpu(b) - before
		if err != nil || sum.Spans != theirs.Spans {
			b.Fatal(sum, theirs, err)
		}
		before = cpu(b)
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "otlp", ProviderVersion: 1}, evidence.Budget{})
		out, err := p.Extract(b.Context(), in, nil, evidence.DefaultBudget(), sink)
		if err != nil || out.State != evidence.Complete {
			b.Fatal(out, err)
		}
		if _, err := sink.Close(); err != nil {
			b.Fatal(err)
		}
		ours := cpu(b) - before
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/1e6/reading, "read-MB/cpu-s")
		b.ReportMetric(float64(size)/1e6/ours, "parquet-MB/cpu-s")
		b.ReportMetric(float64(size)/1e6/theirs.CPU, "python-MB/cpu-s")
		b.ReportMetric(ours/theirs.CPU, "parquet/python-cpu")
		b.ReportMetric(float64(u.Maxrss)/1024, "own-max-MiB")
		b.ReportMetric(theirs.RSS/(1<<20), "python-max-MiB")
	}
}

func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

type nothing struct{}

func (nothing) Span(*otlp.Span) error         { return nil }
func (nothing) Scope(*otlp.Scope) error       { return nil }
func (nothing) Resource(*otlp.Resource) error { return nil }
