"""The lines of docs/python.md and of docs/fleets.md are run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DEMO, ROOT, Program


def blocks(page: str) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    assert found
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the captures and a farm."""
    (tmp_path / "testdata").symlink_to(ROOT / "testdata")
    for board, name in (("01", "before.bin"), ("02", "after.bin")):
        folder = tmp_path / "farm" / f"board={board}"
        folder.mkdir(parents=True)
        (folder / name).write_bytes((DEMO / name).read_bytes())
    return tmp_path


def run(desk: Path, text: str) -> str:
    result = subprocess.run([sys.executable, "-c", text], cwd=desk, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_chapter(desk: Path, program: Program) -> None:
    lines = [block for block in blocks("docs/python.md") if not block.startswith("# test_")]
    said = run(desk, "\n".join([*lines, "assert events.height and slices.num_rows and longest and exported"]))
    assert "2.64" in said and "task filter: CPU" in said
    program("export", "-q", "-r", "farm", "--parquet", "expected", "--label", "site=east", cwd=desk)
    names = {str(path.relative_to(desk / "set")) for path in (desk / "set").rglob("*.parquet")}
    assert names == {str(path.relative_to(desk / "expected")) for path in (desk / "expected").rglob("*.parquet")} and len(names) == 3


def test_its_suite(desk: Path) -> None:
    (suite,) = (block for block in blocks("docs/python.md") if block.startswith("# test_bench.py\n"))
    (desk / "test_bench.py").write_text(suite)
    said = run(desk, "import pytest, sys; sys.exit(pytest.main(['-q', 'test_bench.py']))")
    assert "2 passed" in said


def test_queries_of_datasets(desk: Path, program: Program) -> None:
    program("export", "-q", "-r", "farm", "--parquet", "set", cwd=desk)
    polars, pandas = blocks("docs/fleets.md")
    run(desk, polars + "\nassert result.height > 5 and set(result['board']) == {'01', '02'}")
    run(desk, pandas + "\nassert len(recordings) == 2 and len(result) == 0")
