"""Prints what docs/python.md and docs/fleets.md state: python measure.py WORK

WORK is an empty directory. The machine should be quiet, and `cargo xtask` is needed for the recordings.
"""

from __future__ import annotations

import concurrent.futures
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import ray

import traceconv.ray
from traceconv import fleet

PROGRAM = os.environ["TRACECONV_PROGRAM"]
"""A program of the profile dist with the feature `export`."""


def took(work: Callable[[], object], who: int = resource.RUSAGE_SELF) -> tuple[float, float]:
    """Seconds of the clock, and of processors."""

    def processors() -> float:
        used = resource.getrusage(who)
        return used.ru_utime + used.ru_stime

    wall, cpu = time.perf_counter(), processors()
    work()
    return time.perf_counter() - wall, processors() - cpu


def line(name: str, count: int, taken: tuple[float, float]) -> None:
    wall, cpu = taken
    print(f"{name:44} {count / wall:7.0f} recordings/s {1000 * cpu / count:7.3f} ms of a processor each", flush=True)


def peak(work: Callable[[], Any], title: str) -> int:
    """The greatest memory of its own that a process with this title had, in bytes."""
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            for process in psutil.process_iter(["cmdline"]):
                words = " ".join(process.info["cmdline"] or [])
                if words.startswith("ray::") and title in words:
                    try:
                        most[0] = max(most[0], process.memory_full_info().uss)
                    except psutil.Error:
                        continue
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return most[0]


def main(folder: str, count: int = 3000) -> None:
    work = Path(folder)
    farm = work / "farm"
    generate = ["cargo", "xtask", "gen", "fleet", "-o", str(farm.resolve()), "--runs", str(count)]
    subprocess.run(generate, check=True, cwd=Path(__file__).parent)
    paths = [path for path in farm.rglob("*") if path.is_file() and not path.name.endswith(".jsonl")]
    size = sum(path.stat().st_size for path in paths) / len(paths)
    print(f"{len(paths)} recordings of {size:.0f} bytes")
    for threads in (1, 2):
        batch = [PROGRAM, "-q", "--report", str(work / "report.json"), "-r", str(farm), "-o", f"{work}/traces-{threads}/", "--threads", str(threads)]
        line(f"program, {threads} threads", len(paths), took(lambda: subprocess.run(batch, check=True), resource.RUSAGE_CHILDREN))
    out = work / "traces"
    out.mkdir()

    def convert(path: Path) -> None:
        traceconv.convert(path).write(out / f"{path.stem}-{hash(path)}.perfetto-trace")

    def in_memory(path: Path) -> None:
        traceconv.convert(path)

    def read(path: Path) -> None:
        traceconv.read(path)

    for name, function in (("convert and write", convert), ("convert", in_memory), ("read", read)):
        for threads in (1, 2):

            def run() -> None:
                with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                    list(pool.map(function, paths))

            line(f"Python {name}, {threads} threads", len(paths), took(run))
    for threads in (1, 2):
        command = [PROGRAM, "export", "-q", "-r", str(farm), "--parquet", f"{work}/program-{threads}", "--threads", str(threads)]
        line(f"program export, {threads} threads", len(paths), took(lambda: subprocess.run(command, check=True), resource.RUSAGE_CHILDREN))
        export = lambda: fleet.export(str(farm), f"{work}/threads-{threads}", fleet.threads(threads))  # noqa: E731
        line(f"Python fleet.export, {threads} threads", len(paths), took(export))
    print(f"memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")

    started = time.perf_counter()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    print(f"ray.init: {time.perf_counter() - started:.1f} s")
    for run_number in (1, 2):
        taken = time.perf_counter()
        memory = peak(lambda: traceconv.ray.export(str(farm), f"{work}/ray-{run_number}"), "MapBatches(work)")
        print(f"Ray export {run_number}: {len(paths) / (time.perf_counter() - taken):.0f} recordings/s, {memory / 1e6:.0f} MB in a worker")


if __name__ == "__main__":
    main(sys.argv[1])
