"""Many recordings as a dataset: parts that any engine can work on, each on its own.

A part has the rows of some recordings. Its name and its bytes depend on these recordings alone, so that a part that is made again
replaces itself. `traceconv.ray` and `traceconv.dask` distribute the parts; without them `export` makes one after the other.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath

import fsspec

from . import _budget_text, _reading
from ._core import part, version

TABLES = ("recordings", "metrics", "losses")
PART_RECORDINGS = 256


def parts(paths, count=PART_RECORDINGS):
    """The paths in parts, always the same."""
    paths = sorted(paths)
    return [paths[start : start + count] for start in range(0, len(paths), count)]


def begin(out, **storage) -> None:
    """Makes the dataset's directory."""
    fs, root = fsspec.core.url_to_fs(str(out), **storage)
    fs.makedirs(root, exist_ok=True)
    fs.pipe_file(f"{root}/dataset.json", (json.dumps({"schema_version": 1, "tool_version": version}, indent=2) + "\n").encode())


def export_part(paths, out, *, tables=TABLES, labels=(), budget=None, storage=None, **options) -> list[dict]:
    """Reads recordings, and writes them as a part of the dataset `out`. Paths and `out` are those of any store that fsspec knows.

    `labels`: names of labels, which are taken from folders as in `board=7/run.bin`. `budget`: as of `traceconv.check`. Returns a row for
    each recording: path, recording, error, broken. A recording that cannot be read is a row with an error.
    """
    storage = storage or {}
    recordings, missing = [], []
    for path in paths:
        fs, within = fsspec.core.url_to_fs(str(path), **storage)
        folders = dict(folder.split("=", 1) for folder in PurePosixPath(within).parts[:-1] if "=" in folder)
        try:
            content = fs.cat_file(within)
        except OSError as error:
            missing.append({"path": str(path), "recording": None, "error": f"{path} cannot be read: {error}", "broken": []})
            continue
        recordings.append((str(path), content, [folders.get(label) for label in labels]))
    # The table of recordings last: its file says that the part is complete.
    tables = [table for table in tables if table != "recordings"] + ["recordings"]
    text = None if budget is None else _budget_text(budget)
    name, files, outcomes = part(recordings, _reading(**{"threads": 1, **options}), tables, list(labels), text)
    fs, root = fsspec.core.url_to_fs(str(out), **storage)
    for table, content in files if recordings else []:
        fs.makedirs(f"{root}/{table}", exist_ok=True)
        whole = f"{root}/{table}/part-{name}.parquet"
        # Under its name when it is complete: a worker may be killed at any time.
        fs.pipe_file(f"{root}/{table}/.part-{name}.tmp", content)
        fs.mv(f"{root}/{table}/.part-{name}.tmp", whole)
    rows = [{"path": path, "recording": id, "error": error, "broken": broken} for path, id, error, broken in outcomes]
    return rows + missing


def export(paths, out, *, count=PART_RECORDINGS, storage=None, **options) -> list[dict]:
    """All parts, one after the other. Options are those of `export_part`."""
    begin(out, **(storage or {}))
    return [row for one in parts(paths, count) for row in export_part(one, out, storage=storage, **options)]
