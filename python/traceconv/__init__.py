"""Binary traces of embedded systems as Perfetto traces, statistics and tables.

    import traceconv

    trace = traceconv.convert("recording.bin")
    trace.write("recording.perfetto-trace")
    assert trace.task("sensor").cpu_percent < 4

Errors are `traceconv.Error`, with the sentences of the command line.
"""

from __future__ import annotations

import functools
import html
import io
import json
import os
from pathlib import Path

from ._core import BudgetError, Error, Read as _Read, Reading as _Reading, option_names as _option_names
from ._core import version as __version__

__all__ = ["BudgetError", "Error", "Thing", "Trace", "check", "convert", "diff", "read"]


def _reading(*, format=None, cores=None, clock_hz=None, start=None, end=None, threads=0, **own):
    known = set(_option_names())
    given = []
    for name, value in own.items():
        option = name.replace("_", "-")
        if option not in known:
            raise TypeError(f"unknown option {name!r}; formats have: {', '.join(sorted(n.replace('-', '_') for n in known))}")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not False and one is not None:
                given.append((option, None if one is True else os.fspath(one) if isinstance(one, os.PathLike) else str(one)))
    text = lambda value: None if value is None else str(value)
    return _Reading(format, cores, text(clock_hz), text(start), text(end), threads, given)


def read(source, *, name="recording", **options) -> Trace:
    """Reads a recording: a path, bytes, or a list of these, which are the cores of one recording.

    Options: `format`, `cores`, `clock_hz`, `start` and `end` (as `--from` and `--to`: "1.5ms", "+2s"), `threads`, and those of formats, with
    `_` for `-`: `elf="firmware.elf"`. `name` is the name of bytes.
    """
    several = isinstance(source, (list, tuple))
    given = []
    for core, one in enumerate(source if several else [source]):
        is_bytes = isinstance(one, (bytes, bytearray, memoryview))
        path, content = (name, bytes(one)) if is_bytes else (os.fspath(one), None)
        given.append((path, content, core if several else None))
    return Trace(_Read(given, _reading(**options)), given[0][0] if given else name)


def convert(source, *, detail="default", name="recording", **options) -> Trace:
    """Reads a recording as `read` does, and makes its trace. `detail`: "overview", "default" or "all"."""
    trace = read(source, name=name, **options)
    trace.detail = detail
    trace.bytes  # Errors come now.
    return trace


def diff(base, new, *, fail_over=None) -> dict:
    """The differences between two traces; `base` may be a path of a baseline or of saved statistics. `fail_over`: per cent."""
    if isinstance(base, Trace):
        text, worst = new._read.diff(base._read, fail_over)
    else:
        text, worst = new._read.diff_saved(Path(base).read_bytes(), fail_over)
    return {**json.loads(text), "worst": worst}


def check(trace, budget) -> list[dict]:
    """The verdict on each rule of a budget: a path of a TOML file, or a list of rules."""
    return json.loads(trace._read.check(_budget_text(budget))[0])


def _budget_text(budget) -> str:
    if isinstance(budget, (list, tuple)):
        # JSON's strings are TOML's.
        return f"rules = {json.dumps(list(budget))}"
    try:
        return Path(budget).read_text(encoding="utf-8")
    except OSError as error:
        raise BudgetError(f"the budget {budget} cannot be read: {error.strerror}") from error


class Thing:
    """A task, an interrupt, …: its metrics are attributes, as `traceconv check --metrics` lists them."""

    def __init__(self, section, name, metrics):
        self._about = f"{section} {name}".strip() or "the recording"
        self.metrics = metrics

    def __getattr__(self, metric):
        try:
            return self.__dict__["metrics"][metric]
        except KeyError:
            raise AttributeError(f"{self._about} has no {metric}; it has: {', '.join(self.metrics)}") from None

    def __repr__(self):
        return f"<{self._about}: {', '.join(f'{name}={value:g}' for name, value in self.metrics.items())}>"


class Trace:
    """A recording that was read. The trace is made when it is first needed."""

    def __init__(self, read, path):
        self._read = read
        self.path = path
        self.detail = "default"

    @property
    def id(self) -> str:
        """Its identity in a dataset."""
        return self._read.id

    @functools.cached_property
    def bytes(self) -> bytes:
        """The trace."""
        return self._read.trace(Path(self.path).stem, self.detail)

    def write(self, path) -> Path:
        """Writes the trace."""
        path = Path(path)
        path.write_bytes(self.bytes)
        return path

    @functools.cached_property
    def report(self) -> dict:
        """As `--report` writes it."""
        return json.loads(self._read.report())

    @functools.cached_property
    def stats(self) -> dict:
        """As `traceconv stats --json` writes it."""
        return json.loads(self._read.stats())

    @functools.cached_property
    def metrics(self) -> dict:
        """All figures: `{(section, name): {metric: value}}`."""
        metrics: dict = {}
        for section, name, metric, value, _ in self._read.figures():
            metrics.setdefault((section, name), {})[metric] = value
        return metrics

    def thing(self, section, name="") -> Thing:
        """What has metrics: `thing("task", "filter")`, `thing("heap")`, `thing("")` for the recording as a whole."""
        try:
            return Thing(section, name, self.metrics[section, name])
        except KeyError:
            names = ", ".join(name for other, name in self.metrics if other == section) or "none"
            raise Error(f"no {section} {name} in the recording; there are: {names}") from None

    def task(self, name) -> Thing:
        """A task."""
        return self.thing("task", name)

    def isr(self, name) -> Thing:
        """An interrupt."""
        return self.thing("isr", name)

    def to_arrow(self, table):
        """A table (recordings, metrics, losses, events, slices, states, values), for whatever takes Arrow's C stream interface:
        `pyarrow.table(trace.to_arrow("events"))`, `polars.DataFrame(...)`, DuckDB through pyarrow. It can be taken once."""
        return self._read.table(table)

    def trace_processor(self, **config):
        """Perfetto's trace processor with this trace. Needs the package `perfetto`."""
        from perfetto.trace_processor import TraceProcessor

        return TraceProcessor(trace=io.BytesIO(self.bytes), **config)

    def open(self) -> None:
        """Opens the trace in the viewer; returns when the browser has it."""
        from ._viewer import open_trace

        open_trace(self.bytes)

    def __repr__(self):
        return self._read.summary().rstrip()

    def _repr_html_(self):
        rows = []
        for (section, name), metrics in self.metrics.items():
            load = metrics.get("cpu_percent", metrics.get("load_percent"))
            if section in ("core", "task") and load is not None:
                bar = f'<div style="background:#4c78a8;height:1em;width:{max(0.0, min(100.0, load)):.1f}%"></div>'
                rows.append(
                    f"<tr><td>{section}</td><td>{html.escape(name)}</td><td>{load:.2f} %</td><td style='width:20em'>{bar}</td></tr>"
                )
        return f"<pre>{html.escape(repr(self))}</pre><table>{''.join(rows)}</table>"
