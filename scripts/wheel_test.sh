#!/usr/bin/env bash
# Builds the wheel with the test profile, installs it into an environment that holds nothing else,
# and lets a table tick there: the base wheel must need no pyarrow, pandas or polars.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${TICKFRAME_VENV:-$PWD/.venv}/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$(dirname "$python")/maturin" build --locked --profile ci --features extension-module,testing --compatibility linux --quiet --out "$scratch/dist"
wheel=$(echo "$scratch"/dist/*.whl)
case $wheel in
*-cp311-abi3-*) ;;
*) echo "not an abi3 wheel for Python 3.11 and newer: $wheel" >&2 && exit 1 ;;
esac

"$python" -m venv "$scratch/empty"
"$scratch/empty/bin/python" -m pip install --quiet --no-deps --no-index "$wheel"
cd "$scratch"
"$scratch/empty/bin/python" - <<'PY'
import sys

import tickframe as tf

foreign = {"pyarrow", "pandas", "polars", "numpy", "pyspark"} & set(sys.modules)
assert not foreign, f"import tickframe brought in {foreign}"
graph = tf.Graph()
trades = tf.append_table({"sym": tf.String, "size": tf.Int64}, graph=graph)
totals = trades.group_by("sym").agg(tf.col("size").sum())
trades.append({"sym": ["A", "B", "A"], "size": [1, 2, 3]})
graph.step()
assert totals.to_dicts() == [{"sym": "A", "size": 4}, {"sym": "B", "size": 2}], totals.to_dicts()
print("the wheel ticks alone:", tf.__version__)
PY
