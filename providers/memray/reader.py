"""Runs memray's own reader over captures and prints what it says, one JSON object a line.

flameox starts it with the interpreter that has memray, in a private folder, and ranks, bounds and
stores what it prints. It sums records that memray hands out one by one, because a capture has
millions of them, and decides nothing else.

    probe                          which memray there is
    validate ARGUMENT CAPTURE...   what each capture says of itself, and what memray's statistics sum up, for which it
                                   goes through all records as every view does: a damaged capture fails here
    extract ARGUMENT CAPTURE...    the same, then every view of each capture

A line has one key:

    reader     protocol, library, version, runtime: always the first
    refused    capture (its place among the arguments), text: memray does not read it; nothing follows
    capture    what the capture says of itself, in the order of the arguments
    frame      [function, file, line, is Python]; frames are counted from 0
    stack      [capture, view, bytes, allocations, thread or null, [frame, ...] from the leaf]
    without    capture, view, text: memray cannot make this view of this capture
    totals     capture and what memray's statistics sum up
    end        number of lines before this one
"""

import json
import os
import platform
import sys

PROTOCOL = 1
HIGH_WATER_MARK, RETAINED, TEMPORARY, ALLOCATED = range(4)


def identity():
    answer = {"library": "memray", "version": "", "runtime": "%s %s" % (platform.python_implementation(), platform.python_version())}
    try:
        import memray
        import memray._memray

        answer["version"] = memray.__version__
        answer["files"] = [os.path.realpath(memray._memray.__file__)]
    except Exception as error:  # a library that is there and broken may fail in any way
        answer["error"] = "%s: %s" % (type(error).__name__, error)
    return answer


class Stream:
    def __init__(self, file):
        self.file = file
        self.lines = 0
        self.frames = {}

    def put(self, key, value):
        self.file.write(json.dumps({key: value}, separators=(",", ":")))
        self.file.write("\n")
        self.lines += 1

    def frame(self, frame):
        known = self.frames.get(frame)
        if known is None:
            known = self.frames[frame] = len(self.frames)
            self.put("frame", frame)
        return known

    def stack(self, capture, view, size, count, record, options, native):
        depth = options["depth"]
        python = record.stack_trace(max_stacks=depth)
        if native:
            ours = set(python)
            frames = [self.frame(f + (f in ours,)) for f in record.hybrid_stack_trace(max_stacks=depth)]
        else:
            frames = [self.frame(f + (True,)) for f in python]
        thread = record.thread_name if options["threads"] else None
        self.put("stack", [capture, view, size, count, thread, frames])


def metadata(capture, reader):
    from memray import FileFormat

    m = reader.metadata
    return {
        "capture": capture,
        "start_us": int(m.start_time.timestamp() * 1e6),
        "end_us": int(m.end_time.timestamp() * 1e6),
        "records": m.total_allocations,
        "peak": m.peak_memory,
        "pid": m.pid,
        "allocator": m.python_allocator,
        "native": m.has_native_traces,
        "aggregated": m.file_format == FileFormat.AGGREGATED_ALLOCATIONS,
    }


def summed(records, native, threads, deallocators):
    """The allocations of each stack, from records that come one by one. It is the only loop over all of a capture's records."""
    table = {}
    get = table.get
    for record in records:
        size = record.size
        if not size or record.allocator in deallocators:
            continue
        key = record.stack_id
        if native:
            key = (key, record.native_stack_id, record.native_segment_generation)
        if threads:
            key = (key, record.tid)
        sums = get(key)
        if sums is None:
            table[key] = [size, 1, record]
        else:
            sums[0] += size
            sums[1] += 1
    return table.values()


def views(stream, capture, reader, options, native):
    merge = not options["threads"]
    aggregates = (
        (HIGH_WATER_MARK, lambda: reader.get_high_watermark_allocation_records(merge_threads=merge)),
        (RETAINED, lambda: reader.get_leaked_allocation_records(merge_threads=merge)),
        (TEMPORARY, lambda: reader.get_temporary_allocation_records(merge_threads=merge, threshold=options["threshold"])),
    )
    for view, records in aggregates:
        try:
            for record in records():
                stream.stack(capture, view, record.size, record.n_allocations, record, options, native)
        except NotImplementedError as error:
            stream.put("without", {"capture": capture, "view": view, "text": str(error)})


def history(stream, capture, reader, options, native):
    from memray import AllocatorType

    deallocators = {int(a) for a in AllocatorType if a.name in ("FREE", "MUNMAP", "PYMALLOC_FREE")}
    for size, count, record in summed(reader.get_allocation_records(), native, options["threads"], deallocators):
        stream.stack(capture, ALLOCATED, size, count, record, options, native)


def statistics(stream, capture, path):
    from memray._memray import compute_statistics

    totals = compute_statistics(path, num_largest=1)
    stream.put("totals", {"capture": capture, "operations": totals.total_num_allocations, "bytes": totals.total_memory_allocated})


def read(stream, job, options, paths):
    from memray import FileReader

    readers = []
    at = 0
    try:
        for at, path in enumerate(paths):
            readers.append(FileReader(path))
            stream.put("capture", metadata(at, readers[at]))
        for at, path in enumerate(paths):
            extract = job == "extract"
            native = readers[at].metadata.has_native_traces
            if extract:
                views(stream, at, readers[at], options, native)
            try:
                if extract and options["allocated"]:
                    history(stream, at, readers[at], options, native)
                statistics(stream, at, path)
            except NotImplementedError as error:
                stream.put("without", {"capture": at, "view": ALLOCATED, "text": str(error)})
                if not extract:  # it is aggregated, and small
                    views(stream, at, readers[at], options, native)
    except MemoryError:
        raise
    except Exception as error:  # memray has no class for what a damaged capture makes it say
        stream.put("refused", {"capture": at, "text": "%s: %s" % (type(error).__name__, error)})
    stream.put("end", stream.lines)


def main(arguments):
    who = identity()
    if arguments[0] == "probe":
        print(json.dumps(who))
        return
    # Ours alone: what a library prints goes to the log.
    stream = Stream(os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1 << 16))
    os.dup2(2, 1)
    who["protocol"] = PROTOCOL
    stream.put("reader", who)
    if who["version"]:
        read(stream, arguments[0], json.loads(arguments[1]), arguments[2:])
    stream.file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
