package torchprofiler_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/torchprofiler"
)

// What other readers of Kineto's traces got wrong, by public reports.

func TestATraceWithoutARankIsWhole(t *testing.T) { // facebookresearch/HolisticTraceAnalysis#107, #17
	kernel := x("kernel", "k", 5, 5, `"External id": 1`)
	for name, members := range map[string]string{
		"none": "", "null": `"distributedInfo": null,`, "empty": `"distributedInfo": {},`, "of one process": `"distributedInfo": {"backend": "nccl", "world_size": 1},`,
		"two ranks": `"distributedInfo": {"rank": 0, "rank": 1},`, "a rank of another name": `"distributedInfo": {"RANK": 0},`,
		"a rank that is text": `"distributedInfo": {"rank": "0"},`, "a list": `"distributedInfo": [0],`,
	} {
		out, tables := extract(t, trace(members, x("cpu_op", "aten::mm", 1, 9, `"External id": 1`), kernel))
		if out.State != evidence.Complete || len(tables["operators"]) != 1 || !providertest.HasCode(out.Limitations, torchprofiler.Rankless) {
			t.Errorf("%s: %+v, %d operators", name, out, len(tables["operators"]))
		}
		if _, ok := out.Results["rank"]; ok {
			t.Errorf("%s: a rank of %v", name, out.Results["rank"])
		}
	}
	out, _ := extract(t, trace(`"distributedInfo": {"rank": 0, "world_size": 2},`, kernel))
	if out.Results["rank"] != int64(0) || providertest.HasCode(out.Limitations, torchprofiler.Rankless) {
		t.Errorf("rank 0: %+v", out)
	}
}

func TestTimesThatWereLostMoveNoWindow(t *testing.T) { // pytorch/kineto#109, google/perfetto#6421
	out, tables := extract(t, trace("", x("kernel", "k", 0, 0, ""), x("gpu_memcpy", "m", 0, 7, ""), x("cpu_op", "aten::mm", "1600000000000000.000", 9, ""), x("kernel", "k", "1600000000000003.000", 5, "")))
	if len(tables["trace_events"]) != 2 || out.Results["duration_ns"] != int64(9000) || out.State != evidence.Partial {
		t.Errorf("%+v, %d rows", out, len(tables["trace_events"]))
	}
	if text := limitation(out, chrometrace.EventsBad) + limitation(out, torchprofiler.DeviceTimeLost); !strings.Contains(text, "1 of 4 events") || !strings.Contains(text, "2 events of a device") && !strings.Contains(text, "1 events of a device") {
		t.Errorf("%v", out.Limitations)
	}
}

func limitation(out evidence.Outcome, code string) string {
	for _, l := range out.Limitations {
		if l.Code == code {
			return l.Text
		}
	}
	return ""
}

func TestAnAnnotationThatAKernelSticksOutOfKeepsItsRow(t *testing.T) { // pytorch/kineto#914
	_, tables := extract(t, trace("", x("gpu_user_annotation", "step", "1.000", "8.000", ""), x("kernel", "k", "0.999", "4.000", ""), x("kernel", "l", "5.000", "4.001", "")))
	if len(tables["trace_events"]) != 3 {
		t.Errorf("%v", tables["trace_events"])
	}
	for _, r := range tables["trace_events"] {
		if s, ok := r["self_ns"].(int64); !ok || s < 0 {
			t.Errorf("%v has a self time of %v", r["name"], r["self_ns"])
		}
	}
}

func TestAProfileThatWasNotClosedIsPartial(t *testing.T) { // pytorch/pytorch#167707
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(trace("", x("cpu_op", "aten::mm", 1, 9, "")))
	z.Close()
	out, tables := extract(t, b.Bytes()[:b.Len()-8])
	if out.State != evidence.Partial || len(tables["trace_events"]) != 1 {
		t.Errorf("%+v", out)
	}
	in := providertest.Input(t, torchprofiler.Role, b.Bytes()[:b.Len()-8])
	if r, err := p.Validate(t.Context(), in); err != nil || r.Valid {
		t.Errorf("it is a valid run: %+v %v", r, err)
	}
}

func TestTextThatTheProducerDidNotEscapeIsRefusedWhereItStands(t *testing.T) { // pytorch/pytorch#33961, #136180, pytorch/kineto#1459
	for name, bad := range map[string]string{
		"a quote that is missing":  `{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid": 0","ts":1,"dur":1}`,
		"quotes in a name":         `{"ph":"X","cat":"python_function","name":"{"device": "cpu"}(12): run","ts":1,"dur":1}`,
		"a control byte in a name": "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a\x01\xff\",\"ts\":1,\"dur\":1}",
	} {
		out, tables := extract(t, trace("", x("cpu_op", "aten::mm", 1, 9, ""), bad))
		if out.State != evidence.Incompatible || len(tables) > 0 || !strings.Contains(out.Limitations[0].Text, "byte ") {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
