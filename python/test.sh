#!/usr/bin/env bash
# Builds the wheel, installs it into empty environments of Python, and tests it there: its types, the lines of README.md, the tests in
# tests/ with a Ray cluster of two nodes, and the example for Spark where there is Java. Needs Rust and Python 3.11 or newer with venv and pip;
# all else is installed into build/python, and Java with apt-get if this is root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(dirname "$PWD")
work=$root/build/python
python=${PYTHON:-python3}
# Packages of the caller are not those of the environments.
unset PYTHONPATH PYTHONHOME

environment() {
    [[ -x $work/$1/bin/python ]] || "$python" -m venv "$work/$1"
}

environment tools
"$work/tools/bin/pip" install --quiet "maturin>=1.9,<2"
rm -rf "$work/wheels"
"$work/tools/bin/maturin" build --release --locked --interpreter "$work/tools/bin/python" --out "$work/wheels"
wheel=("$work"/wheels/traceconv-*.whl)
printf 'The wheel has %d bytes.\n' "$(wc -c <"${wheel[0]}")"

# The program that the package is compared with.
(cd .. && cargo build --features export)
export TRACECONV_PROGRAM=$root/build/debug/traceconv

# With nothing but the wheel.
rm -rf "$work/empty"
environment empty
"$work/empty/bin/pip" install --quiet "${wheel[0]}"
lines=$(sed -n '/^```python$/,/^```$/{/^```/d;p}' README.md)
[[ -n $lines ]]
(cd "$root" && "$work/empty/bin/python" -c "import os, tempfile
here = os.getcwd()
os.chdir(tempfile.mkdtemp())
os.symlink(here + '/testdata', 'testdata')
$lines
print('README.md: all lines run')")

environment tests
"$work/tests/bin/pip" install --quiet -r tests/requirements.txt
"$work/tests/bin/pip" install --quiet --force-reinstall --no-deps "${wheel[0]}"
PATH=$work/tests/bin:$PATH
mypy package/traceconv tests examples measure.py
# Of the installed package: what is written in the stubs is what the module has.
(cd "$work" && MYPYPATH='' stubtest traceconv --mypy-config-file "$root/python/pyproject.toml" --ignore-missing-stub)

has_java() {
    java -version >/dev/null 2>&1 && (($(java -XshowSettings:properties -version 2>&1 | sed -n 's/.*java.specification.version = //p') >= 17))
}
if ! has_java && ((EUID == 0)); then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openjdk-17-jre-headless; } || true
fi
if has_java && pip install --quiet pyspark==4.3.0; then
    export TRACECONV_SPARK=1
else
    printf 'SKIPPED: the example for Spark, because there is no Java 17, or no package pyspark.\n' >&2
fi
pytest "$@"
