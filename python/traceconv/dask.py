"""Many recordings as a dataset, with Dask."""

from __future__ import annotations

import dask.bag

from . import fleet


def export(paths, out, *, count=fleet.PART_RECORDINGS, storage=None, **options) -> dask.bag.Bag:
    """As `traceconv.ray.export`, as a bag of rows: the work is done by `compute()`."""
    fleet.begin(out, **(storage or {}))
    chunks = fleet.parts(paths, count)
    bag = dask.bag.from_sequence(chunks, npartitions=max(1, len(chunks)))
    return bag.map(fleet.export_part, out, storage=storage, **options).flatten()
