"""A farm of recordings: some of each format with labels, one empty, one that is no recording, one that is there twice."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import DEMO, captures


def make_farm(folder: Path, copies: int) -> Path:
    """`copies` of each capture; the notes beside each make it another recording."""
    for number in range(copies):
        board = folder / f"board={number % 3:02}"
        board.mkdir(parents=True, exist_ok=True)
        for path in captures():
            target = board / f"run-{number:03}-{path.name}"
            target.write_bytes(path.read_bytes())
            notes = {"labels": {"run": str(number), "commit": f"c{number // 2:02}"}}
            (board / f"{target.name}.traceconv.jsonl").write_text(json.dumps(notes) + "\n")
    (folder / "empty.bin").touch()
    (folder / "notes.txt").write_text("this is not a recording\n")
    for name in ("one.bin", "same.bin"):
        (folder / name).write_bytes((DEMO / "demo.bin").read_bytes())
    (folder / ".hidden").write_bytes((DEMO / "demo.bin").read_bytes())
    (folder / "old.perfetto-trace").write_bytes(b"x")
    return folder
