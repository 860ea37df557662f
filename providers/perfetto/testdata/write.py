# Writes a trace with Perfetto's own library.
import sys
from perfetto.trace_builder.proto_builder import TraceProtoBuilder
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

b = TraceProtoBuilder()
SEQ = 1234


def packet(flags=2):
    p = b.add_packet()
    p.trusted_packet_sequence_id = SEQ
    p.sequence_flags = flags
    return p


p = packet(1)
c = p.clock_snapshot.clocks.add(); c.clock_id, c.timestamp = 6, 1_000_000_000
c = p.clock_snapshot.clocks.add(); c.clock_id, c.timestamp = 3, 900_000_000
p = packet()
c = p.clock_snapshot.clocks.add(); c.clock_id, c.timestamp = 3, 900_001_000
c = p.clock_snapshot.clocks.add(); c.clock_id, c.timestamp, c.unit_multiplier_ns, c.is_incremental = 64, 900_001, 1000, True
p.trace_packet_defaults.timestamp_clock_id = 64
p.trace_packet_defaults.track_event_defaults.track_uuid = 2
p = packet()
p.track_descriptor.uuid = 1
p.track_descriptor.process.pid, p.track_descriptor.process.process_name = 77, "server"
p = packet()
p.track_descriptor.uuid, p.track_descriptor.parent_uuid = 2, 1
p.track_descriptor.thread.pid, p.track_descriptor.thread.tid, p.track_descriptor.thread.thread_name = 77, 78, "main"
p = packet()
p.track_descriptor.uuid, p.track_descriptor.parent_uuid, p.track_descriptor.name = 3, 1, "gpu queue"
p = packet()
p.track_descriptor.uuid, p.track_descriptor.parent_uuid, p.track_descriptor.name = 4, 1, "memory"
p.track_descriptor.counter.unit_multiplier, p.track_descriptor.counter.is_incremental = 1024, True


def event(delta, kind, name=None, track=None, **more):
    p = packet()
    p.timestamp = delta
    e = p.track_event
    e.type = kind
    if name is not None:
        if not hasattr(event, "known"):
            event.known = {}
        if name not in event.known:
            event.known[name] = len(event.known) + 1
            n = p.interned_data.event_names.add(); n.iid, n.name = event.known[name], name
        e.name_iid = event.known[name]
    if track:
        e.track_uuid = track
    return p, e


B, E, I, C = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT, TrackEvent.TYPE_COUNTER
for i in range(20):
    p, e = event(10, B, "request")
    e.categories.append("http")
    e.flow_ids.append(100 + i)
    p.interned_data.source_locations.add(iid=1, file_name="server.cc", line_number=12)
    e.source_location_iid = 1
    _, e = event(5, B, "flameox.phase:warm" if i == 0 else "parse")
    a = e.debug_annotations.add(); a.name, a.int_value = "stream", i
    a = e.debug_annotations.add(); a.name, a.string_value = "correlation", "c%d" % i
    event(7, I, "mark")
    event(3, E)
    event(2, B, "copy", 3)
    _, e = event(1, C, None, 4); e.counter_value = 3
    event(4, E, None, 3)
    _, e = event(8, E)
    e.terminating_flow_ids.append(100 + i)
event(1, B, "open")
event(1, I, "nowhere", 999)
open(sys.argv[1], "wb").write(b.serialize())
