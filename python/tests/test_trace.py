"""Traces, reports, statistics and tables are those of the command line."""

from __future__ import annotations

import concurrent.futures
import gzip
import json
import os
import pickle
import re
import shutil
import signal
import urllib.request
import webbrowser
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow
import pytest
from conftest import DEMO, Program, captures

import traceconv


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_the_trace_is_that_of_the_program(path: Path, program: Program, tmp_path: Path) -> None:
    program(path, "-o", tmp_path / "a", "--report", tmp_path / "report.json")
    trace = traceconv.convert(path)
    assert trace.write(tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes() == trace.bytes
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    expected = json.loads((tmp_path / "report.json").read_text())
    report = trace.report
    for one in expected["inputs"], report["inputs"]:
        one[0]["output"] = None
    for one in expected, report:
        one["wall_seconds"] = 0
        one["traces"][0]["output"] = None
        one["traces"][0]["files"] = []
    assert report == expected


def test_files_are_written_as_by_the_program(tmp_path: Path) -> None:
    trace = traceconv.convert(DEMO / "demo.bin")
    for name, write in ("trace", trace.write), ("baseline", lambda path: traceconv.baseline([trace], path)):
        file, link, pipe = (tmp_path / f"{name}.{what}" for what in ("file", "link", "pipe"))
        file.write_bytes(b"old")
        file.chmod(0o640)
        link.symlink_to(file.name)
        assert write(link) == link
        content = file.read_bytes()
        assert link.is_symlink() and len(content) > 1000 and file.stat().st_mode & 0o777 == 0o640
        os.mkfifo(pipe)
        with concurrent.futures.ThreadPoolExecutor() as threads:
            reader = threads.submit(pipe.read_bytes)
            write(pipe)
            assert reader.result() == content
        assert pipe.is_fifo()
        with pytest.raises(IsADirectoryError):
            write(tmp_path)
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "none" / "file")
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_statistics_are_those_of_the_program(path: Path, program: Program) -> None:
    expected = json.loads(program("stats", "--json", path).stdout)
    assert traceconv.read(path).stats == expected
    # A conversion also reports what drawing has found.
    assert traceconv.convert(path).stats["recordings"][0]["statistics"] == expected["recordings"][0]["statistics"]


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
@pytest.mark.parametrize("table", ["recordings", "metrics", "losses", "events", "slices", "states", "values"])
def test_tables_are_those_of_the_program(path: Path, table: str, program: Program, tmp_path: Path) -> None:
    program("export", path, "--tables", table, "--arrow", tmp_path / "table.arrow")
    with pyarrow.OSFile(str(tmp_path / "table.arrow")) as file:
        expected = pyarrow.ipc.open_file(file).read_all()
    rows = traceconv.read(path).to_arrow(table)
    assert pyarrow.table(rows).to_pylist() == expected.to_pylist()
    assert len(rows) == rows.num_rows == expected.num_rows
    assert rows.column_names == expected.column_names


def test_cores_of_a_list(program: Program, tmp_path: Path) -> None:
    cores = [DEMO / "dual-0.bin", DEMO / "dual-1.bin"]
    program(f"{cores[0]}@0", f"{cores[1]}@1", "-o", tmp_path / "a")
    expected = (tmp_path / "a").read_bytes()
    assert traceconv.convert(cores).bytes == expected
    assert traceconv.convert([f"{core}@{number}" for number, core in enumerate(cores)]).bytes == expected
    assert traceconv.convert([(cores[0].read_bytes(), 0), (cores[1], 1)], name="dual-0").bytes == expected
    assert traceconv.convert([(cores[1], 1), (cores[0], 0)]).bytes != expected


def test_options_are_those_of_the_program(program: Program, tmp_path: Path) -> None:
    def same(path: Path, flags: list[object], **options: Any) -> None:
        program(path, "-o", tmp_path / "a", *flags)
        assert traceconv.convert(path, **options).bytes == (tmp_path / "a").read_bytes(), options

    same(DEMO / "demo.bin", ["--detail", "all", "--name", "x", "--from", "+1ms"], detail="all", name="x", from_="+1ms", threads=0)
    same(DEMO / "demo.bin", ["--clock-hz", "72M/7"], clock_hz="72M/7", mmap=True)
    same(DEMO / "demo.bin", ["--clock-hz", "16M"], clock_hz=16e6)
    same(DEMO / "pump.bin", ["--elf", DEMO / "pump.elf"], elf=DEMO / "pump.elf")
    same(DEMO / "console.swo", ["--swo-port", 0], swo_port=0)
    same(DEMO / "blinky.swo", ["--itm-port", "0=text", "--itm-port", "1=unsigned"], itm_port=["0=text", "1=unsigned"])


def test_bytes_of_any_kind() -> None:
    content = (DEMO / "demo.bin").read_bytes()
    trace = traceconv.convert(DEMO / "demo.bin")
    for source in (content, bytearray(content), memoryview(content)):
        other = traceconv.convert(source, path=str(DEMO / "demo.bin"))
        assert (other.bytes, other.report, other.id) == (trace.bytes, trace.report, trace.id)
    assert traceconv.convert(gzip.compress(content), name="demo").stats["recordings"][0]["inputs"][0]["layers"] == ["gzip"]
    assert traceconv.convert(content).report["inputs"][0]["path"] == "recording"


def test_labels_are_those_of_folders_and_notes(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "firmware=1.4" / "board=07"
    folder.mkdir(parents=True)
    recording = folder / "run.bin"
    recording.write_bytes((DEMO / "demo.bin").read_bytes())
    (folder / "run.bin.traceconv.jsonl").write_text('{"labels": {"bench": "east", "path": "x"}}\n')
    trace = traceconv.read(recording)
    assert trace.labels == {"bench": "east", "board": "07", "firmware": "1.4"}
    assert trace._recording.problems == [
        f"{recording}: the notes beside it: `path` cannot be a label: the table `recordings` has a column `path`"
    ]
    rows = program("export", recording, "--tables", "recordings", "--ndjson", "-", "-q").stdout
    assert pyarrow.table(trace.to_arrow("recordings")).to_pylist() == [json.loads(rows)]
    assert json.loads(rows)["recording"] == trace.id


def test_engines_take_tables_without_a_copy() -> None:
    trace = traceconv.read(DEMO / "demo.bin")
    rows = trace.to_arrow("events")
    one, two = pyarrow.table(rows), pyarrow.table(rows)

    def addresses(table: pyarrow.Table) -> list[int]:
        chunks = table["ts_ns"].chunks
        return [chunk.buffers()[1].address for chunk in chunks]

    assert addresses(one) == addresses(two)
    expected = one["ts_ns"].to_pylist()
    assert polars.DataFrame(rows)["ts_ns"].to_list() == expected
    metrics = trace.to_arrow("metrics")
    found = duckdb.sql("SELECT value FROM metrics WHERE section = 'task' AND name = 'filter' AND metric = 'cpu_percent'")
    assert found is not None and found.fetchall() == [(trace.task("filter").cpu_percent,)]
    assert metrics.num_rows > 100
    # A stream that nobody reads is freed.
    rows.__arrow_c_stream__()
    del one, rows, trace
    assert two["ts_ns"].to_pylist() == expected


def test_tables_of_several_batches_have_one_dictionary_for_all(program: Program, tmp_path: Path) -> None:
    trace = traceconv.read(DEMO / "dpp.bin")
    names = ["demo.bin", "dpp.bin", "controller.SVDat", "gateway.trx"]
    largest = max((traceconv.read(DEMO / name) for name in names), key=lambda one: one.to_arrow("events").num_rows)
    events = pyarrow.table(largest.to_arrow("events"))
    assert polars.DataFrame(largest.to_arrow("events")).to_arrow().column("args").to_pylist() == events["args"].to_pylist()
    assert trace.to_arrow("events").num_rows > 0


def test_things_have_their_metrics() -> None:
    trace = traceconv.read(DEMO / "demo.bin")
    task = trace.task("filter")
    assert task.cpu_percent == trace.metrics["task.filter.cpu_percent"] == task.metrics["cpu_percent"]
    assert "cpu_percent" in dir(task) and repr(task).startswith("<task filter: ")
    with pytest.raises(AttributeError, match=r"task filter has no metric cpu_percnt; is it cpu_percent\?"):
        task.cpu_percnt
    with pytest.raises(traceconv.TraceconvError, match=r"the recording has no task filtre; is it filter\?"):
        trace.task("filtre")
    with pytest.raises(traceconv.TraceconvError, match="the recording has no machine"):
        trace.thing("machine", "x")


def test_things_go_from_process_to_process_and_traces_do_not() -> None:
    trace = traceconv.read(DEMO / "demo.bin")
    task = pickle.loads(pickle.dumps(trace.task("filter")))
    assert task.metrics == trace.task("filter").metrics and task.cpu_percent == trace.task("filter").cpu_percent
    with pytest.raises(TypeError, match="a trace stays in its process"):
        pickle.dumps(trace)


def test_names_of_files_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/run-\xff.bin")
    try:
        shutil.copy(DEMO / "demo.bin", path)
    except OSError:
        pytest.skip("this file system has no such names")
    trace = traceconv.convert(path)
    assert trace.report["inputs"][0]["path"] == f"{tmp_path}/run-\\xff.bin"


def test_a_trace_is_written_by_several_threads(tmp_path: Path) -> None:
    trace = traceconv.convert(DEMO / "demo.bin")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(trace.write, [tmp_path / ("x" * 255)] * 200))) == 200
    (written,) = tmp_path.iterdir()
    assert written.read_bytes() == trace.bytes


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("function", [traceconv.convert, traceconv.read])
def test_a_signal_stops_a_conversion(function: Any) -> None:
    class Raised(Exception):
        pass

    def handler(*_: object) -> None:
        raise Raised

    content = (DEMO / "demo.bin").read_bytes() * 2000
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Raised) as raised:
            function(content)
        # From within: a handler that waits for the end of the call raises in it, after it has returned.
        assert [entry.name for entry in raised.traceback][-1] == "handler"
        assert raised.traceback[-2].name == function.__name__ and "native.read" in str(raised.traceback[-2].statement)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert traceconv.read(DEMO / "demo.bin").metrics


def test_a_trace_that_was_only_read_has_no_bytes() -> None:
    with pytest.raises(traceconv.TraceconvError, match="without drawing it"):
        traceconv.read(DEMO / "demo.bin").bytes


def test_the_notebook_shows_loads_and_losses() -> None:
    trace = traceconv.convert(DEMO / "damaged.bin", path="<run>.bin")
    shown = trace._repr_html_()
    assert "&lt;run&gt;.bin" in shown and "<run>" not in shown and "Lost:" in shown
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)%", shown)]
    loads = [load for name, load in trace.metrics.items() if re.fullmatch(r"task\..*\.cpu_percent", name)]
    assert widths == [round(load, 1) for load in sorted(loads, reverse=True)] and len(widths) > 2
    assert "No losses." in traceconv.read(DEMO / "demo.bin")._repr_html_()
    assert "<run>.bin" in repr(trace)


def test_doubts_about_times_are_those_of_the_program(program: Program, tmp_path: Path) -> None:
    base, new = DEMO / "before.bin", DEMO / "dpp.bin"
    program("baseline", new, "-o", tmp_path / "program.json")
    assert traceconv.baseline([new], tmp_path / "package.json").read_text() == (tmp_path / "program.json").read_text()
    for one, other in (base, new), (new, new), (base, tmp_path / "package.json"):
        found = traceconv.diff(one, other)
        assert found.notes == json.loads(program("diff", one, other, "--json").stdout)["notes"]
        assert found.notes and all(f"note: {note}" in str(found) for note in found.notes)


def test_differences_are_those_of_the_program(program: Program, tmp_path: Path) -> None:
    base, new = DEMO / "before.bin", DEMO / "after.bin"
    expected = json.loads(program("diff", base, new, "--json", "--fail-over", "5%", status=3).stdout)
    found = traceconv.diff(base, traceconv.convert(new), fail_over=5)
    assert found.data == {name: expected[name] for name in found.data}
    assert found.worst == expected["worst"] and not found and found.too_much
    assert traceconv.diff(base, base, fail_over=5)
    assert "task" in str(found) and repr(found).startswith("<traceconv.Diff: ")
    saved = json.dumps(traceconv.read(base).stats)
    (tmp_path / "base.json").write_text(saved)
    (tmp_path / "base.json.gz").write_bytes(gzip.compress(saved.encode()))
    for kept in "base.json", "base.json.gz":
        assert traceconv.diff(tmp_path / kept, new, fail_over=5).data == found.data
    program("baseline", base, tmp_path / "base.json.gz", new, "-o", tmp_path / "program.json")
    saved_run = tmp_path / "base.json.gz"
    assert traceconv.baseline([base, saved_run, traceconv.read(new)], tmp_path / "package.json").read_text() == (tmp_path / "program.json").read_text()
    assert traceconv.baseline([traceconv.read(base), saved_run, new], tmp_path / "package.json").read_text() == (tmp_path / "program.json").read_text()


def test_verdicts_are_those_of_the_program(program: Program) -> None:
    path, budget = DEMO / "demo.bin", DEMO / "budget.toml"
    status = 0 if traceconv.check(path, budget) else 3
    expected = json.loads(program("check", path, "--budget", budget, "--json", "-q", status=status).stdout)
    assert traceconv.check(path, budget).verdicts == expected["recordings"][0]["verdicts"]
    checked = traceconv.check(traceconv.read(path), ["task.filter.cpu_percent < 0.1", "losses == 0"])
    assert not checked and len(checked.broken) == 1 and "task.filter.cpu_percent" in checked.broken[0]
    assert "BROKEN" in str(checked) and "ok" in str(checked) and checked.broken[0] in repr(checked)


def test_work_is_done_on_several_threads_at_once() -> None:
    """The results are those of one thread; that the lock is not held is what test_speed measures."""
    path = DEMO / "demo.bin"
    expected = traceconv.convert(path).bytes
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for trace in pool.map(traceconv.convert, [path] * 32):
            assert trace.bytes == expected


def test_the_interpreter_is_not_held(tmp_path: Path) -> None:
    """While one thread converts, another one runs Python."""
    import threading
    import time

    big = tmp_path / "big.bin"
    big.write_bytes((DEMO / "demo.bin").read_bytes() * 400)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    while not counted[0]:
        time.sleep(0.001)
    before = counted[0]
    traceconv.convert(big)
    during = counted[0] - before
    done.set()
    counter.join()
    assert during > 20


def test_the_viewer_fetches_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traceconv.convert(DEMO / "demo.bin")
    fetched: list[tuple[bytes, str | None]] = []

    def browser(link: str) -> bool:
        import threading

        ui, url = link.split("/#!/?url=")

        def fetch() -> None:
            with urllib.request.urlopen(url) as response:
                fetched.append((response.read(), response.headers["Access-Control-Allow-Origin"]))
            assert ui == "https://ui.perfetto.dev"

        threading.Thread(target=fetch).start()
        return True

    monkeypatch.setattr(webbrowser, "open", browser)
    trace.open(port=_free_port())
    assert fetched == [(trace.bytes, "https://ui.perfetto.dev")]


def test_the_viewer_says_what_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    trace = traceconv.convert(DEMO / "demo.bin")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(traceconv.TraceconvError, match=f"port {port} of this machine cannot be used"):
            trace.open(port=port)
    monkeypatch.setattr(webbrowser, "open", lambda link: False)
    with pytest.raises(traceconv.TraceconvError, match="no browser could be started"):
        trace.open(port=_free_port())
    monkeypatch.setattr(webbrowser, "open", lambda link: True)
    with pytest.raises(traceconv.TraceconvError, match="the viewer did not fetch the trace within 0.01 s"):
        trace.open(port=_free_port(), wait_seconds=0.01)


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_the_trace_processor_gets_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program comes from the network; here its package is replaced."""
    import sys
    import types

    trace = traceconv.convert(DEMO / "demo.bin")
    monkeypatch.setitem(sys.modules, "perfetto.trace_processor", None)
    with pytest.raises(traceconv.TraceconvError, match="pip install perfetto"):
        trace.trace_processor()
    module = types.ModuleType("perfetto.trace_processor")

    class TraceProcessor:
        def __init__(self, trace: Any, config: object = None) -> None:
            self.trace, self.config = trace.read(), config

    module.TraceProcessor = TraceProcessor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "perfetto.trace_processor", module)
    processor: Any = trace.trace_processor(config="some")
    assert (processor.trace, processor.config) == (trace.bytes, "some")
