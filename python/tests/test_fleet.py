"""Datasets made by parts: on one machine, with Dask, and on two nodes of Ray of which one worker is killed."""

import os
import re
import signal
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from traceconv import fleet

DEMO = Path(os.environ["TRACECONV_REPOSITORY"]) / "testdata" / "demo"


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    """40 recordings of 2 boards: different lengths of four recordings, and one that is none."""
    folder = tmp_path_factory.mktemp("farm")
    for run in range(40):
        content = (DEMO / ["before.bin", "after.bin", "demo.bin", "damaged.bin"][run % 4]).read_bytes()
        path = folder / f"board={run % 2}" / f"run-{run:02}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content[: len(content) - 64 * run])
    (folder / "board=0" / "none.bin").write_bytes(b"no recording")
    return folder


def paths(farm):
    return [str(path) for path in farm.rglob("*.bin")]


def files(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in Path(out).rglob("*.parquet")}


@pytest.fixture(scope="module")
def expected(farm, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "set"
    rows = fleet.export(paths(farm), out, count=4, labels=["board"], budget=["task.filter.cpu_percent < 0.001"])
    return rows, files(out)


def test_failures_are_rows(expected, tmp_path):
    rows, written = expected
    assert len(rows) == 41 and len({row["recording"] for row in rows}) == 41
    failed = [row for row in rows if row["error"]]
    assert len(failed) == 1 and failed[0]["path"].endswith("none.bin")
    assert all("task.filter.cpu_percent" in row["broken"][0] for row in rows if not row["error"])
    for name, content in written.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    table = pyarrow.parquet.read_table(tmp_path / "recordings")
    assert table.num_rows == 41 and set(table["board"].to_pylist()) == {"0", "1"}
    assert sorted(table["recording"].to_pylist()) == sorted(row["recording"] for row in rows)


def test_an_unreachable_recording_is_a_row(farm, tmp_path):
    rows = fleet.export([*paths(farm)[:2], str(tmp_path / "gone.bin")], tmp_path / "set")
    assert [bool(row["error"]) for row in rows] == [False, False, True]
    assert re.search("gone.bin cannot be read", rows[-1]["error"])


def test_dask_writes_the_same(farm, expected, tmp_path):
    from traceconv import dask

    bag = dask.export(paths(farm), tmp_path / "set", count=4, labels=["board"], budget=["task.filter.cpu_percent < 0.001"])
    assert bag.compute(scheduler="threads") == expected[0]
    assert files(tmp_path / "set") == expected[1]


def test_two_nodes_of_ray_lose_nothing_when_a_worker_is_killed(farm, expected, tmp_path):
    import ray
    from ray.cluster_utils import Cluster

    from traceconv import ray as on_ray

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    try:
        ray.init(address=cluster.address)
        assert sum(node["Alive"] for node in ray.nodes()) == 2
        marks = tmp_path / "marks"
        marks.mkdir()
        export_part = fleet.export_part

        def dying(chunk, out, **options):
            # The first worker that gets here dies in the middle of its part: its last file is missing.
            try:
                (marks / "killed").touch(exist_ok=False)
            except FileExistsError:
                return export_part(chunk, out, **options)
            before = set((Path(out) / "recordings").glob("*.parquet"))
            export_part(chunk, out, **options)
            for path in set((Path(out) / "recordings").glob("*.parquet")) - before:
                path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

        dataset = on_ray.export(
            paths(farm), str(tmp_path / "set"), count=4, labels=["board"], budget=["task.filter.cpu_percent < 0.001"], part=dying
        )
        rows = dataset.take_all()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert (marks / "killed").exists()
    assert sorted(row["recording"] for row in rows) == sorted(row["recording"] for row in expected[0])
    assert files(tmp_path / "set") == expected[1]
