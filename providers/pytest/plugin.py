"""What pytest-reportlog's records do not say, added to them under names that begin with "flameox.": PYTEST_DONT_REWRITE

On the records of tests, as user properties:

    flameox.run_started_ns          when the run began, of the wall clock
    flameox.controller_received_ns  when the process that writes the log got the report
    flameox.fixture_setup           one for each fixture that was set up in the phase, with its own time
    flameox.collected_nodeids       under xdist: what the workers collected, {"total": …, "nodeids": […]}, in parts
    flameox.deselected_nodeids      what was collected and deselected, likewise

On the records of collectors, beside their fields:

    flameox.collected_nodeids       the tests that were found directly in the collector

Nothing else is changed: no report is made, withheld, sent or written here.
"""
import time

import pytest

# The launcher sets SOURCE and STARTED in the process that starts the run; workers of xdist get neither.
SOURCE = globals().get("SOURCE")
STARTED = globals().get("STARTED")

# Bytes of names that are put into one record.
PART = 200_000


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Fixtures(), "flameox_fixtures")
        return
    config.pluginmanager.register(Fixtures(), "flameox_fixtures")
    config.pluginmanager.register(Controller(), "flameox_controller")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """xdist is about to start a worker: hand it this module, so that the -p which it is told finds it."""
    if SOURCE is None:
        return
    text = "\n".join(
        (
            "import sys, types",
            "module = types.ModuleType(%r)" % __name__,
            "exec(compile(%r, '<flameox_pytest>', 'exec'), module.__dict__)" % SOURCE,
            "sys.modules[%r] = module" % __name__,
        )
    )
    node.gateway.remote_exec(text).waitclose()


class Fixtures:
    """Times the setup of each fixture, in the process that runs tests."""

    def __init__(self):
        self.setups = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        began, clock = time.time_ns(), time.perf_counter_ns()
        outcome = yield
        if getattr(fixturedef.func, "__name__", "") == "get_direct_param_fixture_func":
            return  # a parameter, which pytest treats as a fixture
        spent = time.perf_counter_ns() - clock
        self.setups.append(
            {
                "duration_ns": spent,
                "fixture": fixturedef.argname,
                "scope": fixturedef.scope,
                "started_at_ns": began,
                "outcome": _outcome(outcome),
            }
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        setups, self.setups = self.setups, []
        outcome = yield
        if setups and outcome.excinfo is None:
            report = outcome.get_result()
            report.user_properties.extend(("flameox.fixture_setup", s) for s in setups)


def _outcome(outcome):
    if outcome.excinfo is None:
        return "passed"
    return "skipped" if issubclass(outcome.excinfo[0], pytest.skip.Exception) else "failed"


class Controller:
    """Adds to what is written, in the process that writes the log."""

    def __init__(self):
        self.received = (None, 0)
        self.workers = {}  # what each worker collected
        self.pending = []  # parts of lists that no record has yet
        self.deselected = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        self.received = (id(report), time.time_ns())

    def pytest_deselected(self, items):
        self.deselected.extend(i.nodeid for i in items)

    def pytest_collection_finish(self):
        self._later("flameox.deselected_nodeids", self.deselected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        known = list(ids)
        if known not in self.workers.values():
            self._later("flameox.collected_nodeids", known)
        self.workers[node.gateway.id] = known

    def _later(self, name, ids):
        part, size = [], 0
        for n in ids:
            part.append(n)
            size += len(n) + 4
            if size > PART:
                self.pending.append((name, {"total": len(ids), "nodeids": part}))
                part, size = [], 0
        if part:
            self.pending.append((name, {"total": len(ids), "nodeids": part}))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_report_to_serializable(self, report):
        outcome = yield
        data = outcome.get_result()
        if not isinstance(data, dict):
            return
        if isinstance(report, pytest.CollectReport):
            data["flameox.collected_nodeids"] = [n.nodeid for n in report.result or () if isinstance(n, pytest.Item)]
        elif isinstance(report, pytest.TestReport):
            at = self.received[1] if self.received[0] == id(report) else time.time_ns()
            added = [("flameox.run_started_ns", STARTED), ("flameox.controller_received_ns", at)]
            if self.pending:
                added.append(self.pending.pop(0))
            data["user_properties"] = list(data.get("user_properties") or ()) + added
