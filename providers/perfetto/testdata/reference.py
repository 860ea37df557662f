# Reads a trace with Perfetto's own messages and sums slices by track, its own way: events of a track in order of time, ends closing what is innermost.
import gzip, json, sys
from collections import defaultdict
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

data = open(sys.argv[1], "rb").read()
trace = pb.Trace()
trace.ParseFromString(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
events, pairs, primary = defaultdict(list), [], 6
for p in trace.packet:
    if p.HasField("clock_snapshot"):
        primary = p.clock_snapshot.primary_trace_clock or primary
        pairs.append((p.trusted_packet_sequence_id, {c.clock_id: c for c in p.clock_snapshot.clocks}))

def beside(t, clock, other, seq):
    best = None
    for s, snap in pairs:
        if clock in snap and other in snap and (clock < 64 or s == seq):
            a = snap[clock].timestamp * (snap[clock].unit_multiplier_ns or 1)
            if best is None or a <= t:
                best = snap[other].timestamp - a
    return None if best is None else t + best

def primary_time(t, clock, seq):
    if clock == primary:
        return t
    direct = beside(t, clock, primary, seq)
    if direct is not None:
        return direct
    monotonic = beside(t, clock, 3, seq)
    return None if monotonic is None else beside(monotonic, 3, primary, seq)

current = {}
order = 0
for p in trace.packet:
    seq = p.trusted_packet_sequence_id
    s = current.get(seq)
    if s is None or p.sequence_flags & 1 or p.incremental_state_cleared:
        s = current[seq] = {"names": {}, "clock": 0, "track": 0, "last": {}, "thread": (s or {}).get("thread")}
    if p.HasField("clock_snapshot"):
        for c in p.clock_snapshot.clocks:
            if 64 <= c.clock_id < 128:
                s["last"][c.clock_id] = [c.timestamp * (c.unit_multiplier_ns or 1), c.unit_multiplier_ns or 1, c.is_incremental]
    if p.HasField("trace_packet_defaults"):
        s["clock"], s["track"] = p.trace_packet_defaults.timestamp_clock_id, p.trace_packet_defaults.track_event_defaults.track_uuid
    for e in p.interned_data.event_names:
        s["names"][e.iid] = e.name
    if p.HasField("ftrace_events"):
        for e in p.ftrace_events.event:
            if e.HasField("print"):
                order += 1
                kind, _, rest = e.print.buf.rstrip("\n").partition("|")
                pid, _, name = rest.partition("|")
                if kind in "BE":
                    events[("thread", pid, e.pid)].append((primary_time(e.timestamp, 6, 0), order, 1 if kind == "B" else 2, name, 0))
    if not p.HasField("track_event"):
        continue
    order += 1
    e = p.track_event
    clock = p.timestamp_clock_id or s["clock"] or 6
    t = p.timestamp
    if 64 <= clock < 128:
        c = s["last"][clock]
        t = t * c[1] + (c[0] if c[2] else 0)
        if c[2]:
            c[0] = t
    t = primary_time(t, clock, seq)
    if t is None:
        continue
    name = e.name or s["names"].get(e.name_iid, "")
    kind, dur = e.type, 0
    if kind == 0 and e.HasField("legacy_event"):
        kind = {"B": 1, "E": 2, "X": 9}.get(chr(e.legacy_event.phase), 0)
        dur = e.legacy_event.duration_us * 1000
        name = name or s["names"].get(e.legacy_event.name_iid, "")
    if kind in (1, 2, 9):
        events[e.track_uuid or s["track"]].append((t, order, kind, name, dur))
sums = defaultdict(lambda: [0, 0])
for track, list in events.items():
    stack = []
    for t, _, kind, name, dur in sorted(list):
        if kind == 1:
            stack.append((name, t))
        elif kind == 9:
            sums[name][0] += 1
            sums[name][1] += dur
        elif stack:
            name, begin = stack.pop()
            sums[name][0] += 1
            sums[name][1] += t - begin
print(json.dumps(sums))
