"""Datasets of many recordings, from and to any store that fsspec knows, on whatever runs functions.

The dataset is the one that `traceconv export --parquet` writes, file by file. The recordings are read twice: first to know which are there
(their identities, so that none is added twice), then to write parts. A part depends on its recordings alone and its files are named by
them, so a task that is run again writes the same bytes into the same files. The file of the table of recordings is put in its place last.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from . import _traceconv as native
from ._recording import NativeInput, budget_error, budget_text, name_of, options_of

SIDECAR = ".traceconv.jsonl"
"""The end of the name of the notes beside a recording."""

TRACE = ".perfetto-trace"

DEFAULT_TABLES = ("recordings", "metrics", "losses")

TABLES = ("recordings", "metrics", "losses", "events", "slices", "states", "values")

BY_FORMAT = "format"

Row = dict[str, Any]
"""Of a recording: `path`, `recording` (its identity), `error` and `broken` (sentences about rules of the budget), `part`."""

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Runs a function for each item, in any order, anywhere."""


@dataclass
class Exported:
    """What was exported."""

    rows: list[Row] = field(default_factory=list)
    """One for each recording that was not in the dataset yet."""
    known: int = 0
    """How many were in the dataset already, or were the same as another one."""
    problems: list[str] = field(default_factory=list)
    """Sentences about labels that were left out."""

    @property
    def failed(self) -> list[Row]:
        """Recordings that could not be read."""
        return [row for row in self.rows if row["error"] is not None]

    @property
    def broken(self) -> list[Row]:
        """Recordings that break the budget."""
        return [row for row in self.rows if row["broken"]]

    def __bool__(self) -> bool:
        return not self.failed and not self.broken


def _store(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise native.TraceconvError("the package fsspec is not installed: pip install fsspec") from None
    store, path = url_to_fs(url)
    return store, path.rstrip("/")


def _fetch(store: Any, path: str, has_notes: bool) -> NativeInput:
    """A recording with the notes beside it. One that cannot be fetched is an input that says so."""
    try:
        content = store.cat_file(path)
        notes = store.cat_file(path + SIDECAR) if has_notes else None
        return name_of(path), (content, notes, ""), None
    except Exception as error:  # of any store
        return name_of(path), (None, None, f"cannot be opened: {error}"), None


def _put(store: Any, path: str, content: bytes) -> None:
    """Writes a file that appears when it is whole. Stores of objects do so by themselves."""
    if not _is_local(store):
        store.pipe_file(path, content)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    partial = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{uuid.uuid4().hex}.tmp")
    try:
        with open(partial, "xb") as file:
            file.write(content)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _is_local(store: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(store, LocalFileSystem)


Found = tuple[str, int, bool]
"""A recording: its path, its bytes, whether notes lie beside it."""


def find(source: str | Sequence[str]) -> tuple[str, list[Found]]:
    """The recordings in a folder of a store, and below, as `traceconv -r` finds them: without hidden files, traces and notes. Or those named."""
    several = [source] if isinstance(source, str) else list(source)
    if not several:
        raise native.InputError("there is no input: name a folder or recordings")
    store, _ = _store(several[0])
    found: dict[str, Found] = {}
    for one in several:
        of, root = _store(one)
        if type(of) is not type(store):
            raise native.InputError(f"{one} is in another store than {several[0]}; export them one after the other")
        files: dict[str, Row] = of.find(root, detail=True)
        if not files:
            raise native.InputError(f"{one} cannot be opened: there is no such file or folder, or it is empty")
        for path, about in files.items():
            within = path[len(root) :] if path != root else os.path.basename(path)
            is_hidden = any(name.startswith(".") for name in within.split("/"))
            if path == root or not (is_hidden or path.endswith((SIDECAR, TRACE, TRACE + ".gz", TRACE + ".zst"))):
                beside = path + SIDECAR
                has_notes = beside in files or (path == root and of.exists(beside))
                found[path] = (path, int(about.get("size") or 0), has_notes)
    if not found:
        raise native.InputError(f"{several[0]} holds no recordings")
    return several[0], [found[path] for path in sorted(found, key=lambda path: path.split("/"))]


@dataclass
class _Job:
    """What every task needs."""

    source: str
    dataset: str
    tables: list[str]
    labels: list[tuple[str, str]]
    options: dict[str, Any]
    budget: str | None
    recognises: bool
    columns: list[str] = field(default_factory=list)


class _Identify:
    """The identities, labels and formats of some recordings."""

    def __init__(self, job: _Job) -> None:
        self.job = job

    def __call__(self, item: tuple[int, list[Found]]) -> tuple[int, list[Any]]:
        number, found = item
        store, _ = _store(self.job.source)
        options = options_of(self.job.options)
        known = []
        for path, _, has_notes in found:
            known += native.identify([_fetch(store, path, has_notes)], options, self.job.labels, self.job.recognises)
        return number, known


class _Write:
    """Writes a part of the dataset."""

    def __init__(self, job: _Job) -> None:
        self.job = job

    def __call__(self, item: tuple[str, list[Found]]) -> list[Row]:
        folder, found = item
        job = self.job
        store, _ = _store(job.source)
        inputs = [_fetch(store, path, has_notes) for path, _, has_notes in found]
        options = options_of(job.options)
        name, files, rows = native.part(inputs, options, job.tables, job.labels, job.columns, job.budget)
        to, root = _store(job.dataset)
        for table, content in files:
            _put(to, f"{root}/{table}/{folder}{name}.parquet", content)
        return [
            {"path": path, "recording": recording, "error": error, "broken": broken, "part": folder + name}
            for (path, _, _), (recording, error, broken) in zip(found, rows)
        ]


def _prepare(dataset: str, append: bool) -> set[str]:
    """Makes the dataset, or removes what is not whole. Returns the identities of the recordings in it."""
    store, root = _store(dataset)
    about = f"{root}/dataset.json"
    if not store.exists(about):
        _put(store, about, native.about().encode())
        return set()
    if not append:
        raise native.DatasetError(f"{dataset} is a dataset already; add recordings to it with append=True, or name another directory")
    version = json.loads(store.cat_file(about)).get("schema_version")
    if version != native.SCHEMA_VERSION:
        raise native.DatasetError(
            f"the dataset {dataset}: its tables have version {version} and cannot be added to by this version of traceconv, "
            f"which writes {native.SCHEMA_VERSION}"
        )
    store.invalidate_cache()
    parts: dict[str, dict[str, str]] = {}
    for table in TABLES:
        folder = f"{root}/{table}"
        for path in store.find(folder) if store.exists(folder) else []:
            name = path.rsplit("/", 1)[-1]
            if name.startswith(".part-") and name.endswith(".tmp"):
                store.rm_file(path)
            elif name.startswith("part-") and name.endswith(".parquet"):
                parts.setdefault(table, {})[path[len(folder) :]] = path
    whole = parts.get("recordings", {})
    known: set[str] = set()
    for path in whole.values():
        try:
            known.update(native.identities(store.cat_file(path)))
        except native.DatasetError as error:
            raise native.DatasetError(f"the dataset {dataset}: {path} {error}") from None
    for within, path in ((within, path) for table in parts.values() for within, path in table.items()):
        if within not in whole:
            store.rm_file(path)
    return known


def export(
    source: str | Sequence[str],
    dataset: str,
    run: Run,
    *,
    tables: Sequence[str] = DEFAULT_TABLES,
    labels: dict[str, str] | None = None,
    budget: str | os.PathLike[str] | Sequence[str] | None = None,
    partition_by: Sequence[str] = (),
    append: bool = False,
    part_recordings: int | None = None,
    **options: Any,
) -> Exported:
    """Exports recordings as a dataset, with `run` for the work. A recording that cannot be read is a row with an `error`.

    `source` and `dataset` are addresses of folders as fsspec knows them (`s3://bucket/farm`, `/farm`), `source` also a list of files. `labels`
    are those of all recordings; `budget` is checked for each of them; `options` are those of `convert`. A part has up to
    `part_recordings` recordings, 256 unless given.
    """
    tables, partition_by = ([given] if isinstance(given, str) else list(given) for given in (tables, partition_by))
    for name, value in (labels or {}).items():
        if not isinstance(value, str):
            raise native.OptionError(f"labels: {value!r} of {name} is not a text")
    if part_recordings is not None and (not isinstance(part_recordings, int) or part_recordings < 1):
        raise native.OptionError(f"part_recordings: {part_recordings!r} is not a whole number from 1")
    source_of, found = find(source)
    text = None if budget is None else budget_text(budget)
    given = list((labels or {}).items())
    job = _Job(source_of, dataset, tables, given, options, text, BY_FORMAT in partition_by)
    # What is wrong with options, tables or budget is said here, once.
    try:
        native.part([], options_of(options), job.tables, job.labels, [], job.budget)
    except native.BudgetError as error:
        raise (error if budget is None else budget_error(budget, error)) from None
    chunks = _cut(found, part_recordings)
    identified: list[Any] = []
    for _, those in sorted(run(_Identify(job), list(enumerate(chunks))), key=lambda result: result[0]):
        identified += those
    for name in partition_by:
        if identified and name != BY_FORMAT and not any(name in of_recording for _, of_recording, *_ in identified):
            raise native.OptionError(f"partition_by: no recording has a label `{name}`")
    known = _prepare(dataset, append)
    result, fresh = Exported(), []
    for one, (recording, of_recording, form, problems) in zip(found, identified):
        result.problems += problems
        if recording in known:
            result.known += 1
            continue
        known.add(recording)
        values = [form if name == BY_FORMAT else of_recording.get(name) for name in partition_by]
        folder = "".join(native.part_folder(name, value) for name, value in zip(partition_by, values))
        fresh.append((folder, one, of_recording))
    job.columns = native.label_columns([of_recording for *_, of_recording in fresh])
    parts: list[tuple[str, list[Found]]] = []
    for folder, members in groupby(sorted(fresh, key=lambda one: one[0]), key=lambda one: one[0]):
        parts += [(folder, part) for part in _cut([one for _, one, _ in members], part_recordings)]
    for rows in run(_Write(job), parts) if parts else []:
        result.rows += rows
    result.rows.sort(key=lambda row: row["path"].split("/"))
    return result


def _cut(found: list[Found], most: int | None) -> list[list[Found]]:
    parts, at = [], 0
    for length in native.part_lengths([size for _, size, _ in found], most):
        parts.append(found[at : at + length])
        at += length
    return parts


def threads(count: int | None = None) -> Run:
    """Runs on threads of this process: `export(source, dataset, threads())`."""

    def run(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[Any]:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(count or os.cpu_count()) as pool:
            yield from pool.map(function, items)

    return run
