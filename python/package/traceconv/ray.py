"""Datasets of many recordings, written by a Ray cluster."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._traceconv import TraceconvError
from .fleet import DEFAULT_TABLES, Exported, Run
from .fleet import export as export_by

MEMORY_BYTES = 512 << 20
"""What a task asks of Ray: see docs/python.md."""


def tasks(*, num_cpus: float = 1, memory: int = MEMORY_BYTES) -> Run:
    """Runs as Ray Data's tasks: one item each, tried again when its worker is lost."""
    try:
        import ray.data
    except ImportError:
        raise TraceconvError('Ray Data is not installed: pip install "ray[data]"') from None

    def run(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
        def work(batch: dict[str, Any]) -> dict[str, Any]:
            return {"result": [pickle.dumps(function(pickle.loads(item))) for item in batch["item"]]}

        packed = [{"item": pickle.dumps(item)} for item in items]
        data = ray.data.from_items(packed, override_num_blocks=len(packed))
        mapped = data.map_batches(work, batch_size=1, zero_copy_batch=True, num_cpus=num_cpus, memory=memory)
        for row in mapped.iter_rows():
            yield pickle.loads(row["result"])

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
    num_cpus: float = 1,
    memory: int = MEMORY_BYTES,
    **options: Any,
) -> Exported:
    """Exports recordings as a dataset on the cluster of `ray.init`, see `traceconv.fleet.export`. All nodes must reach both stores."""
    return export_by(
        source,
        dataset,
        tasks(num_cpus=num_cpus, memory=memory),
        tables=tables,
        labels=labels,
        budget=budget,
        partition_by=partition_by,
        append=append,
        part_recordings=part_recordings,
        **options,
    )
