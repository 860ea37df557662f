"""Times the start of a Python program with pyperf, then lets Python itself time its imports once:
-c STARTUP BENCHMARK TRACE TIMEOUT FLAGS COMMAND...

BENCHMARK and TRACE are the files that are left, TIMEOUT the seconds that one process may take, FLAGS the number of arguments of COMMAND behind
which -X importtime belongs. The two are never one process: timing imports takes time.
"""
import os
import subprocess
import sys
import threading

# One process a sample and nothing before it: each sample is a start as a user has one.
PROFILE = ("--processes", "5", "--values", "1", "--loops", "1", "--warmups", "0")
NAME = "python_startup"
MARK = b"import time:"


def status(code):
    return 128 - code if code < 0 else code


def benchmark(path, timeout, command):
    argv = [sys.executable, "-m", "pyperf", "command", "--quiet", *PROFILE, "--copy-env", "--timeout", timeout, "--name", NAME, "--output", path, "--"]
    return status(subprocess.call(argv + command, stdin=subprocess.DEVNULL))


def trace(path, timeout, command):
    """The program's standard error, as it is, into the file; what is no line of the trace goes on to ours."""
    with open(path, "xb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            for line in process.stderr:
                file.write(line)
                if not line.startswith(MARK):
                    sys.stderr.buffer.write(line)
                    sys.stderr.buffer.flush()
            code = status(process.wait())
        finally:
            timer.cancel()
            process.kill()
    if late.is_set():
        sys.stderr.write("flameox: with its imports timed it took longer than %d s and was ended\n" % timeout)
        return 124  # as pyperf
    return code


def main():
    samples, imports, timeout, flags = sys.argv[1:5]
    command, at = sys.argv[5:], int(flags)
    if os.path.abspath(samples) == os.path.abspath(imports):
        sys.exit("flameox: the benchmark and the trace cannot be one file")
    try:
        import pyperf  # noqa: F401
    except ImportError as error:
        sys.stderr.write("flameox: %s has no pyperf (%s); run `%s -m pip install pyperf`, or name an interpreter that has it with python\n" % (sys.executable, error, sys.executable))
        sys.exit(4)
    code = benchmark(samples, timeout, command)
    if code:
        # pyperf keeps what the program prints to itself, so it is run once more for that.
        sys.stderr.write("flameox: pyperf ended with status %d; this is what the command prints by itself:\n" % code)
        sys.stderr.flush()
        try:
            subprocess.call(command, stdin=subprocess.DEVNULL, timeout=int(timeout))
        except subprocess.TimeoutExpired:
            sys.stderr.write("flameox: it took longer than %s s and was ended\n" % timeout)
        sys.exit(code)
    sys.exit(trace(imports, int(timeout), command[:at] + ["-X", "importtime"] + command[at:]))


if __name__ == "__main__":
    main()
