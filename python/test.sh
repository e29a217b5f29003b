#!/usr/bin/env bash
# Builds the wheel, and tests it as it is installed: alone in an empty environment with the lines of README.md, then with all that the
# tests need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'
CARGO_TARGET_DIR=$PWD/../build PATH=$work/build/bin:$PATH "$work/build/bin/maturin" build --out "$work/wheels"

python3 -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet --no-index "$work"/wheels/*.whl
awk '/^```python$/ { inside = 1; next } /^```$/ { inside = 0 } inside' ../README.md >"$work/readme.py"
test -s "$work/readme.py"
cp ../testdata/demo/demo.bin "$work/"
(cd "$work" && empty/bin/python readme.py)

python3 -m venv "$work/tests"
"$work/tests/bin/pip" install --quiet "$work"/wheels/*.whl pytest pyarrow numpy dask fsspec duckdb polars pandas 'ray[data]'
# From another folder: the package is that of the wheel, not that beside the tests.
repository=$(cd .. && pwd)
cp -r tests "$work/suite"
cd "$work/suite"
TRACECONV_REPOSITORY=$repository "$work/tests/bin/python" -m pytest -q -p no:cacheprovider "$@"
