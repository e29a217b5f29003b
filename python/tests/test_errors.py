"""Errors are exceptions with the sentences of the command line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO, Program

import traceconv


def test_inputs_that_cannot_be_used(program: Program, tmp_path: Path) -> None:
    (tmp_path / "empty.bin").touch()
    (tmp_path / "text.bin").write_text("this is not a recording\n" * 20)
    (tmp_path / "folder").mkdir()
    cases = [("empty.bin", traceconv.InputError), ("none.bin", traceconv.InputError), ("folder", traceconv.InputError)]
    for name, error in [*cases, ("text.bin", traceconv.FormatError)]:
        said = program("stats", tmp_path / name, status=1).stderr
        with pytest.raises(error) as raised:
            traceconv.convert(tmp_path / name)
        # The program has another option for folders.
        said = said.replace("--recursive takes the files in it", "name the files in it, e.g. DIR/*.bin")
        assert f"error: {raised.value}\n" == said, name
    with pytest.raises(traceconv.InputError, match="^recording is empty"):
        traceconv.read(b"")


def test_files_that_cannot_be_read() -> None:
    # A file that can be opened, also by root, and whose first bytes cannot be read.
    closed = "/proc/self/mem"
    for use in (lambda: traceconv.read(closed), lambda: traceconv.check(closed, ["losses == 0"]), lambda: traceconv.diff(closed, closed)):
        with pytest.raises(traceconv.InputError, match="^/proc/self/mem "):
            use()


def test_recordings_without_events(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "run.bin"
    path.write_bytes(bytes(300))
    said = program(path, "--format", "tonbandgeraet", status=1).stderr
    with pytest.raises(traceconv.ConvertError) as raised:
        traceconv.convert(path, format="tonbandgeraet")
    assert f"error: {raised.value}\n" == said
    said = program("stats", path, "--format", "tonbandgeraet", status=1).stderr
    with pytest.raises(traceconv.ConvertError) as raised:
        traceconv.read(path, format="tonbandgeraet")
    assert f"error: {raised.value}\n" == said


def test_one_bad_input_of_several() -> None:
    with pytest.raises(traceconv.InputError) as raised:
        traceconv.convert([DEMO / "dual-0.bin", DEMO / "none.bin"])
    assert f"{DEMO}/dual-0.bin is one recording with an input that cannot be used" in str(raised.value)
    assert f"{DEMO}/none.bin cannot be opened: " in str(raised.value)
    with pytest.raises(traceconv.InputError, match="there is no input"):
        traceconv.convert([])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"format": "elf"}, "`elf` is no format; there are .*tonbandgeraet"),
        ({"detail": "some"}, "`some` is no detail; there are overview, default, all"),
        ({"clock_hz": "x"}, "clock_hz: "),
        ({"from_": "5"}, "from_: the unit is missing: `5ns`, `5us`, `5ms` or `5s`"),
        ({"from_": "2s", "to": "1s"}, "nothing lies between from_ and to"),
        ({"elf": "none.elf"}, "--elf none.elf cannot be read: "),
        ({"colour": True}, "there is no option `colour`"),
        ({"function": ["a", "b"]}, "`function` can be given once only"),
        ({"clock_hz": float("nan")}, "clock_hz: nan is not a text"),
        ({"cores": -1}, "cores: -1 is not a whole number from 1 to 1024"),
        ({"threads": "two"}, "threads: 'two' is not a whole number from 0 to 1024"),
        ({"threads": 10**6}, "threads: 1000000 is not"),
        ({"swo_port": 256}, "swo_port: 256 is not"),
        ({"mmap": "yes"}, "mmap: 'yes' is not True or False"),
        ({"name": 5}, "name: 5 is not a text"),
        ({"name": "\udc80"}, "surrogates not allowed"),
        ({"elf": b"x"}, "elf: b'x' is no text, number or path"),
        ({"elf": True}, "elf: a value is missing"),
        ({"short_as_counter": "no"}, "short_as_counter: True or False is expected, not `no`"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(traceconv.OptionError, match=sentence):
        traceconv.convert(DEMO / "demo.bin", **options)


@pytest.mark.parametrize("recording", [None, 5, 1.5, [None], [[DEMO / "demo.bin"]], {DEMO / "demo.bin": 0}, [(DEMO / "demo.bin",)]])
def test_recordings_of_a_wrong_type(recording: Any) -> None:
    with pytest.raises(traceconv.InputError, match="a recording is a path, bytes, or a list with one for each core, not "):
        traceconv.read(recording)


def test_cores_that_cannot_be_used(program: Program) -> None:
    path = DEMO / "demo.bin"
    cases: list[Any] = [(path, -1), (b"x", 1024), [(path, "0")], [(b"x", 2**70)]]
    for recording in cases:
        with pytest.raises(traceconv.OptionError, match=r"is not a core number \(0 to 1023\)"):
            traceconv.read(recording)
    said = program("stats", f"{path}@1", f"{path}@1", status=2).stderr
    with pytest.raises(traceconv.OptionError) as raised:
        traceconv.read([(path, 1), (path, 1)])
    assert f"error: {raised.value}\n" in said
    with pytest.raises(traceconv.InputError, match="its path is empty"):
        traceconv.read("")


def test_rules_that_cannot_be_used() -> None:
    trace = traceconv.read(DEMO / "demo.bin")
    with pytest.raises(traceconv.BudgetError, match="^the rule 'task.filter.cpu_percnt < 4': there is no metric .*, perhaps cpu_percent"):
        traceconv.check(trace, ["losses == 0", "task.filter.cpu_percnt < 4"])
    for budget in (None, 5, b"losses == 0"):
        with pytest.raises(traceconv.BudgetError, match="is the path of a file or a list of rules, not "):
            traceconv.check(trace, budget)  # type: ignore[arg-type]
    checked = traceconv.check(trace, iter(["task.\U0001f600.cpu_percent < 4"]))  # type: ignore[arg-type]
    assert 'no task "\U0001f600"' in checked.broken[0]


def test_differences_that_limit_nothing() -> None:
    base, new = DEMO / "before.bin", DEMO / "after.bin"
    for wrong in (float("nan"), float("inf"), -1, "10%"):
        with pytest.raises(traceconv.OptionError, match="fail_over: .* is not a number of per cent"):
            traceconv.diff(base, new, fail_over=wrong)  # type: ignore[arg-type]
    assert traceconv.diff(base, base, only="tsk.*")
    for options in ({"only": "tsk.*"}, {"only": ["task.filter.cpu_percent", "tsk.*"]}):
        found = traceconv.diff(base, base, fail_over=5, **options)
        assert not found and ("nothing was compared" in repr(found) or "tsk.* names nothing that is in both" in repr(found))
    assert not traceconv.diff(base, new, only="task.filter.cpu_percent", fail_over=5)


def test_budgets_and_tables_that_cannot_be_used(tmp_path: Path) -> None:
    trace = traceconv.read(DEMO / "demo.bin")
    with pytest.raises(traceconv.BudgetError, match="the budget .*none.toml cannot be read: No such file"):
        traceconv.check(trace, tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("rules = ['task.filter < 4']")
    with pytest.raises(traceconv.BudgetError, match="bad.toml: "):
        traceconv.check(trace, tmp_path / "bad.toml")
    (tmp_path / "old.json").write_text('{"schema_version": 99}')
    with pytest.raises(traceconv.BudgetError, match="old.json "):
        traceconv.diff(tmp_path / "old.json", trace)
    with pytest.raises(traceconv.OptionError, match="`event` is no table; there are recordings, metrics"):
        trace.to_arrow("event")
    with pytest.raises(traceconv.BudgetError, match="of one run at least"):
        traceconv.baseline([], tmp_path / "x.json")
    with pytest.raises(traceconv.BudgetError, match="a list of one run at least"):
        traceconv.baseline(DEMO / "demo.bin", tmp_path / "x.json")  # type: ignore[arg-type]
    with pytest.raises(traceconv.OptionError, match="`some` is unknown; there are none, tasks, all"):
        traceconv.diff(trace, trace, fail_on_new="some")


def test_exceptions_go_from_process_to_process() -> None:
    error = pickle.loads(pickle.dumps(traceconv.FormatError("x is in no format")))
    assert isinstance(error, traceconv.FormatError) and isinstance(error, traceconv.TraceconvError)
