"""Many recordings as a dataset, on a Ray cluster. One machine is faster without it."""

from __future__ import annotations

import ray.data

from . import fleet


def export(paths, out, *, count=fleet.PART_RECORDINGS, storage=None, part=fleet.export_part, **options) -> ray.data.Dataset:
    """Writes recordings to the dataset `out` (Ray's workers must reach both), a task for each part. Options are those of
    `traceconv.fleet.export_part`; `part` may be a function around it. Returns a row for each recording; the work is done when the rows are taken, once.

    A part that Ray does again, because its worker died, writes the same files again.
    """
    fleet.begin(out, **(storage or {}))
    chunks = fleet.parts(paths, count)

    def work(row):
        return part(chunks[row["chunk"]], out, storage=storage, **options)

    dataset = ray.data.from_items([{"chunk": index} for index in range(len(chunks))], override_num_blocks=max(1, len(chunks)))
    return dataset.flat_map(work)
