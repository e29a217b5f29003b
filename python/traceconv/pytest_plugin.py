"""The fixture `traceconv` and the marker of the same name for tests that record a target.

    @pytest.mark.traceconv(budget="budget.toml", baseline="baseline.json", fail_over=10)
    def test_filter(traceconv, bench):
        traceconv.add(bench.record())                  # read after the test, and checked
        trace = traceconv.read(bench.record())         # or at once
        assert trace.task("filter").cpu_percent < 4

The traces and reports of a test that fails are written to `--traceconv-dir`, and named in JUnit's properties. Nothing needs a network.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import traceconv as package

_KEY = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("traceconv")
    group.addoption(
        "--traceconv-dir", default="traceconv-failures", metavar="DIR", help="where the traces of tests that fail are written"
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "traceconv(budget=None, baseline=None, fail_over=None): check the recordings of the test against a budget (a file, or a list of "
        "rules), and compare them with a baseline: worse by more than fail_over per cent fails",
    )


class Recordings:
    """The recordings of a test."""

    def __init__(self):
        self.traces: list[package.Trace] = []
        self._waiting: list = []

    def add(self, source, **options) -> None:
        """A recording that is read after the test."""
        self._waiting.append((source, options))

    def read(self, source, **options) -> package.Trace:
        """Reads a recording."""
        self.traces.append(package.read(source, **options))
        return self.traces[-1]

    def finish(self) -> None:
        waiting, self._waiting = self._waiting, []
        for source, options in waiting:
            self.read(source, **options)


@pytest.fixture
def traceconv(request):
    """The recordings of this test."""
    recordings = request.node.stash[_KEY] = Recordings()
    return recordings


def _check(item, recordings) -> None:
    for marker in item.iter_markers("traceconv"):
        broken = []
        budget, baseline = marker.kwargs.get("budget"), marker.kwargs.get("baseline")
        beside = lambda path: path if isinstance(path, (list, tuple)) else Path(item.path).parent / path
        for trace in recordings.traces:
            if budget is not None:
                broken += [f"{trace.path}: {text}" for text in trace._read.check(package._budget_text(beside(budget)))[1]]
            if baseline is not None:
                found = package.diff(beside(baseline), trace, fail_over=marker.kwargs.get("fail_over"))
                if found["is_too_much"]:
                    broken.append(f"{trace.path}: worse than the baseline allows: {found['worst']}")
        if not recordings.traces:
            broken.append("the test is to be checked, but has no recording")
        if broken:
            pytest.fail("\n".join(broken), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    recordings = item.stash.get(_KEY, None)
    if recordings is None:
        if item.get_closest_marker("traceconv"):
            pytest.fail("the marker traceconv is for tests that use the fixture traceconv", pytrace=False)
        return result
    try:
        recordings.finish()
    except package.Error as error:
        pytest.fail(str(error), pytrace=False)
    _check(item, recordings)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    recordings = item.stash.get(_KEY, None)
    if recordings is None or call.when != "call" or not report.failed:
        return report
    try:
        # A test that fails before its end has recordings all the same.
        recordings.finish()
    except package.Error as error:
        report.sections.append(("traceconv", str(error)))
    folder = Path(item.config.getoption("--traceconv-dir")) / re.sub(r"[^\w.-]+", "_", item.nodeid)
    for number, trace in enumerate(recordings.traces):
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{number}-{Path(trace.path).stem}"
        path = trace.write(f"{stem}.perfetto-trace")
        Path(f"{stem}.json").write_text(json.dumps(trace.report, indent=2) + "\n")
        for name, file in (("traceconv_trace", path), ("traceconv_report", f"{stem}.json")):
            report.user_properties.append((name, str(file)))
        report.sections.append(("traceconv", f"{trace!r}\ntrace: {path} (open it at https://ui.perfetto.dev)"))
        _attach(path)
    return report


def _attach(path) -> None:
    """To Allure's report, if that is used."""
    try:
        import allure
    except ImportError:
        return
    allure.attach.file(str(path), name=path.name, extension="perfetto-trace")
