"""Runs pytest with pytest-reportlog and flameox's plugin: -c LAUNCHER PLUGIN LOG STYLE [ARGUMENT OF PYTEST]...

PLUGIN is the plugin's source, LOG the file that reportlog writes, STYLE how the workload names pytest (module or script, which differ in
what is importable).
"""
import time

STARTED = time.time_ns()

import os  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402


def stop(text):
    sys.stderr.write("flameox: %s\n" % text)
    sys.exit(4)  # as pytest does where it is used wrongly


def requirements():
    try:
        import pytest  # noqa: F401
    except ImportError as error:
        stop("%s has no pytest (%s); add pytest and pytest-reportlog to its environment" % (sys.executable, error))
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("pytest-reportlog")
    except PackageNotFoundError:
        stop("%s has no pytest-reportlog, which writes the results; run `%s -m pip install 'pytest-reportlog>=1,<2'`" % (sys.executable, sys.executable))
    if found.split(".")[0] != "1":
        stop("%s has pytest-reportlog %s, and versions from 1 up to 2 are known" % (sys.executable, found))


def plugin(source):
    module = types.ModuleType("flameox_pytest")
    module.SOURCE, module.STARTED = source, STARTED
    exec(compile(source, "<flameox_pytest>", "exec"), module.__dict__)
    sys.modules[module.__name__] = module
    return module


def main():
    source, log, style = sys.argv[1:4]
    # -c has put the working directory first. `python -m pytest` has it there too, the script pytest its own folder.
    if sys.path and sys.path[0] == "":
        sys.path[0] = os.getcwd() if style == "module" else os.path.dirname(sys.executable)
    requirements()
    import pytest

    module = plugin(source)
    sys.argv[:4] = ["pytest"]
    status = int(pytest.main(["-p", module.__name__, "-p", "pytest_reportlog", "--report-log=" + log] + sys.argv[1:]))
    sys.stdout.flush()
    sys.exit(status)


if __name__ == "__main__":
    main()
