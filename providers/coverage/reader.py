"""Reads data files of coverage.py with coverage's own CoverageData, and prints what it says, one JSON object a line.

flameox starts it with the interpreter that has coverage, in a private folder, and bounds and stores what it prints.

    probe                        which coverage there is
    validate ARGUMENT DATA...    goes through all of it, and prints no block
    extract ARGUMENT DATA...     prints every block

A line has one key:

    reader    protocol, library, version, runtime: always the first
    refused   data (its place among the arguments), code, text: coverage does not read it; nothing follows
    unread    data, code, text: the same of one of several, which is left out
    data      data, and what the file says of itself: version (of the coverage that wrote it, or null), arcs (true, false, or null where it has neither)
    file      [name, plugin or null]; files are counted from 0
    context   name; contexts are counted from 0
    lines     [file, context or -1, [line, ...]]
    arcs      [file, context or -1, [from, to, from, to, ...]]
    totals    files, contexts, lines, arcs: how many blocks held
    end       number of lines before this one

Several files are combined first, as `coverage combine` does, which leaves out what a process that was killed never finished. CoverageData makes tables where a file has none, so it is given copies.
"""

import json
import os
import platform
import shutil
import sqlite3
import sys

PROTOCOL = 1

# Those that coverage's manual names.
TABLES = {"coverage_schema", "meta", "file", "context", "line_bits", "arc", "tracer"}


def identity():
    answer = {"library": "coverage", "version": "", "runtime": "%s %s" % (platform.python_implementation(), platform.python_version())}
    try:
        import coverage
        import coverage.collector
        import coverage.sqldata

        answer["version"] = coverage.__version__
        files = [coverage.sqldata.__file__, coverage.collector.__file__]
        try:
            import coverage.tracer

            files.append(coverage.tracer.__file__)
        except ImportError:
            pass  # the one that is written in Python is used then
        answer["files"] = [os.path.realpath(f) for f in files]
    except Exception as error:  # a library that is there and broken may fail in any way
        answer["error"] = "%s: %s" % (type(error).__name__, error)
    return answer


class Stream:
    def __init__(self, file):
        self.file = file
        self.lines = 0
        self.blocks = True

    def put(self, key, value):
        self.file.write(json.dumps({key: value}, separators=(",", ":")))
        self.file.write("\n")
        self.lines += 1

    def block(self, key, value):
        if self.blocks:
            self.put(key, value)


class Refused(Exception):
    def __init__(self, code, text):
        Exception.__init__(self, text)
        self.code = code


def look(path):
    """What the file is, before coverage sees it: it would add tables that are missing, and read what is left of a damaged file."""
    connection = sqlite3.connect("file:%s?mode=ro&immutable=1" % path.replace("%", "%25").replace("?", "%3f").replace("#", "%23"), uri=True)
    try:
        state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if state != "ok":
            raise Refused("data_damaged", "SQLite finds it damaged: %s" % state)
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        missing = sorted(TABLES - names)
        if missing:
            raise Refused("tables_missing", "it is a database without the tables %s, which coverage makes before anything else: it was not made by coverage, or never finished" % ", ".join(missing))
        row = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        return row[0] if row and isinstance(row[0], str) else None
    finally:
        connection.close()


def has_arcs(data):
    if data.has_arcs():
        return True
    return False if data.measured_files() else None


def reason(error, at):
    """The code and the text of what is wrong with a file: sqlite3 and coverage have many classes for it."""
    if isinstance(error, Refused):
        return error.code, str(error)
    if isinstance(error, sqlite3.DatabaseError):
        return "data_damaged", "SQLite finds it damaged: %s" % error
    text = str(error).replace(os.path.abspath("data-%d" % at), "the file")
    return "incompatible_schema" if "wrong schema" in text else "data_unreadable", "%s: %s" % (type(error).__name__, text)


def opened(stream, paths):
    from coverage import CoverageData

    found, last = [], None
    for at, path in enumerate(paths):
        try:
            version = look(path)
            copy = os.path.abspath("data-%d" % at)
            shutil.copyfile(path, copy)
            data = CoverageData(basename=copy)
            data.read()
        except MemoryError:
            raise
        except Exception as error:
            code, text = reason(error, at)
            last = {"data": at, "code": code, "text": text}
            if len(paths) > 1:
                stream.put("unread", last)
            continue
        stream.put("data", {"data": at, "version": version, "arcs": has_arcs(data)})
        found.append((at, data))
    if not found:
        stream.put("refused", last)
        return None
    if len(found) == 1:
        return found[0][1]
    combined = CoverageData(basename=os.path.abspath("combined"))
    for at, data in found:
        try:
            combined.update(data)
            data.close()
        except MemoryError:
            raise
        except Exception as error:
            code, text = reason(error, at)
            stream.put("refused", {"data": at, "code": code, "text": text})
            return None
    return combined


def blocks(stream, data):
    files = sorted(data.measured_files())
    contexts = sorted(data.measured_contexts())
    named = any(contexts)
    for name in files:
        stream.block("file", [name, data.file_tracer(name) or None])
    for name in contexts if named else ():
        stream.block("context", name)
    arcs = data.has_arcs()
    totals = {"files": len(files), "contexts": len(contexts) if named else 0, "lines": 0, "arcs": 0}

    def put(kind, file, context, numbers, size):
        if size:
            stream.block(kind, [file, context, numbers])
            totals[kind] += size

    def put_arcs(file, context, pairs):
        pairs = sorted(pairs or ())
        put("arcs", file, context, [n for pair in pairs for n in pair], len(pairs))

    if not named:
        for at, name in enumerate(files):
            lines = sorted(data.lines(name) or ())
            put("lines", at, -1, lines, len(lines))
            if arcs:
                put_arcs(at, -1, data.arcs(name))
    else:
        number = {name: at for at, name in enumerate(contexts)}
        within = [[] for _ in contexts]  # files with arcs, by context
        for at, name in enumerate(files):
            by_context = {}
            for line, those in data.contexts_by_lineno(name).items():
                for context in those:
                    by_context.setdefault(number[context], []).append(line)
            for context in sorted(by_context):
                lines = sorted(by_context[context])
                put("lines", at, context, lines, len(lines))
                within[context].append(at)
            # An arc may have no line at either end, as those of an empty module have; no line says in which contexts.
            if arcs and any(a <= 0 and b <= 0 for a, b in data.arcs(name) or ()):
                for context in range(len(contexts)):
                    if context not in by_context:
                        within[context].append(at)
        for context, those in enumerate(within) if arcs else ():
            data.set_query_context(contexts[context])
            for at in those:
                put_arcs(at, context, data.arcs(files[at]))
    stream.put("totals", totals)


def main(arguments):
    who = identity()
    if arguments[0] == "probe":
        print(json.dumps(who))
        return
    # Ours alone: what a library prints goes to the log.
    stream = Stream(os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1 << 16))
    os.dup2(2, 1)
    stream.blocks = arguments[0] == "extract"
    who["protocol"] = PROTOCOL
    stream.put("reader", who)
    if who["version"]:
        data = opened(stream, arguments[2:])
        if data is not None:
            try:
                blocks(stream, data)
            except MemoryError:
                raise
            except Exception as error:
                code, text = reason(error, 0)
                stream.put("refused", {"data": 0, "code": code, "text": text})
        stream.put("end", stream.lines)
    stream.file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
