"""The pytest plugin in test suites of its own."""

import os
from pathlib import Path
from xml.etree import ElementTree

DEMO = Path(os.environ["TRACECONV_REPOSITORY"]) / "testdata" / "demo"
HEAD = f"from pathlib import Path\nimport pytest\nDEMO = Path({str(DEMO)!r})\n"


def run(pytester, body, *args):
    pytester.makepyfile(HEAD + body)
    return pytester.runpytest_subprocess("--junitxml=junit.xml", *args)


def test_recordings_are_read_at_once_or_after_the_test(pytester):
    result = run(
        pytester,
        """
def test_at_once(traceconv):
    trace = traceconv.read(DEMO / "before.bin")
    assert 0 < trace.task("filter").cpu_percent < 99

@pytest.mark.traceconv(budget=["task.filter.cpu_percent < 99"])
def test_after(traceconv, tmp_path):
    path = tmp_path / "later.bin"
    traceconv.add(path)
    path.write_bytes((DEMO / "before.bin").read_bytes())
""",
    )
    result.assert_outcomes(passed=2)
    assert not (pytester.path / "traceconv-failures").exists()


def test_a_broken_budget_fails_and_leaves_the_trace(pytester):
    result = run(
        pytester,
        """
@pytest.mark.traceconv(budget="budget.toml")
def test_load(traceconv):
    traceconv.add(DEMO / "before.bin")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the budget *budget.toml cannot be read*"])
    (pytester.path / "budget.toml").write_text('rules = ["task.filter.cpu_percent < 0.001"]\n')
    result = pytester.runpytest_subprocess("--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*before.bin: task.filter.cpu_percent is *"])
    properties = {
        one.get("name"): one.get("value") for one in ElementTree.parse(pytester.path / "junit.xml").iter("property")
    }
    trace = pytester.path / properties["traceconv_trace"]
    assert trace.stat().st_size > 10_000 and (pytester.path / properties["traceconv_report"]).exists()


def test_a_baseline_fails_what_got_worse(pytester):
    body = """
import json
import traceconv as package

@pytest.mark.traceconv(baseline="baseline.json", fail_over=10)
@pytest.mark.parametrize("name", ["before.bin", "after.bin"])
def test_speed(traceconv, name):
    saved = package.read(DEMO / "before.bin").stats
    Path("baseline.json").write_text(json.dumps(saved))
    traceconv.add(DEMO / name)
"""
    result = run(pytester, body)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*after.bin: worse than the baseline allows: *"])


def test_a_failing_test_has_its_trace_and_misuse_is_said(pytester):
    result = run(
        pytester,
        """
def test_fails(traceconv):
    traceconv.read(DEMO / "demo.bin")
    assert False

def test_unreadable(traceconv, tmp_path):
    traceconv.add(tmp_path / "missing.bin")

@pytest.mark.traceconv(budget=["losses == 0"])
def test_without_recording(traceconv):
    pass

@pytest.mark.traceconv(budget=["losses == 0"])
def test_without_fixture():
    pass
""",
        "--traceconv-dir=kept",
    )
    result.assert_outcomes(failed=4)
    assert len(list((pytester.path / "kept").rglob("*.perfetto-trace"))) == 1
    result.stdout.fnmatch_lines_random(
        ["*missing.bin*", "*the test is to be checked, but has no recording*", "*for tests that use the fixture traceconv*"]
    )
