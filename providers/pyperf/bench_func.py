"""Runs functions of a Python file as pyperf benchmarks: -c DRIVER FILE SELECTION [OPTION OF PYPERF]...

SELECTION is a JSON list of names; an empty one is every bench_* and benchmark_* that the file defines. A function with params (asv's) is one benchmark for
each combination, named name(repr, repr); a name selects all of them, a whole case one.
"""
import hashlib
import json
import os
import sys

# Before anything of the file can change it: what this process, a worker or the one that starts them, really has.
ENVIRONMENT = hashlib.sha256(
    json.dumps(dict(os.environ), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape")
).hexdigest()


def load(path):
    import importlib.util

    # What is measured must not change while it is: caches of bytecode would be new files of the project.
    sys.dont_write_bytecode = True
    # With -c the first entry is the working directory, which stands behind the file's own.
    sys.path[:1] = [os.path.dirname(path), os.getcwd()]
    spec = importlib.util.spec_from_file_location("flameox_suite", path)
    if spec is None:
        sys.exit("flameox: %s is no Python source" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["flameox_suite"] = module
    spec.loader.exec_module(module)
    return module


def cases(name, function):
    """The benchmarks of a function, as pairs of name and arguments, in the order of its parameters."""
    import itertools

    params = getattr(function, "params", None)
    if not params:
        return [(name, ())]
    if not all(isinstance(p, (list, tuple)) for p in params):
        params = [params]
    for values in params:
        texts = [repr(v) for v in values]
        if len(set(texts)) < len(texts) or any(" at 0x" in t for t in texts):
            sys.exit("flameox: the parameters of %s have texts that are equal, or an address, and name no case: %s" % (name, ", ".join(texts)))
    return [("%s(%s)" % (name, ", ".join(map(repr, c))), c) for c in itertools.product(*params)]


def select(module, names):
    default = sorted(
        n for n, v in vars(module).items()
        if n.startswith(("bench_", "benchmark_")) and callable(v) and getattr(v, "__module__", None) == module.__name__
    )
    found = []
    for name in names or default:
        function = getattr(module, name.split("(")[0], None)
        if not callable(function):
            sys.exit("flameox: %s has no function %s; it defines %s" % (module.__file__, name, ", ".join(default) or "no bench_*"))
        wanted = [(n, function, a) for n, a in cases(name.split("(")[0], function) if name in (n, n.split("(")[0])]
        if not wanted:
            sys.exit("flameox: %s is no case of its function" % name)
        found += wanted
    if not found:
        sys.exit("flameox: %s defines no function called bench_* or benchmark_*" % module.__file__)
    return found


def main():
    import pyperf

    path, selection = os.path.abspath(sys.argv[1]), sys.argv[2]
    at = sys.orig_argv.index("-c")
    # The workers are started like this process: with this source, and what it is told.
    program = ("-c", sys.orig_argv[at + 1], path, selection)
    sys.argv = [path] + sys.argv[3:]
    runner = pyperf.Runner(metadata={"benchx_env_sha256": ENVIRONMENT}, program_args=program)
    for name, function, arguments in select(load(path), json.loads(selection)):
        runner.bench_func(name, function, *arguments)


main()
