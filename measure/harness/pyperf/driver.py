"""Runs one function of a Python file as a pyperf benchmark, or lists the functions that could be run.

    driver.py list FILE ROOT
    driver.py run FILE ROOT FUNCTION INDEX NAMES PREFIX [OPTION OF PYPERF]...

INDEX is that of the combination of parameters, -1 where there are none. NAMES are the variables of the environment that may be written down, separated by commas; PREFIX is how the files begin in which they are.
"""
import hashlib
import json
import os
import sys

# Before anything of the user's is imported, which could change it.
ENVIRONMENT = dict(os.environ)


def digest(environment):
    text = json.dumps(environment, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def load(path, root):
    import importlib.util

    # What is measured must not change while it is: caches of bytecode would be new files in the tree.
    sys.dont_write_bytecode = True
    # The first entry is the folder of this program, which is nobody's module path.
    sys.path[:1] = [os.path.dirname(path), root]
    spec = importlib.util.spec_from_file_location("benchx_suite", path)
    if spec is None or spec.loader is None:
        sys.exit("%s is no Python source" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchx_suite"] = module
    spec.loader.exec_module(module)
    return module


def parameters(function):
    """The names of the parameters, and their values."""
    params = getattr(function, "params", None)
    if params is None:
        return [], []
    params = list(params)
    if not params or not all(isinstance(p, (list, tuple)) for p in params):
        params = [params]
    names = list(getattr(function, "param_names", None) or [])
    names = names[:len(params)] + ["param%d" % i for i in range(len(names) + 1, len(params) + 1)]
    return [str(n) for n in names], [list(p) for p in params]


def functions(module):
    found = []
    for name, value in sorted(vars(module).items()):
        if not callable(value) or isinstance(value, type) or getattr(value, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        names, values = parameters(value)
        found.append({
            "name": name, "names": names, "values": [[repr(v) for v in p] for p in values], "parametrized": hasattr(value, "params") and value.params is not None,
            "default": name.startswith(("bench_", "benchmark_")),
        })
    return found


def combination(values, index):
    import itertools

    return next(itertools.islice(itertools.product(*values), index, None))


def record(prefix, names, worker):
    """Writes down what this process has of the named variables, in a file that is either whole or not there."""
    kind = "worker" if worker else "manager"
    path = prefix + kind + "-env.json"
    content = {"sha256": digest(ENVIRONMENT), "variables": {n: ENVIRONMENT[n] for n in names if n in ENVIRONMENT}}
    scratch = "%s.%d" % (path, os.getpid())
    with open(scratch, "w", encoding="utf-8") as f:
        json.dump(content, f, sort_keys=True)
    os.replace(scratch, path)


def main():
    mode, path, root = sys.argv[1], sys.argv[2], sys.argv[3]
    if mode == "list":
        # What the module prints while it is imported is no part of the answer.
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        import pyperf  # noqa: F401 -- it must be there for the run

        json.dump(functions(load(path, root)), out)
        out.close()
        return
    function, index, names, prefix = sys.argv[4], int(sys.argv[5]), sys.argv[6], sys.argv[7]
    program = (os.path.abspath(sys.argv[0]),) + tuple(sys.argv[1:8])
    arguments = sys.argv[8:]
    record(prefix, [n for n in names.split(",") if n], "--worker" in arguments)
    import pyperf

    sys.argv = [path] + arguments
    module = load(path, root)
    what = getattr(module, function)
    _, values = parameters(what)
    combined = combination(values, index) if index >= 0 else ()
    runner = pyperf.Runner(metadata={"benchx_env_sha256": digest(ENVIRONMENT)}, program_args=program)
    runner.bench_func(function, what, *combined)


main()
