"""Recordings: converted or read, checked and compared."""

from __future__ import annotations

import difflib
import functools
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _traceconv as native

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
"""A recording's file, or its bytes."""

Input = Union[Source, tuple[Source, int], Sequence[Union[Source, tuple[Source, int]]]]
"""A recording: one source, or one for each core. Without numbers they are the cores 0, 1, …"""

OptionValue = Union[bool, int, str, "os.PathLike[str]", Sequence[Union[int, str, "os.PathLike[str]"]]]
"""The value of an option of a format: `True` of a flag, a text or number, the path of a file; several of an option that may be repeated."""

NativeInput = tuple[str, Union[bytes, str, "os.PathLike[str]", tuple[Union[bytes, None], Union[bytes, None], str]], Union[int, None]]
"""Its name, its content, its core."""

COMMON = {"format", "clock_hz", "cores", "swo_port", "detail", "from_", "to", "name", "threads", "mmap", "max_decompressed"}


def options_of(options: Mapping[str, Any]) -> native.Options:
    """The options of a recording: those that all formats have, and those of formats."""
    own: list[tuple[str, str]] = []
    for name, value in options.items():
        if name in COMMON or value is None or value is False:
            continue
        several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        own += [(name, "" if one is True else os.fspath(one) if isinstance(one, os.PathLike) else str(one)) for one in several]
    common = {name: value for name, value in options.items() if name in COMMON and value is not None}
    if "clock_hz" in common:
        common["clock_hz"] = str(common["clock_hz"])
    try:
        return native.Options(own, **common)
    except (TypeError, OverflowError) as error:
        raise native.OptionError(str(error)) from None


def _input(source: Source, core: int | None, path: str | None) -> NativeInput:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return path or "recording", bytes(source), core
    file = os.fspath(source)
    whole, at, digits = file.rpartition("@")
    if core is None and at and whole and digits.isascii() and digits.isdigit() and not os.path.lexists(file):
        file, core = whole, int(digits)
    if core is not None and not 0 <= core < 1024:
        raise native.OptionError(f"{file}: {core} is not a core number (0 to 1023)")
    return path or file, Path(file), core


def inputs_of(recording: Input, path: str | None = None) -> list[NativeInput]:
    """The inputs of a recording."""
    if isinstance(recording, (str, os.PathLike, bytes, bytearray, memoryview)):
        return [_input(recording, None, path)]
    if isinstance(recording, tuple) and len(recording) == 2 and isinstance(recording[1], int):
        return [_input(recording[0], recording[1], path)]
    inputs: list[NativeInput] = []
    several = len(recording) > 1
    for index, one in enumerate(recording):
        if isinstance(one, tuple):
            inputs.append(_input(one[0], one[1], path))
        else:
            found = _input(one, None, path)
            core = index if several and found[2] is None else found[2]
            inputs.append((found[0], found[1], core))
    if not inputs:
        raise native.InputError("there is no input: name a recording")
    return inputs


class Thing:
    """A task, an interrupt or another thing of a recording: its metrics are its attributes, as `cpu_percent`."""

    def __init__(self, section: str, name: str, metrics: Mapping[str, float]) -> None:
        self.section = section
        self.name = name
        self.metrics = dict(metrics)

    def __getattr__(self, metric: str) -> float:
        try:
            return self.__dict__["metrics"][metric]  # type: ignore[no-any-return]
        except KeyError:
            known = self.__dict__.get("metrics", {})
            near = difflib.get_close_matches(metric, known, 1)
            hint = f"; is it {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise AttributeError(f"{self.section} {self.name} has no metric {metric}{hint}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.metrics]

    def __repr__(self) -> str:
        values = ", ".join(f"{metric}={value:g}" for metric, value in self.metrics.items())
        return f"<{self.section} {self.name}: {values}>"


class Trace:
    """A recording that was converted, or only read: then it has no bytes."""

    def __init__(self, recording: native.Recording) -> None:
        self._recording = recording

    @functools.cached_property
    def _figures(self) -> native.Figures:
        return self._recording.figures()

    @property
    def bytes(self) -> bytes:
        """The trace for the viewer."""
        if self._recording.trace is None:
            raise native.TraceconvError("the recording was read without drawing it; convert() makes a trace")
        return self._recording.trace

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the trace. The file appears when it is complete."""
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            partial.write_bytes(self.bytes)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        return target

    @property
    def id(self) -> str:
        """The recording's identity: a hash, as in the tables of `traceconv export`."""
        return self._recording.id

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its folders, and of the notes beside it."""
        return self._recording.labels

    @property
    def format(self) -> str | None:
        """The format's name."""
        return self._recording.format

    @property
    def summary(self) -> str:
        """The lines that the program prints about its inputs."""
        return self._recording.summary()

    @property
    def report(self) -> dict[str, Any]:
        """What `traceconv --report` writes as JSON."""
        return json.loads(self._recording.report())  # type: ignore[no-any-return]

    @property
    def stats(self) -> dict[str, Any]:
        """What `traceconv stats --json` writes."""
        return json.loads(self._recording.stats())  # type: ignore[no-any-return]

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics, named as rules of a budget name them: `task.filter.cpu_percent`."""
        return dict(self._figures.paths())

    def to_arrow(self, table: str) -> native.Table:
        """A table, as in docs/fleets.md: `events`, `slices`, `states`, `values`, `metrics`, `recordings` or `losses`.

        pyarrow (`pyarrow.table`), Polars (`polars.DataFrame`), DuckDB and others take it without a copy.
        """
        return self._recording.table(table)

    def thing(self, section: str, name: str) -> Thing:
        """A thing of a section of metrics: `thing("isr", "UART")`."""
        rows = [row for row in self._figures.rows() if row[0] == section]
        found = {metric: value for _, of, metric, value, _ in rows if of == name}
        if found:
            return Thing(section, name, found)
        names = list(dict.fromkeys(row[1] for row in rows))
        if not names:
            raise native.TraceconvError(f"the recording has no {section}")
        near = difflib.get_close_matches(name, names, 1)
        hint = f"is it {near[0]}?" if near else f"there are {', '.join(names)}"
        raise native.TraceconvError(f"the recording has no {section} {name}; {hint}")

    def task(self, name: str) -> Thing:
        """A task, with its metrics as attributes."""
        return self.thing("task", name)

    def open(self, *, port: int = 9001, wait_seconds: float = 120, ui: str = "https://ui.perfetto.dev") -> None:
        """Opens the trace in the viewer, in the browser of this machine. Returns when the viewer has fetched it."""
        from ._viewer import show

        show(self.bytes, port, wait_seconds, ui)

    def trace_processor(self, **options: Any) -> Any:
        """A `perfetto.trace_processor.TraceProcessor` with the trace, for SQL. Needs the package `perfetto`."""
        try:
            from perfetto.trace_processor import TraceProcessor
        except ImportError:
            raise native.TraceconvError("the package perfetto is not installed: pip install perfetto") from None
        import io

        return TraceProcessor(trace=io.BytesIO(self.bytes), **options)

    def __repr__(self) -> str:
        return f"<traceconv.Trace: {self.summary.splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return _html(self)


def _html(trace: Trace) -> str:
    escape = html.escape
    rows = [(name, metric, value) for section, name, metric, value, _ in trace._figures.rows() if section == "task"]
    loads = sorted(((value, name) for name, metric, value in rows if metric == "cpu_percent"), key=lambda load: (-load[0], load[1]))
    inputs = trace.stats["recordings"][0]["inputs"]
    events = sum(one["events"] for one in inputs)
    first = min((one["first_ns"] for one in inputs if one["first_ns"] is not None), default=0)
    last = max((one["last_ns"] for one in inputs if one["last_ns"] is not None), default=0)
    lost = [f"{loss['count']} × {loss['text']}" for one in inputs for loss in one["losses"]]
    names = ", ".join(one["path"] for one in inputs)
    facts = f"{trace.format}, {events} events in {(last - first) / 1e9:.6g} s"
    bar = (
        '<tr><td style="text-align:left">{name}</td><td style="width:20em;text-align:left">'
        '<div style="background:#4285f4;height:0.8em;width:{width:.1f}%"></div></td><td>{load:.2f} %</td></tr>'
    )
    bars = "".join(bar.format(name=escape(name), width=max(0.0, min(load, 100.0)), load=load) for load, name in loads)
    table = f"<table><tr><th>task</th><th>CPU load</th><th></th></tr>{bars}</table>" if bars else ""
    losses = f"<p><b>Lost:</b> {escape('; '.join(lost))}</p>" if lost else "<p>No losses.</p>"
    return f"<div><p><b>{escape(names)}</b>: {escape(facts)}</p>{table}{losses}</div>"


class Checked:
    """The verdicts of a budget. It is true if none is broken: `assert traceconv.check(trace, budget)`."""

    def __init__(self, verdicts: str, broken: list[str], table: str) -> None:
        self.verdicts: list[dict[str, Any]] = json.loads(verdicts)
        self.broken = broken
        """A sentence for each limit that is broken."""
        self._table = table

    def __bool__(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<traceconv.Checked: {'; '.join(self.broken) or 'all kept'}>"


class Diff:
    """The differences of two recordings. It is true if nothing got worse by more than `fail_over` allows."""

    def __init__(self, differences: str, worst: str | None, table: str) -> None:
        self.data: dict[str, Any] = json.loads(differences)
        self.worst = worst
        """The change for the worse that matters most, as a sentence."""
        self._table = table

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The metrics that changed, the most relevant first."""
        return self.data["changes"]  # type: ignore[no-any-return]

    @property
    def too_much(self) -> list[dict[str, Any]]:
        """The changes for the worse that are more than `fail_over` allows."""
        return [change for change in self.changes if change["is_too_much"]]

    def __bool__(self) -> bool:
        return not self.data["is_too_much"]

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<traceconv.Diff: {self.worst or 'nothing got worse'}>"


def convert(recording: Input, *, path: str | None = None, **options: Any) -> Trace:
    """Converts a recording to a trace. The options are those of the command line, with `_` for `-`: `clock_hz`, `detail`, `from_`, `to`, `elf`, …

    `path` is what reports call bytes; `threads` is 1 unless given (0: one per processor); `mmap=True` maps files instead of reading them.
    """
    return Trace(native.read(inputs_of(recording, path), options_of(options), True))


def read(recording: Input, *, path: str | None = None, **options: Any) -> Trace:
    """The statistics and tables of a recording, without drawing it."""
    return Trace(native.read(inputs_of(recording, path), options_of(options), False))


def _figures(measured: Trace | Input) -> native.Figures:
    if isinstance(measured, Trace):
        return measured._figures
    if isinstance(measured, (str, os.PathLike)) and os.path.isfile(measured):
        with open(measured, "rb") as file:
            head = file.read(1)
            content = head + file.read() if head in (b"{", b" ", b"\n") else b""
        saved = native.Figures.saved(os.fspath(measured), content)
        if saved is not None:
            return saved
    return read(measured)._figures


def budget_text(budget: str | os.PathLike[str] | Sequence[str]) -> str:
    """The text of a budget: a TOML file, or rules."""
    if not isinstance(budget, (str, os.PathLike)):
        return f"rules = {json.dumps(list(budget))}"
    try:
        return Path(budget).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise native.BudgetError(f"the budget {os.fspath(budget)} cannot be read: {reason}") from None


def check(recording: Trace | Input, budget: str | os.PathLike[str] | Sequence[str]) -> Checked:
    """Checks a recording against a budget: the path of a TOML file, or a list of rules as `"task.filter.cpu_percent < 4"`."""
    try:
        return Checked(*native.check(_figures(recording), budget_text(budget)))
    except native.BudgetError as error:
        if isinstance(budget, (str, os.PathLike)) and not re.match("the budget ", str(error)):
            raise native.BudgetError(f"{os.fspath(budget)}: {error}") from None
        raise


def diff(
    base: Trace | Input,
    new: Trace | Input,
    *,
    fail_over: float | None = None,
    fail_on_new: str | None = None,
    min_change: float | None = None,
    only: Sequence[str] = (),
) -> Diff:
    """Compares two recordings, or what `stats --json` or `baseline` saved of them. The options are those of `traceconv diff`, in per cent."""
    options = {"fail_over": fail_over, "fail_on_new": fail_on_new, "min_change": min_change, "only": list(only)}
    return Diff(*native.diff(_figures(base), _figures(new), **options))  # type: ignore[arg-type]


def baseline(runs: Sequence[Trace], path: str | os.PathLike[str]) -> Path:
    """Writes the mean and spread of several runs' statistics, as `traceconv baseline` does."""
    if not runs:
        raise native.BudgetError("a baseline is of one run at least")
    named = [(run.report["inputs"][0]["path"], run._figures) for run in runs]
    target = Path(path)
    target.write_text(native.baseline(named), encoding="utf-8")
    return target
