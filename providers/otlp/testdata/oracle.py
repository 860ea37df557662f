"""Makes payloads of OTLP with the official package, and says what the package reads in them: one JSON document for a Go test."""
import base64
import json
import random
import struct
import sys

from google.protobuf import json_format
from opentelemetry.proto.trace.v1 import trace_pb2


def text(r):
    return "".join(r.choice("ab \"\\\n\u00e9\u2603\U0001F600\x01") for _ in range(r.randrange(6)))


def fill_value(r, v, depth):
    kind = r.randrange(5 if depth > 2 else 8)
    if kind == 0:
        v.string_value = text(r)
    elif kind == 1:
        v.bool_value = r.random() < 0.5
    elif kind == 2:
        v.int_value = r.choice([0, -1, 2**63 - 1, -(2**63), r.randrange(-1000, 1000)])
    elif kind == 3:
        v.double_value = r.choice([0.0, -0.0, 1.0, 1e300, 5e-324, float("nan"), float("inf"), float("-inf"), r.random()])
    elif kind == 4:
        v.bytes_value = r.randbytes(r.randrange(4))
    elif kind == 5:
        v.array_value.SetInParent()
        for _ in range(r.randrange(3)):
            fill_value(r, v.array_value.values.add(), depth + 1)
    elif kind == 6:
        v.kvlist_value.SetInParent()
        fill_attributes(r, v.kvlist_value.values, depth + 1)


def fill_attributes(r, list, depth=0):
    for i in range(r.randrange(5)):
        a = list.add()
        a.key = r.choice(["a", "b.c", "\u00fc", "k%d" % i])
        fill_value(r, a.value, depth)


def make(seed):
    r = random.Random(seed)
    td = trace_pb2.TracesData()
    for _ in range(1 + r.randrange(3)):
        rs = td.resource_spans.add()
        rs.schema_url = r.choice(["", "https://schema.test/1"])
        rs.resource.dropped_attributes_count = r.randrange(2)
        fill_attributes(r, rs.resource.attributes)
        for _ in range(r.randrange(4)):
            ss = rs.scope_spans.add()
            ss.scope.name, ss.scope.version, ss.schema_url = text(r), text(r), text(r)
            fill_attributes(r, ss.scope.attributes)
            for _ in range(r.randrange(6)):
                s = ss.spans.add()
                s.trace_id, s.span_id = r.randbytes(16), r.randbytes(8)
                if r.random() < 0.5:
                    s.parent_span_id = r.randbytes(8)
                s.name, s.trace_state = text(r), text(r)
                s.kind, s.flags = r.randrange(6), r.choice([0, 257, 2**32 - 1])
                s.start_time_unix_nano = r.choice([0, 1, 2**63, 2**64 - 1, r.randrange(2**60)])
                s.end_time_unix_nano = r.choice([0, 1, 2**64 - 1, r.randrange(2**60)])
                s.dropped_attributes_count, s.dropped_events_count, s.dropped_links_count = r.randrange(3), r.randrange(3), 2**32 - 1
                s.status.code, s.status.message = r.randrange(3), text(r)
                fill_attributes(r, s.attributes)
                for _ in range(r.randrange(3)):
                    e = s.events.add()
                    e.time_unix_nano, e.name, e.dropped_attributes_count = r.choice([0, 2**63 + 5]), text(r), r.randrange(2)
                    fill_attributes(r, e.attributes)
                for _ in range(r.randrange(3)):
                    l = s.links.add()
                    l.trace_id, l.span_id, l.trace_state, l.flags = r.randbytes(16), r.randbytes(8), text(r), r.randrange(9)
                    fill_attributes(r, l.attributes)
    return td


def value(v):
    kind = v.WhichOneof("value")
    if kind is None:
        return None
    if kind == "string_value":
        return v.string_value
    if kind == "bool_value":
        return v.bool_value
    if kind == "int_value":
        return ["int", str(v.int_value)]
    if kind == "double_value":
        d = v.double_value
        return ["double", "nan" if d != d else struct.pack(">d", d).hex()]
    if kind == "bytes_value":
        return ["bytes", base64.b64encode(v.bytes_value).decode()]
    if kind == "array_value":
        return ["list"] + [value(x) for x in v.array_value.values]
    return attributes(v.kvlist_value.values)


def attributes(list):
    return {a.key: value(a.value) for a in list}  # of a key that stands twice the last one


def rows(td):
    out = {"otel_resources": [], "otel_scopes": [], "otel_spans": [], "otel_events": [], "otel_links": []}
    scope = span = 0
    for i, rs in enumerate(td.resource_spans):
        out["otel_resources"].append({"resource_ordinal": i, "schema_url": rs.schema_url or None, "attributes_json": attributes(rs.resource.attributes), "dropped_attributes": rs.resource.dropped_attributes_count})
        for ss in rs.scope_spans:
            out["otel_scopes"].append({"resource_ordinal": i, "scope_ordinal": scope, "name": ss.scope.name, "version": ss.scope.version or None, "schema_url": ss.schema_url or None, "attributes_json": attributes(ss.scope.attributes)})
            for s in ss.spans:
                own = {"trace_id": s.trace_id.hex(), "span_id": s.span_id.hex(), "source_ordinal": span}
                timed = s.start_time_unix_nano and s.end_time_unix_nano and 0 <= s.end_time_unix_nano - s.start_time_unix_nano < 2**63
                out["otel_spans"].append(dict(
                    own, resource_ordinal=i, scope_ordinal=scope, parent_span_id=s.parent_span_id.hex() or None, name=s.name, kind=s.kind,
                    start_time_unix_nano=s.start_time_unix_nano or None, end_time_unix_nano=s.end_time_unix_nano or None,
                    duration_ns=s.end_time_unix_nano - s.start_time_unix_nano if timed else None, trace_state=s.trace_state, flags=s.flags,
                    status_code=s.status.code, status_message=s.status.message, attributes_json=attributes(s.attributes),
                    dropped_attributes=s.dropped_attributes_count, dropped_events=s.dropped_events_count, dropped_links=s.dropped_links_count))
                for j, e in enumerate(s.events):
                    out["otel_events"].append(dict(own, event_ordinal=j, time_unix_nano=e.time_unix_nano or None, name=e.name, attributes_json=attributes(e.attributes), dropped_attributes=e.dropped_attributes_count))
                for j, l in enumerate(s.links):
                    out["otel_links"].append(dict(own, link_ordinal=j, linked_trace_id=l.trace_id.hex(), linked_span_id=l.span_id.hex(), trace_state=l.trace_state, flags=l.flags, attributes_json=attributes(l.attributes)))
                span += 1
            scope += 1
    return out


def otlp_json(td):
    """The package's JSON with what OTLP has different from protobuf's: ids in hexadecimal and enums as numbers."""
    doc = json_format.MessageToDict(td, use_integers_for_enums=True)

    def fix(x):
        if isinstance(x, list):
            return [fix(y) for y in x]
        if isinstance(x, dict):
            return {k: base64.b64decode(v).hex() if k in ("traceId", "spanId", "parentSpanId") else fix(v) for k, v in x.items()}
        return x
    return json.dumps(fix(doc))


out = []
if sys.argv[1] == "make":
    for seed in range(int(sys.argv[2])):
        td = make(seed)
        data = td.SerializeToString()
        out.append({"protobuf": base64.b64encode(data).decode(), "json": otlp_json(td), "rows": rows(trace_pb2.TracesData.FromString(data))})
elif sys.argv[1] == "read":
    for path in sys.argv[2:]:
        out.append({"rows": rows(trace_pb2.TracesData.FromString(open(path, "rb").read()))})
elif sys.argv[1] == "time":
    import resource
    import time
    begin = time.process_time()
    td = trace_pb2.TracesData.FromString(open(sys.argv[2], "rb").read())
    spans = 0
    for rs in td.resource_spans:
        for ss in rs.scope_spans:
            for s in ss.spans:
                attributes(s.attributes), s.trace_id.hex(), s.span_id.hex(), s.parent_span_id.hex(), s.name, s.kind, s.start_time_unix_nano, s.end_time_unix_nano, s.status.code
                for e in s.events:
                    attributes(e.attributes), e.name, e.time_unix_nano
                spans += 1
    out = {"spans": spans, "cpu": time.process_time() - begin, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}
json.dump(out, sys.stdout)
