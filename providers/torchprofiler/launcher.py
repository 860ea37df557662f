# Runs a Python program under torch.profiler and writes its trace. It stands in the key of a capture by its content.
#
# --output FILE --diagnostics FILE --config JSON (--script FILE | --module NAME | --inline CODE) -- ARGUMENTS

import json
import os
import runpy
import sys
import time

config, diagnostics = {}, {"schema": "flameox.torch-diagnostics.v1", "phase": "wrapper_startup", "phases": {}}
options = {}
clock = time.monotonic_ns
began = clock()


def reached(phase, **facts):
    """Says how far this came, also where the process ends in the next moment."""
    global began
    now = clock()
    diagnostics["phases"][diagnostics["phase"]] = now - began
    began = now
    diagnostics["phase"] = phase
    diagnostics.update(facts)
    name = options["diagnostics"]
    with open(name + ".tmp", "w") as out:
        json.dump(diagnostics, out)
    os.replace(name + ".tmp", name)


def arguments(argv):
    at = 0
    while at < len(argv) and argv[at] != "--":
        options[argv[at][2:]] = argv[at + 1]
        at += 2
    return argv[at + 1:]


def failed(phase, code, text, status=78):
    diagnostics["error"] = {"code": code, "text": text}
    reached(phase)
    print("flameox: " + text, file=sys.stderr)
    sys.stderr.flush()
    os._exit(status)


rest = arguments(sys.argv[1:])
config = json.loads(options["config"])
diagnostics["config"] = config
reached("profiler_initialization")

try:
    import torch
    from torch.profiler import ProfilerActivity, profile
except Exception as error:
    failed("profiler_initialization", "torch_unavailable", "torch could not be imported: %s: %s" % (type(error).__name__, error))

diagnostics["torch"] = str(torch.__version__)
if config["record"].get("with_stack"):
    # PyTorch loads these at the first backward pass. With stacks, torch 2.7 writes the import of one of them into the trace as a name
    # with quotes in it, which makes the whole trace unreadable; and imports are nothing of the program's.
    for lazy in ("torch._dynamo", "torch._inductor"):
        try:
            __import__(lazy)
        except Exception:
            pass
activities = []
for name in config["activities"]:
    if name == "cpu":
        activities.append(ProfilerActivity.CPU)
    elif torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    elif name == "cuda":
        failed("profiler_initialization", "cuda_unavailable", "activities has cuda, and torch %s sees no CUDA device; write cuda_if_available to do without" % torch.__version__)
diagnostics["activities"] = [a.name.lower() for a in activities]

try:
    profiler = profile(activities=activities, **config["record"])
    profiler.__enter__()
except Exception as error:
    failed("profiler_initialization", "profiler_failed", "torch.profiler could not start: %s: %s" % (type(error).__name__, error))

status, raised = 0, None
sys.argv = ["-c" if "inline" in options else options.get("script", options.get("module"))] + rest
reached("workload_execution")
try:
    if "script" in options:
        sys.path[0] = os.path.dirname(os.path.abspath(options["script"]))
        runpy.run_path(options["script"], run_name="__main__")
    elif "module" in options:
        sys.path[0] = os.getcwd()
        runpy.run_module(options["module"], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        import types
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(options["inline"], "<flameox-inline>", "exec"), main.__dict__)
except SystemExit as error:
    raised = error
except BaseException as error:
    raised = error
    status = 1

reached("profiler_finalization")
try:
    profiler.__exit__(None, None, None)
    reached("trace_finalization")
    profiler.export_chrome_trace(options["output"])
except Exception as error:
    failed(diagnostics["phase"], "trace_failed", "torch.profiler could not write its trace: %s: %s" % (type(error).__name__, error))
reached("completed")

if raised is not None:
    raise raised
