"""The examples of the book run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from traceconv import fleet

REPOSITORY = Path(os.environ["TRACECONV_REPOSITORY"])
DEMO = REPOSITORY / "testdata" / "demo"


def blocks(page, language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", (REPOSITORY / page).read_text(), re.MULTILINE | re.DOTALL)
    assert found, page
    return found


@pytest.fixture
def farm(tmp_path):
    """Recordings of 12 commits; the last five have the recording in which `filter` is slower."""
    for commit in range(12):
        content = (DEMO / ("before.bin" if commit < 7 else "after.bin")).read_bytes()
        for board in range(2):
            path = tmp_path / "farm" / f"commit=c{commit:02}" / f"board={board}" / "run.bin"
            path.parent.mkdir(parents=True)
            # Another length is another recording.
            path.write_bytes(content[: len(content) - 64 * (2 * commit + board)])
    for name in ["demo.bin", "damaged.bin", "before.bin", "after.bin", "budget.toml"]:
        (tmp_path / name).write_bytes((DEMO / name).read_bytes())
    rows = fleet.export([str(path) for path in tmp_path.rglob("run.bin")], tmp_path / "set", labels=["commit", "board"])
    assert not any(row["error"] for row in rows)
    return tmp_path


def test_the_query_names_task_and_commit(farm):
    os.chdir(farm)
    for query in blocks("docs/fleets.md", "sql"):
        name, commit, before, since = duckdb.sql(query).fetchone()
        assert (name, commit) == ("filter", "c07") and since > 1.05 * before


@pytest.mark.parametrize("page", ["docs/fleets.md", "docs/python.md", "README.md"])
def test_python_blocks_run(farm, page):
    for block in blocks(page, "python"):
        if "def test_" in block:
            (farm / "test_block.py").write_text(block)
            command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_block.py"]
        else:
            command = ["-c", block + "\nassert 'result' not in globals() or len(result) >= 0\n"]
        done = subprocess.run([sys.executable, *command], cwd=farm, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
