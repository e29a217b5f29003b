"""The example for Spark. test.sh says if it cannot be run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset
import pytest
from conftest import DEMO, ROOT

import traceconv


@pytest.mark.skipif("TRACECONV_SPARK" not in os.environ, reason="test.sh has found no Java or no pyspark")
def test_the_example_writes_metrics(tmp_path: Path) -> None:
    farm = tmp_path / "farm"
    farm.mkdir()
    for name in ("before.bin", "after.bin"):
        (farm / name).write_bytes((DEMO / name).read_bytes())
    (farm / "bad.bin").write_text("this is not a recording\n")
    words = [sys.executable, str(ROOT / "python/examples/spark_export.py"), str(farm), str(tmp_path / "metrics")]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = pyarrow.dataset.dataset(tmp_path / "metrics").to_table().to_pylist()
    errors = [(os.path.basename(row["path"]), row["error"]) for row in rows if row["error"]]
    assert len(errors) == 1 and errors[0][0] == "bad.bin" and "bad.bin" in errors[0][1]
    for name in ("before.bin", "after.bin"):
        found = {(row["section"], row["name"], row["metric"]): row["value"] for row in rows if row["path"].endswith(f"/{name}") and not row["error"]}
        expected = traceconv.read(DEMO / name)._figures.rows()
        assert found == {(section, of, metric): value for section, of, metric, value, _ in expected}
