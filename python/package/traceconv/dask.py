"""Datasets of many recordings, written by Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._traceconv import TraceconvError
from .fleet import DEFAULT_TABLES, Exported, Run
from .fleet import export as export_by


def tasks(**compute: Any) -> Run:
    """Runs as Dask's tasks: one item each. `compute` goes to Dask, as `scheduler="processes"`; a `distributed.Client` is used if there is one."""
    try:
        import dask.bag as bag
    except ImportError:
        raise TraceconvError('Dask is not installed: pip install "dask[bag]"') from None

    def run(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
        from_sequence: Any = bag.from_sequence
        yield from from_sequence(items, npartitions=len(items)).map(function).compute(**compute)

    return run


def export(
    source: str | Sequence[str],
    dataset: str,
    *,
    tables: Sequence[str] = DEFAULT_TABLES,
    labels: dict[str, str] | None = None,
    budget: str | os.PathLike[str] | Sequence[str] | None = None,
    partition_by: Sequence[str] = (),
    append: bool = False,
    part_recordings: int | None = None,
    compute: dict[str, Any] | None = None,
    **options: Any,
) -> Exported:
    """Exports recordings as a dataset with Dask, see `traceconv.fleet.export`. All workers must reach both stores."""
    return export_by(
        source,
        dataset,
        tasks(**(compute or {})),
        tables=tables,
        labels=labels,
        budget=budget,
        partition_by=partition_by,
        append=append,
        part_recordings=part_recordings,
        **options,
    )
