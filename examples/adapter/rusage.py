#!/usr/bin/env python3
"""An adapter for flameox: page faults and context switches of a command.

flameox starts this program once for each phase, writes one JSON request to its standard
input and reads one JSON response from its standard output. It runs contained: it sees
this file, Python, and the one artifact that it is asked about.

As a prefix it is started in another way, by its own plan: `rusage.py run FILE -- COMMAND`
runs the command and writes what the kernel counted. That part is not contained; it runs
as the command does.
"""

import json
import resource
import subprocess
import sys

NAME, VERSION = "rusage", "1.0.0"
COUNTS = ("ru_minflt", "ru_majflt", "ru_nvcsw", "ru_nivcsw")


def probe(_request):
    return {"name": NAME, "version": VERSION, "doc": "page faults and context switches of a command and its children"}


def plan(request):
    options = request.get("options", {})
    unknown = sorted(set(options) - {"children"})
    if unknown:
        raise ValueError("there is no option " + ", ".join(unknown) + "; known is children")
    if options.get("children", "yes") != "yes":
        raise ValueError("children can only be yes: the kernel counts them together with the command")
    return {
        "prefix": ["${adapter}", "run", "${out.dir}/rusage.json"],
        "outputs": [{"path": "rusage.json", "kind": "rusage", "media_type": "application/json"}],
        "permissions": [],
        "overhead": "one Python process that waits, about 20 ms before the command begins",
        "limitations": [{"code": "wrapper_counted", "text": "what the wrapper itself did is not in the counts, and its start is in the wall time"}],
        "extractor_version": VERSION,
    }


def load(request):
    with open(request["artifact"]["path"], encoding="utf-8") as f:
        counts = json.load(f)
    if sorted(counts) != sorted(COUNTS) or not all(isinstance(n, int) and n >= 0 for n in counts.values()):
        raise ValueError("it is not what this adapter writes")
    return counts


def validate(request):
    try:
        load(request)
    except ValueError as error:
        return {"valid": False, "validator_version": VERSION, "reasons": [{"code": "not_rusage", "text": str(error)}]}
    return {"valid": True, "validator_version": VERSION}


def extract(request):
    counts = load(request)
    summary = {
        "minor_page_faults": counts["ru_minflt"], "major_page_faults": counts["ru_majflt"],
        "voluntary_context_switches": counts["ru_nvcsw"], "involuntary_context_switches": counts["ru_nivcsw"],
    }
    return {"summary": summary, "extractor_version": VERSION}


def run(out, command):
    status = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "w", encoding="utf-8") as f:
        json.dump({name: getattr(used, name) for name in COUNTS}, f)
    return status if status >= 0 else 128 - status


def main(argv):
    if len(argv) > 3 and argv[1] == "run" and argv[3] == "--":
        return run(argv[2], argv[4:])
    request = json.load(sys.stdin)
    phases = {"probe": probe, "plan": plan, "validate": validate, "extract": extract}
    if request.get("api_version") != 1 or request.get("phase") not in phases:
        print("this adapter speaks version 1 of the protocol", file=sys.stderr)
        return 1
    try:
        answer = phases[request["phase"]](request)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    json.dump({"api_version": 1, **answer}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
