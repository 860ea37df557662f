"""Finds the benchmarks of an asv suite, or runs one of them.

    driver.py list ROOT DIRECTORY
    driver.py run ROOT DIRECTORY NAME INDEX OPTIONS NATIVE NAMES

ROOT is the measured tree: what is installed comes first, as with asv, and what is not is found there. INDEX is that of the combination of parameters, -1 where there are none. OPTIONS is a JSON object: rounds, cache, and the attributes of the benchmark. NATIVE is where the results go. NAMES are the variables of the
environment that may be written down, separated by commas.
"""
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile

# What is measured must not change while it is: caches of bytecode would be new files in the tree.
ENVIRONMENT = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")


def step(function, root, cwd, *arguments):
    """Runs one command of asv_runner, as asv does: in a process that has nothing of this one."""
    module = {"discover": "discovery"}.get(function, function)
    source = "import sys\nsys.path.append(sys.argv.pop(1))\nfrom asv_runner.%s import _%s\n_%s(sys.argv[1:])\n" % (module, function, function)
    command = [sys.executable, "-c", source, root] + list(arguments)
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()).returncode


def discover(root, folder):
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "benchmarks.json")
        code = step("discover", root, scratch, folder, out)
        if code:
            sys.exit(code if code > 0 else 1)
        with open(out, encoding="utf-8") as f:
            found = json.load(f)
    for benchmark in found:
        benchmark.pop("code", None)
    return found


def versions():
    from importlib import metadata

    found = {}
    for name in ("asv", "asv_runner"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def one(root, folder, name, index, options, scratch):
    result = os.path.join(scratch, "result.json")
    attributes = {k: v for k, v in options.items() if k not in ("rounds", "cache")}
    code = step("run", root, scratch, folder, name if index < 0 else "%s-%d" % (name, index), json.dumps(attributes), "None", result)
    if code:
        return {"errcode": code}
    with open(result, encoding="utf-8") as f:
        text = f.read()
    os.unlink(result)
    value = json.loads(text)
    # asv says with a number that is none that the benchmark does not apply.
    if isinstance(value, float) and value != value:
        return {"errcode": 0, "not_applicable": True}
    return {"errcode": 0, "result": value}


def run(root, folder, name, index, options, native, names):
    runtime = {
        "python_version": "%s (%d-bit)" % (platform.python_version(), 64 if sys.maxsize > 2**32 else 32),
        "python_implementation": sys.implementation.name,
        "python_compiler": platform.python_compiler(),
        "python_cflags": sysconfig.get_config_var("CFLAGS") or "",
    }
    document = {"version": 1, "benchmark": name, "index": index, "versions": versions(), "runtime": runtime, "executable": sys.executable, "rounds": []}
    document["environment"] = {n: os.environ[n] for n in names if n in os.environ}
    with tempfile.TemporaryDirectory() as scratch:
        if options["cache"]:
            code = step("setup_cache", root, scratch, folder, name, "{}")
            if code:
                document["rounds"].append({"errcode": code})
        for _ in range(options["rounds"] if not document["rounds"] else 0):
            document["rounds"].append(one(root, folder, name, index, options, scratch))
    with open(native, "w", encoding="utf-8") as f:
        json.dump(document, f, indent=1, sort_keys=True, allow_nan=True)


def main():
    if sys.argv[1] == "list":
        json.dump(discover(*sys.argv[2:4]), sys.stdout)
        return
    root, folder, name, index, options, native, names = sys.argv[2:9]
    run(root, folder, name, int(index), json.loads(options), native, [n for n in names.split(",") if n])


main()
