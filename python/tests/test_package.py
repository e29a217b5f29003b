"""The package against the recordings and figures of the program."""

import json
import threading
import tomllib

import pyarrow
import pytest

import traceconv


def test_a_recording_becomes_a_trace(demo, tmp_path):
    trace = traceconv.convert(demo / "demo.bin")
    assert trace.write(tmp_path / "demo.perfetto-trace").read_bytes() == trace.bytes
    assert len(trace.bytes) > 50_000
    assert trace.report["inputs"][0]["events"] == 4448
    assert trace.stats["schema_version"] == 1
    assert "4448 events" in repr(trace)
    # The same bytes, whatever their source, and whoever works at the same time.
    content = (demo / "demo.bin").read_bytes()
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(traceconv.convert(content, name="demo.bin").bytes)) for _ in range(4)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [trace.bytes] * 4


def test_metrics_are_those_of_the_statistics(demo):
    trace = traceconv.read(demo / "demo.bin")
    tasks = {task["name"]: task for task in trace.stats["recordings"][0]["statistics"]["tasks"] if not task["is_idle"]}
    assert len(tasks) > 3
    for name, task in tasks.items():
        assert trace.task(name).cpu_percent == pytest.approx(task["cpu_percent"])
    with pytest.raises(AttributeError, match="task filter has no speed; it has: cpu_percent"):
        trace.task("filter").speed
    with pytest.raises(traceconv.Error, match="no task nobody in the recording; there are: .*filter"):
        trace.task("nobody")
    html = trace._repr_html_()
    assert "filter" in html and "width:" in html and "<script" not in html


@pytest.mark.parametrize("table", ["recordings", "metrics", "losses", "events", "slices", "states", "values"])
def test_tables_are_arrows(demo, table):
    trace = traceconv.read(demo / "damaged.bin")
    rows = trace.to_arrow(table)
    taken = pyarrow.table(rows)
    assert taken.num_rows > 0
    assert set(taken["recording"].to_pylist()) == {trace.id}
    with pytest.raises(traceconv.Error, match="taken already"):
        pyarrow.table(rows)
    with pytest.raises(ValueError, match="`tasks` is no table; there are: recordings"):
        trace.to_arrow("tasks")


def test_cores_are_one_recording(demo):
    both = traceconv.convert([demo / "dual-0.bin", demo / "dual-1.bin"])
    assert len(both.report["inputs"]) == 2
    assert {section for section, _ in both.metrics} >= {"core", "task"}


def test_budgets_and_differences(demo):
    before, after = traceconv.read(demo / "before.bin"), traceconv.read(demo / "after.bin")
    budget = tomllib.loads((demo / "budget.toml").read_text())
    verdicts = traceconv.check(after, demo / "budget.toml")
    assert budget and {verdict["outcome"] for verdict in verdicts} >= {"broken"}
    assert traceconv.check(before, ["task.filter.cpu_percent < 99"])[0]["outcome"] == "kept"
    found = traceconv.diff(before, after, fail_over=10)
    assert found["is_too_much"] and found["worst"]
    assert not traceconv.diff(before, before, fail_over=10)["is_too_much"]
    with pytest.raises(traceconv.BudgetError, match="line 1, column"):
        traceconv.check(before, ["task.filter.speed < 1"])
    with pytest.raises(traceconv.BudgetError, match="none.toml cannot be read"):
        traceconv.check(before, "none.toml")


def test_saved_statistics_are_a_baseline(demo, tmp_path):
    saved = tmp_path / "baseline.json"
    saved.write_text(json.dumps(traceconv.read(demo / "before.bin").stats))
    assert traceconv.diff(saved, traceconv.read(demo / "after.bin"), fail_over=10)["is_too_much"]


def test_errors_are_sentences(demo, tmp_path):
    nothing = tmp_path / "nothing.bin"
    nothing.write_bytes(b"no recording at all")
    with pytest.raises(traceconv.Error, match="nothing.bin .*format"):
        traceconv.convert(nothing)
    with pytest.raises(traceconv.Error, match="missing.bin"):
        traceconv.convert(tmp_path / "missing.bin")
    with pytest.raises(traceconv.Error, match="recording is empty"):
        traceconv.convert(b"")
    for options, message in [
        ({"format": "foo"}, "`foo` is no format; there are: tonbandgeraet"),
        ({"clock_hz": "fast"}, "fast"),
        ({"start": "soon"}, "."),
        ({"cores_separate": "yes"}, "True or False"),
    ]:
        with pytest.raises(ValueError, match=message):
            traceconv.read(demo / "demo.bin", **options)
    with pytest.raises(TypeError, match="unknown option 'elff'"):
        traceconv.read(demo / "demo.bin", elff="x")


def test_options_of_formats(demo):
    assert traceconv.read(demo / "pump.bin", elf=demo / "pump.elf").report["inputs"][0]["format"]
    part = traceconv.read(demo / "demo.bin", start="+10ms", end="+20ms")
    assert part.thing("").duration_ns < traceconv.read(demo / "demo.bin").thing("").duration_ns
