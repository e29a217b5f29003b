"""A cluster of two nodes writes the dataset that one machine writes, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.dataset
import pytest
import ray
from conftest import DEMO, Program, files
from farm import make_farm
from ray.cluster_utils import Cluster

import traceconv.ray
from traceconv import fleet

NODES = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes with one processor each."""
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    memory = 1 << 30
    node = {"num_cpus": 1, "memory": memory, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(NODES - 1):
        cluster.add_node(num_cpus=1, memory=memory, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def test_a_cluster_writes_the_dataset_of_the_program(cluster: Cluster, program: Program, tmp_path: Path) -> None:
    farm = make_farm(tmp_path / "farm", 30)
    program("export", "-r", farm, "--parquet", tmp_path / "expected", status=1)
    exported = traceconv.ray.export(str(farm), str(tmp_path / "set"), budget=["task.filter.cpu_percent < 2"])
    assert files(tmp_path / "set") == files(tmp_path / "expected")
    assert len(exported.rows) == 303 and exported.known == 1 and len(exported.failed) == 2
    # Of other formats, and without that task, the rule has nothing to limit.
    assert len(exported.broken) == 301
    again = traceconv.ray.export(str(farm), str(tmp_path / "set"), append=True)
    assert again.known == 302 and len(again.rows) == len(again.failed) == 2


def working() -> list[psutil.Process]:
    """Workers that have a task in hand."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        title = " ".join(process.info["cmdline"] or [])
        if title.startswith("ray::") and "MapBatches(work)" in title:
            found.append(process)
    return found


def test_a_worker_that_is_killed_loses_and_doubles_nothing(cluster: Cluster, tmp_path: Path) -> None:
    farm, parts = tmp_path / "farm", 16
    farm.mkdir()
    content = (DEMO / "demo.bin").read_bytes()
    for number in range(parts):
        (farm / f"run-{number:02}.bin").write_bytes(content * (100 + number))
    fleet.export(str(farm), str(tmp_path / "expected"), fleet.threads(2), tables=fleet.TABLES, part_recordings=1)

    dataset = tmp_path / "set"
    killed: list[tuple[int, int]] = []
    done = threading.Event()

    def kill() -> None:
        """Kills a worker on each of two occasions, in a task that writes a part."""
        for occasion in (1, 6):
            while not done.is_set():
                written = len(list(dataset.glob("recordings/part-*.parquet")))
                busy = working() if written >= occasion else []
                if busy:
                    busy[0].send_signal(signal.SIGKILL)
                    killed.append((busy[0].pid, written))
                    break
                time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        exported = traceconv.ray.export(str(farm), str(dataset), tables=fleet.TABLES, part_recordings=1)
    finally:
        done.set()
        killer.join()
    assert len(killed) == 2 and all(written < parts for _, written in killed), killed
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid, _ in killed)

    left = {name: content for name, content in files(dataset).items() if not name.endswith(".tmp")}
    assert left == files(tmp_path / "expected")
    assert len(exported.rows) == parts and exported
    assert len({row["recording"] for row in exported.rows}) == len({row["part"] for row in exported.rows}) == parts
    rows = pyarrow.dataset.dataset(dataset / "recordings").to_table(columns=["recording"])
    assert sorted(rows["recording"].to_pylist()) == sorted(row["recording"] for row in exported.rows)
    # What a killed task left is removed with the next run.
    assert traceconv.ray.export(str(farm), str(dataset), append=True).known == parts
    assert files(dataset) == left


def test_a_lost_node_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """The second node goes with all its workers."""
    farm, parts = tmp_path / "farm", 12
    farm.mkdir()
    content = (DEMO / "demo.bin").read_bytes()
    for number in range(parts):
        (farm / f"run-{number:02}.bin").write_bytes(content * (100 + number))
    fleet.export(str(farm), str(tmp_path / "expected"), fleet.threads(2), part_recordings=1)
    dataset = tmp_path / "set"
    node = next(iter(cluster.worker_nodes))
    gone: list[int] = []
    done = threading.Event()

    def remove() -> None:
        while not done.is_set():
            written = len(list(dataset.glob("recordings/part-*.parquet")))
            if written >= 1:
                cluster.remove_node(node, allow_graceful=False)
                gone.append(written)
                break
            time.sleep(0.01)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        exported = traceconv.ray.export(str(farm), str(dataset), part_recordings=1)
    finally:
        done.set()
        remover.join()
    assert gone and gone[0] < parts
    left = {name: content for name, content in files(dataset).items() if not name.endswith(".tmp")}
    assert left == files(tmp_path / "expected") and len(exported.rows) == parts
