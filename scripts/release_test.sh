#!/usr/bin/env bash
# The packages as they are shipped: the wheel, and the source distribution that a stranger builds. Each is installed in
# an environment that holds nothing of ours; the Python tests and fourteen days of flights run on it.
#
#   scripts/release_test.sh wheel
#   scripts/release_test.sh sdist
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?wheel or sdist}
venv=${TICKFRAME_VENV:-$PWD/.venv}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/release-test PATH=$venv/bin:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

case $kind in
wheel)
    python scripts/requirements.py ship | xargs -d '\n' pip install --quiet --disable-pip-version-check
    python scripts/wheel.py "$scratch/dist" --locked --quiet
    ;;
sdist)
    maturin sdist --out "$scratch/sdist" >"$scratch/sdist.log" 2>&1 || { cat "$scratch/sdist.log" >&2; exit 1; }
    # As pip would, with the tools that are here: outside of the project, from the archive alone.
    tar -xzf "$scratch"/sdist/*.tar.gz -C "$scratch"
    # The archive holds the crates of the extension, the lock file those of the whole workspace: cargo takes out what is
    # not there, which `--locked` forbids. Every version that it builds has to be one of ours.
    (cd "$scratch"/tickframe-*/ && maturin build --release --compatibility linux --quiet --out "$scratch/dist")
    versions() { grep -A1 '^name = ' "$1" | grep -v -- '^--$' | paste - - | sort; }
    if ! new=$(comm -13 <(versions Cargo.lock) <(versions "$scratch"/tickframe-*/Cargo.lock)) || [ -n "$new" ]; then
        echo "the source distribution builds what the lock file does not name: $new" >&2
        exit 1
    fi
    ;;
*)
    echo "wheel or sdist, not $kind" >&2
    exit 2
    ;;
esac

"$venv/bin/python" -m venv "$scratch/empty"
python=$scratch/empty/bin/python
"$python" -m pip install --quiet --no-deps --no-index "$scratch"/dist/*.whl
cp -r tests/python "$scratch/tests"
# What the tests need besides comes from the project's environment, where a path file would lead to our sources.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$site" >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
found=$(cd "$scratch" && "$python" -c 'import tickframe; print(tickframe.__file__)')
case $found in
"$scratch"/empty/*) ;;
*) echo "the tests would run on $found, not on what was installed" >&2 && exit 1 ;;
esac
echo "release test of the $kind: $(ls "$scratch/dist")"
"$python" -m pytest -q -p no:cacheprovider -m 'not spark and not example' tests/python
"$python" examples/flights --days 14 --once
