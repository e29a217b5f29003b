"""Recordings: converted or read, checked and compared."""

from __future__ import annotations

import difflib
import functools
import html
import json
import math
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Union

from . import _traceconv as native

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
"""A recording's file, or its bytes."""

Input = Union[Source, tuple[Source, int], Sequence[Union[Source, tuple[Source, int]]]]
"""A recording: one source, or one for each core. Without numbers they are the cores 0, 1, …"""

OptionValue = Union[bool, int, str, "os.PathLike[str]", Sequence[Union[int, str, "os.PathLike[str]"]]]
"""The value of an option of a format: `True` of a flag, a text or number, the path of a file; several of an option that may be repeated."""

NativeInput = tuple[str, Union[bytes, str, "os.PathLike[str]", tuple[Union[bytes, None], Union[bytes, None], str]], Union[int, None]]
"""Its name, its content, its core."""

NUMBERS = {"cores": (1, 1024), "swo_port": (0, 255), "threads": (0, 1024), "max_decompressed": (0, 2**64 - 1)}
TEXTS = {"format", "clock_hz", "detail", "from_", "to", "name"}
COMMON = {*NUMBERS, *TEXTS, "mmap"}


def options_of(options: Mapping[str, Any]) -> native.Options:
    """The options of a recording: those that all formats have, and those of formats."""
    own: list[tuple[str, str]] = []
    for name, value in options.items():
        if name in COMMON or value is None or value is False:
            continue
        several = value if isinstance(value, (list, tuple)) else [value]
        own += [(name, _text(name, one)) for one in several]
    common = {name: _common(name, value) for name, value in options.items() if name in COMMON and value is not None}
    try:
        return native.Options(own, **common)
    except UnicodeEncodeError as error:
        raise native.OptionError(str(error)) from None


def _text(name: str, value: Any) -> str:
    if value is True:
        return ""
    if not isinstance(value, (str, int, os.PathLike)) or isinstance(value, bool):
        raise native.OptionError(f"{name}: {value!r} is no text, number or path")
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _common(name: str, value: Any) -> Any:
    if name in NUMBERS:
        least, most = NUMBERS[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise native.OptionError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    elif name == "mmap":
        if not isinstance(value, bool):
            raise native.OptionError(f"{name}: {value!r} is not True or False")
    elif name == "clock_hz" and (isinstance(value, int) or isinstance(value, float) and value.is_integer()):
        return str(int(value))
    elif not isinstance(value, str):
        raise native.OptionError(f"{name}: {value!r} is not a text")
    return value


def name_of(path: str | os.PathLike[str]) -> str:
    """The name of an input, for people: bytes that are not UTF-8 are `\\xff`."""
    return os.fsdecode(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _input(source: Source, core: int | None, path: str | None) -> NativeInput:
    content: bytes | Path
    if isinstance(source, (bytes, bytearray, memoryview)):
        name, content = "recording", bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        file = os.fsdecode(source)
        if not file:
            raise native.InputError("there is no input: its path is empty")
        whole, at, digits = file.rpartition("@")
        if core is None and at and whole and digits.isascii() and digits.isdigit() and not os.path.lexists(file):
            file, core = whole, int(digits)
        name, content = file, Path(file)
    else:
        raise native.InputError(f"a recording is a path, bytes, or a list with one for each core, not {type(source).__name__}")
    name = name_of(path or name)
    if core is not None and (not isinstance(core, int) or not 0 <= core < 1024):
        raise native.OptionError(f"{name}: {core!r} is not a core number (0 to 1023)")
    return name, content, core


def inputs_of(recording: Input, path: str | None = None) -> list[NativeInput]:
    """The inputs of a recording."""
    if isinstance(recording, (str, os.PathLike, bytes, bytearray, memoryview)):
        return [_input(recording, None, path)]
    if isinstance(recording, tuple) and len(recording) == 2 and isinstance(recording[1], int):
        return [_input(recording[0], recording[1], path)]
    if not isinstance(recording, (list, tuple)):
        return [_input(recording, None, path)]  # type: ignore[arg-type]
    inputs: list[NativeInput] = []
    names: dict[int, str] = {}
    for index, one in enumerate(recording):
        if isinstance(one, tuple) and len(one) == 2:
            found = _input(one[0], one[1], path)
        else:
            found = _input(one, None, path)
            if len(recording) > 1 and found[2] is None:
                found = _input(one, index, path)
        name, _, core = found
        if core is not None and core in names:
            raise native.OptionError(f"{names[core]} and {name} are both named as core {core}; each core has one input")
        if core is not None:
            names[core] = name
        inputs.append(found)
    if not inputs:
        raise native.InputError("there is no input: name a recording")
    return inputs


def _put(path: str | os.PathLike[str], content: bytes) -> Path:
    """Writes a file as the program does: it appears when it is complete; the target of a link is replaced, not the link; pipes and devices are written to."""
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return target
    place = Path(os.path.realpath(target))
    partial = place.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        partial.write_bytes(content)
        if place.exists():
            shutil.copymode(place, partial)
        os.replace(partial, place)
    finally:
        partial.unlink(missing_ok=True)
    return target


class Thing:
    """A task, an interrupt or another thing of a recording: its metrics are its attributes, as `cpu_percent`."""

    def __init__(self, section: str, name: str, metrics: Mapping[str, float]) -> None:
        self.section = section
        self.name = name
        self.metrics = dict(metrics)

    def __getattr__(self, metric: str) -> float:
        # A thing that is being unpickled has no metrics yet.
        known: dict[str, float] | None = self.__dict__.get("metrics")
        if known is None:
            raise AttributeError(metric)
        try:
            return known[metric]
        except KeyError:
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

    def __reduce__(self) -> NoReturn:
        raise TypeError("a trace stays in its process: return what you need of it, as `bytes`, `stats` or `metrics`, or write it to a file")

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
        return _put(path, self.bytes)

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
    """The differences of two recordings. It is true if nothing got worse by more than `fail_over` allows.

    With `fail_over` it is false if nothing was compared, or nothing of what one of `only` names.
    """

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
    def notes(self) -> list[str]:
        """What the times of the two rest on that they do not say."""
        return self.data["notes"]  # type: ignore[no-any-return]

    @property
    def too_much(self) -> list[dict[str, Any]]:
        """The changes for the worse that are more than `fail_over` allows."""
        return [change for change in self.changes if change["is_too_much"]]

    def __bool__(self) -> bool:
        return not (self.data["is_too_much"] or self._limits_nothing)

    @property
    def _limits_nothing(self) -> bool:
        """A limit that limits nothing is mostly a slip."""
        return self.data["fail_over_percent"] is not None and (not self.data["compared"] or bool(self.data["unmatched"]))

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        if not self.data["compared"]:
            return "<traceconv.Diff: nothing was compared: no metric is in both>"
        missing = "".join(f"; {only} names nothing that is in both" for only in self.data["unmatched"])
        return f"<traceconv.Diff: {self.worst or 'nothing got worse'}{missing}>"


def convert(recording: Input, *, path: str | None = None, **options: Any) -> Trace:
    """Converts a recording to a trace. The options are those of the command line, with `_` for `-`: `clock_hz`, `detail`, `from_`, `to`, `elf`, …

    `path` is what reports call bytes; `threads` is 1 unless given (0: one per processor); `mmap=True` maps files instead of reading them.
    """
    return Trace(native.read(inputs_of(recording, path), options_of(options), True))


def read(recording: Input, *, path: str | None = None, **options: Any) -> Trace:
    """The statistics and tables of a recording, without drawing it."""
    return Trace(native.read(inputs_of(recording, path), options_of(options), False))


def _measured(measured: Trace | Input) -> tuple[str, native.Figures]:
    """The name and the metrics of a recording, or of what was saved of it."""
    if isinstance(measured, (str, os.PathLike)):
        saved = native.Figures.saved(measured)
        if saved is not None:
            return os.fspath(measured), saved
    trace = measured if isinstance(measured, Trace) else read(measured)
    return trace.report["inputs"][0]["path"], trace._figures


def budget_text(budget: str | os.PathLike[str] | Sequence[str]) -> str:
    """The text of a budget: a TOML file, or rules."""
    if not isinstance(budget, (str, os.PathLike)):
        if not isinstance(budget, Iterable) or isinstance(budget, (bytes, Mapping)):
            raise native.BudgetError(f"a budget is the path of a file or a list of rules, not {type(budget).__name__}")
        # A line for each rule, for `budget_error`.
        rules = ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in budget)
        return f"rules = [{rules}]"
    try:
        return Path(budget).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise native.BudgetError(f"the budget {os.fspath(budget)} cannot be read: {reason}") from None


def budget_error(budget: str | os.PathLike[str] | Sequence[str], error: native.BudgetError) -> native.BudgetError:
    """The sentence of a budget that cannot be used, with the name of its file or with the rule."""
    if isinstance(budget, (str, os.PathLike)):
        return native.BudgetError(f"{os.fspath(budget)}: {error}")
    place = re.fullmatch(r"line ([0-9]+), column [0-9]+: (.*)", str(error), re.S)
    rules = list(budget)
    if place is None or int(place[1]) > len(rules):
        return error
    return native.BudgetError(f"the rule {rules[int(place[1]) - 1]!r}: {place[2]}")


def check(recording: Trace | Input, budget: str | os.PathLike[str] | Sequence[str]) -> Checked:
    """Checks a recording against a budget: the path of a TOML file, or a list of rules as `"task.filter.cpu_percent < 4"`."""
    if isinstance(budget, Iterator):
        budget = list(budget)
    text, (_, figures) = budget_text(budget), _measured(recording)
    try:
        return Checked(*native.check(figures, text))
    except native.BudgetError as error:
        raise budget_error(budget, error) from None


def diff(
    base: Trace | Input,
    new: Trace | Input,
    *,
    fail_over: float | None = None,
    fail_on_new: str | None = None,
    min_change: float | None = None,
    only: str | Sequence[str] = (),
) -> Diff:
    """Compares two recordings, or what `stats --json` or `baseline` saved of them. The options are those of `traceconv diff`, in per cent."""
    for name, value in ("fail_over", fail_over), ("min_change", min_change):
        if value is not None and (not isinstance(value, (int, float)) or not 0 <= value < math.inf):
            raise native.OptionError(f"{name}: {value!r} is not a number of per cent, as 5")
    several = [only] if isinstance(only, str) else list(only)
    options = {"fail_over": fail_over, "fail_on_new": fail_on_new, "min_change": min_change, "only": several}
    return Diff(*native.diff(_measured(base), _measured(new), **options))  # type: ignore[arg-type]


def baseline(runs: Sequence[Trace | Input], path: str | os.PathLike[str]) -> Path:
    """Writes the mean and spread of several runs' statistics, as `traceconv baseline` does."""
    if isinstance(runs, (str, bytes, os.PathLike)) or not runs:
        raise native.BudgetError("a baseline is of a list of one run at least")
    named = [_measured(run) for run in runs]
    return _put(path, native.baseline(named).encode())
