"""Recordings of embedded systems as Perfetto traces, statistics and tables. See docs/python.md."""

from __future__ import annotations

from ._recording import Checked, Diff, Input, Source, Thing, Trace, baseline, check, convert, diff, read
from ._traceconv import (
    BudgetError,
    ConvertError,
    DatasetError,
    FormatError,
    InputError,
    OptionError,
    Table,
    TraceconvError,
    __version__,
)

__all__ = [
    "BudgetError",
    "Checked",
    "ConvertError",
    "DatasetError",
    "Diff",
    "FormatError",
    "Input",
    "InputError",
    "OptionError",
    "Source",
    "Table",
    "Thing",
    "Trace",
    "TraceconvError",
    "__version__",
    "baseline",
    "check",
    "convert",
    "diff",
    "read",
]
