package selftrace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

// Write writes what was recorded so far, as a Chrome trace: an object with traceEvents, complete events ("X"), times in microseconds since the recorder
// was made. Each span's subject is its argument `of`. Spans that are still open are not in it.
func (r *Recorder) Write(w io.Writer) error {
	r.mu.Lock()
	spans, lanes := slices.Clone(r.spans), r.lanes
	r.mu.Unlock()
	// Parents first: of two that begin at the same moment, the longer; of two that are as long, the one that ended later.
	slices.Reverse(spans)
	slices.SortStableFunc(spans, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start), -cmp.Compare(a.took, b.took))
	})
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b, `{"displayTimeUnit":"ms","otherData":{"began":%s},"traceEvents":[`, quoted(r.begun.UTC().Format(time.RFC3339Nano)))
	fmt.Fprintf(b, "\n"+`{"ph":"M","name":"process_name","pid":%d,"tid":0,"args":{"name":%s}}`, os.Getpid(), quoted(r.title))
	for id := range lanes {
		name := "main"
		if id > 0 {
			name = "worker " + strconv.Itoa(id)
		}
		fmt.Fprintf(b, ",\n"+`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%s}}`, os.Getpid(), id+1, quoted(name))
	}
	for _, s := range spans {
		fmt.Fprintf(b, ",\n"+`{"ph":"X","cat":"flameox","name":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s`, quoted(s.name), os.Getpid(), s.lane, micros(s.start), micros(s.took))
		if s.of != "" || len(s.notes) > 0 {
			args := make(map[string]any, len(s.notes)+1)
			for _, n := range s.notes {
				args[n.key] = n.value
			}
			if s.of != "" {
				args["of"] = s.of
			}
			text, err := json.Marshal(args)
			if err != nil {
				return fmt.Errorf("write the trace: %w", err)
			}
			fmt.Fprintf(b, `,"args":%s`, text)
		}
		b.WriteByte('}')
	}
	b.WriteString("\n]}\n")
	return b.Flush()
}

// micros is a time in microseconds, exact to the nanosecond.
func micros(d time.Duration) string {
	return fmt.Sprintf("%d.%03d", d/time.Microsecond, d%time.Microsecond)
}

// quoted is a JSON string. Bytes that are not UTF-8, which a file name may have, become U+FFFD.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}
