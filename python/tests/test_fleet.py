"""Datasets: those of the command line, file by file, whoever runs the work."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import DEMO, Program, files
from farm import make_farm

import traceconv
import traceconv.dask
from traceconv import fleet


def on_threads(source: Any, dataset: str, **options: Any) -> fleet.Exported:
    return fleet.export(source, dataset, fleet.threads(2), **options)


def on_dask(source: Any, dataset: str, **options: Any) -> fleet.Exported:
    return traceconv.dask.export(source, dataset, compute={"scheduler": "processes", "num_workers": 2}, **options)


@pytest.fixture(params=[on_threads, on_dask], ids=["threads", "dask"])
def export(request: pytest.FixtureRequest) -> Callable[..., fleet.Exported]:
    function: Callable[..., fleet.Exported] = request.param
    return function


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_farm(tmp_path_factory.mktemp("farm"), 30)


def test_the_dataset_is_that_of_the_program(farm: Path, program: Program, tmp_path: Path, export: Callable[..., fleet.Exported]) -> None:
    program("export", "-r", farm, "--parquet", tmp_path / "expected", "--label", "site=a", status=1)
    exported = export(str(farm), str(tmp_path / "set"), labels={"site": "a"})
    assert files(tmp_path / "set") == files(tmp_path / "expected")
    assert sum(name.startswith("recordings") for name in files(tmp_path / "set")) == 2
    # A failure is a row, not the end of the work.
    assert len(exported.rows) == 303 and exported.known == 1 and not exported
    failed = {os.path.basename(row["path"]): row["error"] for row in exported.failed}
    assert sorted(failed) == ["empty.bin", "notes.txt"] and "is empty (0 bytes)" in failed["empty.bin"]
    rows = pyarrow.dataset.dataset(tmp_path / "set/recordings").to_table().to_pylist()
    assert sorted(row["path"] for row in rows) == sorted(row["path"] for row in exported.rows)
    assert {row["path"]: row["error"] for row in rows} == {row["path"]: row["error"] for row in exported.rows}
    assert {row["path"]: row["recording"] for row in rows} == {row["path"]: row["recording"] for row in exported.rows}


def test_all_tables_and_partitions(farm: Path, program: Program, tmp_path: Path) -> None:
    source = farm / "board=01"
    tables = ",".join(fleet.TABLES)
    program("export", "-r", source, "--parquet", tmp_path / "expected", "--tables", tables, "--partition-by", "format,commit")
    exported = on_threads(str(source), str(tmp_path / "set"), tables=fleet.TABLES, partition_by=["format", "commit"])
    assert files(tmp_path / "set") == files(tmp_path / "expected") and exported
    assert any(row["part"].startswith("format=qs/commit=c00/part-") for row in exported.rows)


def test_a_dataset_grows_only_by_what_is_new(farm: Path, program: Program, tmp_path: Path) -> None:
    dataset = tmp_path / "set"
    first = on_threads(str(farm / "board=00"), str(dataset))
    with pytest.raises(traceconv.DatasetError, match="is a dataset already; add recordings to it with append=True"):
        on_threads(str(farm), str(dataset))
    # What a run that was stopped has left.
    (dataset / "metrics/part-00000000000000000000000000000000.parquet").write_bytes(b"x")
    (dataset / "metrics/.part-1.parquet.2.tmp").write_bytes(b"x")
    second = on_threads(str(farm), str(dataset), append=True)
    assert second.known == len(first.rows) + 1 and len(second.rows) == 303 - len(first.rows)
    assert not any("part-0000000000" in name or ".tmp" in name for name in files(dataset))
    again = on_threads(str(farm), str(dataset), append=True)
    assert [os.path.basename(row["path"]) for row in again.rows] == ["empty.bin", "notes.txt"]
    before = files(dataset)
    said = program("export", "-r", farm, "--parquet", dataset, "--append", status=1).stderr
    assert "exported 0 recordings, 302 there already, 2 not readable" in said
    assert files(dataset) == before


def test_a_gate_names_recordings(tmp_path: Path) -> None:
    exported = on_threads([str(DEMO / "before.bin"), str(DEMO / "after.bin")], str(tmp_path / "set"), budget=["task.filter.cpu_percent < 4"])
    assert [(os.path.basename(row["path"]), len(row["broken"])) for row in exported.rows] == [("after.bin", 1), ("before.bin", 0)]
    assert exported.broken == exported.rows[:1] and not exported and not exported.failed


def test_any_store_of_fsspec(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    for name in ("board=1/a.bin", "board=2/b.bin"):
        memory.pipe_file(f"/farm/{name}", (DEMO / ("before.bin" if name[-5] == "a" else "after.bin")).read_bytes())
    memory.pipe_file("/farm/board=1/a.bin.traceconv.jsonl", b'{"labels": {"bench": "east"}}')
    exported = on_threads("memory://farm", "memory://set")
    assert exported and [row["path"] for row in exported.rows] == ["/farm/board=1/a.bin", "/farm/board=2/b.bin"]
    (path,) = memory.find("/set/recordings")
    with memory.open(path) as file:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    assert [(row["board"], row["bench"]) for row in rows] == [("1", "east"), ("2", None)]
    assert on_threads("memory://farm", "memory://set", append=True).known == 2


def test_names_of_files_that_are_not_utf8(tmp_path: Path, program: Program) -> None:
    farm = tmp_path / "farm"
    farm.mkdir()
    try:
        shutil.copy(DEMO / "demo.bin", os.fsdecode(os.fsencode(farm) + b"/run-\xff.bin"))
    except OSError:
        pytest.skip("this file system has no such names")
    exported = on_threads(str(farm), str(tmp_path / "set"))
    program("export", "-r", farm, "--parquet", tmp_path / "expected")
    assert exported and len(exported.rows) == 1
    assert files(tmp_path / "set") == files(tmp_path / "expected")


def test_one_table_and_one_partition_need_no_list(tmp_path: Path) -> None:
    on_threads(str(DEMO / "demo.bin"), str(tmp_path / "set"), tables="metrics", partition_by="format")
    folders = {str(path.relative_to(tmp_path / "set").parent) for path in (tmp_path / "set").rglob("*.parquet")}
    assert folders == {"metrics/format=tonbandgeraet", "recordings/format=tonbandgeraet"}


def test_what_cannot_be_done_is_said_at_once(tmp_path: Path) -> None:
    farm, dataset = str(DEMO / "demo.bin"), str(tmp_path / "set")
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (traceconv.InputError, "cannot be opened: there is no such file or folder", {"source": str(tmp_path / "none")}),
        (traceconv.InputError, "there is no input", {"source": []}),
        (traceconv.OptionError, "`event` is no table", {"tables": ["event"]}),
        (traceconv.OptionError, "no recording has a label `bord`", {"partition_by": ["format", "bord"]}),
        (traceconv.OptionError, "`path` cannot be a label", {"labels": {"path": "x"}}),
        (traceconv.OptionError, "labels: 5 of run is not a text", {"labels": {"run": 5}}),
        (traceconv.OptionError, "part_recordings: 0 is not a whole number from 1", {"part_recordings": 0}),
        (traceconv.BudgetError, "cannot be read", {"budget": "none.toml"}),
        (traceconv.BudgetError, "the rule 'losses =': ", {"budget": ["losses ="]}),
        (traceconv.OptionError, "`elf` is no format", {"format": "elf"}),
    ]
    for error, sentence, options in cases:
        with pytest.raises(error, match=sentence):
            on_threads(**({"source": farm, "dataset": dataset} | options))
    assert not os.path.exists(dataset)
