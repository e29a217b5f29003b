"""What all tests use: captures of this project, and the program that the package is compared with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "testdata/demo"


class Program:
    """The command line."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *arguments: object, status: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        words = [self.path, *map(str, arguments)]
        result = subprocess.run(words, capture_output=True, text=True, cwd=cwd, check=False)
        assert result.returncode == status, result.stderr
        return result


@pytest.fixture(scope="session")
def program() -> Program:
    """Built by test.sh with the feature `export`."""
    return Program(os.environ["TRACECONV_PROGRAM"])


def captures() -> list[Path]:
    """One or more of each format."""
    names = ["demo.bin", "pump.bin", "dpp.bin", "sniffer.bin", "stm.stp", "console.txt", "controller.SVDat", "gateway.trx", "blinky.swo", "damaged.bin"]
    return [DEMO / name for name in names]


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
