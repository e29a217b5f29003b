"""The plugin, in test suites of its own."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from conftest import DEMO, Program

import traceconv

SUITE = f'''
import shutil, pytest

DEMO = "{DEMO}"

def test_limits_by_assert(traceconv):
    trace = traceconv(DEMO + "/demo.bin")
    assert trace.task("filter").cpu_percent < 4

def test_an_assert_fails(traceconv):
    assert traceconv(DEMO + "/demo.bin").task("filter").cpu_percent < 1

@pytest.mark.traceconv(budget="budget.toml")
def test_a_budget_is_broken(traceconv, tmp_path):
    traceconv.after(tmp_path / "run.bin")
    shutil.copy(DEMO + "/demo.bin", tmp_path / "run.bin")

@pytest.mark.traceconv(budget=["task.filter.cpu_percent < 4"], detail="all")
def test_a_budget_is_kept(traceconv, tmp_path):
    traceconv.after(DEMO + "/demo.bin")

@pytest.mark.traceconv(budget="budget.toml")
def test_nothing_was_recorded(traceconv):
    pass

def test_no_recording_of_a_failed_test(traceconv):
    traceconv.after("none.bin")
    assert False, "the board is silent"

def test_it_is_no_recording(traceconv):
    traceconv.after(__file__)

def test_two_recordings(traceconv):
    for name in ("before", "after"):
        traceconv(f"{{DEMO}}/{{name}}.bin")
    assert False

def test_skipped(traceconv):
    pytest.skip("no board")
'''


def suite(pytester: pytest.Pytester, text: str, *options: str) -> tuple[pytest.RunResult, dict[str, ET.Element]]:
    pytester.makepyfile(test_bench=text)
    result = pytester.runpytest_subprocess("--junitxml=junit.xml", *options)
    cases = {case.attrib["name"]: case for case in ET.parse(pytester.path / "junit.xml").iter("testcase")}
    return result, cases


def properties(case: ET.Element) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in case.iter("property"):
        found.setdefault(one.attrib["name"], []).append(one.attrib["value"])
    return found


def test_recordings_are_checked_and_attached(pytester: pytest.Pytester) -> None:
    (pytester.path / "budget.toml").write_text("rules = ['task.filter.cpu_percent < 1']")
    result, cases = suite(pytester, SUITE)
    result.assert_outcomes(passed=2, failed=6, skipped=1)
    passed = [name for name, case in cases.items() if case.find("failure") is None and case.find("skipped") is None]
    assert passed == ["test_limits_by_assert", "test_a_budget_is_kept"]

    def failure(name: str) -> str:
        found = cases[name].find("failure")
        assert found is not None
        return found.attrib["message"] + (found.text or "")

    assert "task.filter.cpu_percent is 2.6" in failure("test_a_budget_is_broken")
    assert "converted no recording" in failure("test_nothing_was_recorded")
    assert "the board is silent" in failure("test_no_recording_of_a_failed_test")
    assert "FormatError" in failure("test_it_is_no_recording")
    expected = {"test_an_assert_fails": ["demo"], "test_a_budget_is_broken": ["run"], "test_two_recordings": ["before", "after"]}
    for name, case in cases.items():
        attached = properties(case)
        traces = attached.get("traceconv_trace", [])
        assert len(traces) == len(expected.get(name, [])), name
        for path, report, recording in zip(traces, attached.get("traceconv_report", []), expected.get(name, [])):
            source = DEMO / ("demo.bin" if recording == "run" else f"{recording}.bin")
            assert Path(path).read_bytes() == traceconv.convert(source, name=recording).bytes
            assert json.loads(Path(report).read_text())["inputs"][0]["events"] > 0
    assert "Tonbandgerät, because" in result.stdout.str() and "none.bin cannot be opened" in result.stdout.str()
    names = sorted(path.name for path in (pytester.path / "traceconv-results").iterdir())
    assert len(names) == 8 and "test_bench.py-test_two_recordings-1.perfetto-trace" in names


def test_baselines_are_written_and_compared(pytester: pytest.Pytester, program: Program) -> None:
    pytester.makeini("[pytest]\ntraceconv_baseline = baselines\ntraceconv_fail_over = 5\n")
    text = "import os\ndef test_run(traceconv):\n    traceconv(os.environ['RUN'])\n"

    def outcome(recording: str, *options: str) -> str:
        pytester._monkeypatch.setenv("RUN", str(DEMO / recording))
        result, cases = suite(pytester, text, *options)
        failed = cases["test_run"].find("failure")
        assert (result.ret == 0) == (failed is None)
        return "" if failed is None else failed.text or "?"

    assert "--traceconv-write-baseline writes it" in outcome("before.bin")
    assert outcome("before.bin", "--traceconv-write-baseline") == ""
    assert outcome("before.bin") == ""
    said = outcome("after.bin")
    written = pytester.path / "baselines/test_bench.py-test_run.json"
    expected = json.loads(program("diff", written, DEMO / "after.bin", "--fail-over", "5%", "--json", status=3).stdout)
    too_much = [change["metric"] for change in expected["changes"] if change["is_too_much"]]
    assert too_much and all(f"{metric} is " in said for metric in too_much)
    assert said.count(" % worse than ") == len(too_much)
    assert "has no metric of this recording" in outcome("sniffer.bin") or "not in the baseline" in outcome("sniffer.bin")


def test_traces_of_tests_that_pass_are_kept_on_request(pytester: pytest.Pytester) -> None:
    text = f"def test_run(traceconv):\n    traceconv('{DEMO}/demo.bin')\n"
    result, cases = suite(pytester, text, "--traceconv-keep", "--traceconv-dir=kept")
    result.assert_outcomes(passed=1)
    assert properties(cases["test_run"])["traceconv_trace"] == [str(pytester.path / "kept/test_bench.py-test_run.perfetto-trace")]


def test_marks_that_cannot_be_used(pytester: pytest.Pytester) -> None:
    text = "import pytest\n@pytest.mark.traceconv('budget.toml')\ndef test_run(traceconv):\n    pass\n"
    result, _ = suite(pytester, text)
    assert "takes names, as in traceconv(budget=...)" in result.stdout.str() + result.stderr.str()
    text = f"import pytest\n@pytest.mark.traceconv(budget='none.toml')\ndef test_run(traceconv):\n    traceconv('{DEMO}/demo.bin')\n"
    result, _ = suite(pytester, text)
    result.assert_outcomes(failed=1)
    assert "none.toml cannot be read" in result.stdout.str()


def test_each_test_has_files_of_its_own(pytester: pytest.Pytester) -> None:
    text = f"""
import pytest

@pytest.mark.parametrize("x", ["a b", "a/b", "a-b", "1"])
def test_run(traceconv, x):
    traceconv("{DEMO}/demo.bin")

def test_größe(traceconv):
    traceconv("{DEMO}/demo.bin")

def test_grüße(traceconv):
    traceconv("{DEMO}/demo.bin")
"""
    result, cases = suite(pytester, text, "--traceconv-keep")
    result.assert_outcomes(passed=6)
    traces = {path for case in cases.values() for path in properties(case)["traceconv_trace"]}
    assert len(traces) == 6 and all(Path(path).exists() for path in traces)


def test_limits_of_zero_per_cent(pytester: pytest.Pytester) -> None:
    traceconv.baseline([traceconv.read(DEMO / "before.bin")], pytester.path / "base.json")
    text = f"""
import pytest

@pytest.mark.traceconv(baseline="base.json", fail_over=0)
def test_run(traceconv):
    traceconv("{DEMO}/after.bin")
"""
    _, cases = suite(pytester, text)
    failure = cases["test_run"].find("failure")
    assert failure is not None and "more than 0 % worse" in failure.attrib["message"]
    pytester.makeini("[pytest]\ntraceconv_fail_over = much\n")
    result, _ = suite(pytester, "def test_run(traceconv):\n    pass\n")
    assert "traceconv_fail_over is much, not a number of per cent" in result.stdout.str() + result.stderr.str()


def test_allure_gets_attachments(pytester: pytest.Pytester) -> None:
    text = f"def test_run(traceconv):\n    assert traceconv('{DEMO}/demo.bin').task('filter').cpu_percent < 1\n"
    result, _ = suite(pytester, text, "--alluredir=allure")
    result.assert_outcomes(failed=1)
    (found,) = (json.loads(path.read_text()) for path in (pytester.path / "allure").glob("*-result.json"))
    attached = {one["name"]: one for one in found["attachments"]}
    trace = attached["test_bench.py-test_run.perfetto-trace"]
    assert (pytester.path / "allure" / trace["source"]).read_bytes() == traceconv.convert(DEMO / "demo.bin").bytes
    assert attached["test_bench.py-test_run.report.json"]["type"] == "application/json"
