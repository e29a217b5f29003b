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
        ({"cores": -1}, "."),
        ({"threads": "two"}, "."),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(traceconv.OptionError, match=sentence):
        traceconv.convert(DEMO / "demo.bin", **options)


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
    with pytest.raises(traceconv.OptionError, match="`some` is unknown; there are none, tasks, all"):
        traceconv.diff(trace, trace, fail_on_new="some")


def test_exceptions_go_from_process_to_process() -> None:
    error = pickle.loads(pickle.dumps(traceconv.FormatError("x is in no format")))
    assert isinstance(error, traceconv.FormatError) and isinstance(error, traceconv.TraceconvError)
