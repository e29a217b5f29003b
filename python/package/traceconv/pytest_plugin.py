"""The plugin of pytest: recordings of a test are converted, checked, and attached to the result if the test fails."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import Trace, baseline, check, convert, diff
from ._recording import Input

MARKER = "traceconv(budget=None, baseline=None, fail_over=None, **options): limits for the recordings of a test, and options for their conversion"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("traceconv", "recordings of embedded systems")
    group.addoption("--traceconv-dir", metavar="DIR", help="where traces and reports of failed tests are put [default: traceconv-results]")
    group.addoption("--traceconv-keep", action="store_true", help="keep traces and reports of tests that pass, too")
    group.addoption("--traceconv-write-baseline", action="store_true", help="write the baselines that tests name, instead of comparing with them")
    parser.addini("traceconv_budget", "a budget for the recordings of all tests")
    parser.addini("traceconv_baseline", "a folder with baselines: NAME.json for each test that has recordings and no baseline of its own")
    parser.addini("traceconv_fail_over", "how much worse than the baseline something may be, in per cent", default="10")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


class Recordings:
    """The recordings of a test.

    Called with a recording, it is converted at once, for `assert`. One that is named with `after` is converted when the test has ended.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._later: list[tuple[Input, dict[str, Any]]] = []
        self.traces: list[Trace] = []
        marks = list(item.iter_markers("traceconv"))
        settings: dict[str, Any] = {}
        for mark in reversed(marks):
            if mark.args:
                raise pytest.UsageError(f"{item.nodeid}: the mark traceconv takes names, as in traceconv(budget=...)")
            settings |= mark.kwargs
        config = item.config
        self._budget: Any = settings.pop("budget", None) or config.getini("traceconv_budget") or None
        self._baseline: Any = settings.pop("baseline", None)
        fail_over = settings.pop("fail_over", None)
        self._fail_over: Any = _per_cent(config.getini("traceconv_fail_over")) if fail_over is None else fail_over
        folder = config.getini("traceconv_baseline")
        if self._baseline is None and folder:
            self._baseline = os.path.join(folder, _file_name(item) + ".json")
        self._options = settings

    def __call__(self, recording: Input, **options: Any) -> Trace:
        """Converts a recording. The test's limits are checked when it has ended."""
        trace = convert(recording, **(self._options | options))
        self.traces.append(trace)
        return trace

    def after(self, recording: Input, **options: Any) -> None:
        """Converts a recording when the test has ended; its file need not be there yet."""
        self._later.append((recording, options))

    def _beside(self, path: Any) -> Any:
        """Paths are those of the folder in which pytest was started or configured."""
        return self._item.config.rootpath / path if isinstance(path, (str, os.PathLike)) else path

    def _finish(self) -> list[str]:
        """Converts what was named for later, and checks all. Sentences about limits that are broken."""
        for recording, options in self._later:
            self(recording, **options)
        self._later.clear()
        problems: list[str] = []
        if (self._budget or self._baseline) and not self.traces:
            return ["there is a budget or a baseline, but the test converted no recording"]
        for trace in self.traces:
            if self._budget:
                problems += check(trace, self._beside(self._budget)).broken
        if self._baseline:
            path = Path(self._beside(self._baseline))
            if self._item.config.getoption("traceconv_write_baseline"):
                path.parent.mkdir(parents=True, exist_ok=True)
                baseline(self.traces, path)
            elif not path.exists():
                problems.append(f"the baseline {path} is not there; --traceconv-write-baseline writes it")
            else:
                for trace in self.traces:
                    problems += _worse(path, trace, self._fail_over)
        return problems

    def _attach(self) -> None:
        """Puts traces and reports where the result of the test names them."""
        config = self._item.config
        folder = config.rootpath / (config.getoption("traceconv_dir") or "traceconv-results")
        for number, trace in enumerate(self.traces):
            name = _file_name(self._item) + (f"-{number}" if len(self.traces) > 1 else "")
            folder.mkdir(parents=True, exist_ok=True)
            path = trace.write(folder / f"{name}.perfetto-trace")
            report = folder / f"{name}.report.json"
            report.write_text(json.dumps(trace.report, indent=2), encoding="utf-8")
            self._item.user_properties += [("traceconv_trace", str(path)), ("traceconv_report", str(report))]
            self._item.add_report_section("call", "traceconv", f"{trace.summary}  -> {path}\n")
            _attach_to_allure(trace, name)


def _per_cent(text: str) -> float:
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        raise pytest.UsageError(f"traceconv_fail_over is {text}, not a number of per cent") from None


def _file_name(item: pytest.Item) -> str:
    """A name that no other test has: what cannot be in the name of a file is told apart by a hash."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", item.nodeid).strip("-.")[-180:]
    if re.fullmatch(r"[A-Za-z0-9._/:]+(\[[A-Za-z0-9._]+\])?", item.nodeid) and len(item.nodeid) <= 180:
        return name
    return f"{name}-{hashlib.sha256(item.nodeid.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _worse(path: Path, trace: Trace, fail_over: float) -> list[str]:
    result = diff(path, trace, fail_over=fail_over)
    if not result.data["compared"]:
        return [f"the baseline {path} has no metric of this recording"]
    problems = [
        f"{change['metric']} is {change['new']:g} {change['unit']}, more than {fail_over:g} % worse than {change['base']:g} of the baseline"
        for change in result.too_much
    ]
    return problems + [f"{thing['section']} {thing['name']} is not in the baseline {path}" for thing in result.data["too_new"]]


def _attach_to_allure(trace: Trace, name: str) -> None:
    try:
        import allure
    except ImportError:
        return
    allure.attach(trace.bytes, f"{name}.perfetto-trace", "application/octet-stream", "perfetto-trace")
    allure.attach(json.dumps(trace.report, indent=2), f"{name}.report.json", allure.attachment_type.JSON)


RECORDINGS = pytest.StashKey[Recordings]()


@pytest.fixture
def traceconv(request: pytest.FixtureRequest) -> Recordings:
    """Converts recordings of this test: `trace = traceconv("run.bin")`, or `traceconv.after("run.bin")`."""
    recordings = Recordings(request.node)
    request.node.stash[RECORDINGS] = recordings
    return recordings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        result = yield
    except (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt):
        raise
    except BaseException:
        recordings = item.stash.get(RECORDINGS, None)
        if recordings is not None:
            _attach_what_there_is(item, recordings)
        raise
    recordings = item.stash.get(RECORDINGS, None)
    if recordings is None:
        return result
    try:
        problems = recordings._finish()
    except BaseException:
        recordings._attach()
        raise
    if problems or item.config.getoption("traceconv_keep"):
        recordings._attach()
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    return result


def _attach_what_there_is(item: pytest.Item, recordings: Recordings) -> None:
    """Of a test that failed already: what cannot be converted is a remark."""
    for recording, options in recordings._later:
        try:
            recordings(recording, **options)
        except Exception as error:
            item.add_report_section("call", "traceconv", f"{error}\n")
    recordings._later.clear()
    recordings._attach()
