"""The tables of row sets, of what the Rust program in `rowsets` printed.

    cd benches/compare/rowsets
    cargo run --release -- --deephaven JARS | python ../rowsets.py [--record]

The program prints a line for each shape and operation, a cell for each peer. Here they become one table for algebra, edits,
moves and look-ups, a row for each shape, and one of the ratios that have a bar.
"""
import argparse
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import figures

COMMAND = "cargo run --release -- --deephaven JARS (benches/compare/rowsets)"
ALGEBRA = ["union", "intersection", "difference", "symmetric difference"]
ROARING, ARRAY = ("roaring", "croaring"), ("sorted array",)
TABLES = {
    "rowset-algebra": ([*ALGEBRA, "bytes a key"], ROARING),
    "rowset-edits": (["build", "slice", "iterate keys", "iterate ranges", "insert 10k", "remove 10k"], ROARING),
    "rowset-moves": (["clone + one", "shift half by 1", "shift half by 2^16", "serialise", "mask in", "mask out"], ROARING),
    "rowset-look-ups": (["contains", "position_of random", "position_of sorted", "key_at"], ARRAY),
}
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def number(cell):
    """Seconds, or bytes a key; None where a peer has no such operation."""
    value, _, unit = cell.partition(" ")
    return None if value == "-" else float(value) * UNITS.get(unit, 1.0)


def shown(found, bytes_a_key):
    """A figure, as the tables have it."""
    if found is None:
        return "–"
    if bytes_a_key:
        return f"{found:.3f}"
    unit = next((unit for unit in ("ns", "µs", "ms") if found < UNITS[unit] * 1e3), "s")
    return f"{found / UNITS[unit]:.3g} {unit}"


def least(cells, peers):
    """The best of some peers."""
    return min((cells[peer] for peer in peers if cells.get(peer) is not None), default=None)


def bar(name, ratios, allowed):
    """A row of the table of bars: the mean, the worst and how many are above what a cell may be."""
    if not ratios:
        return [name, "–", allowed, "–"]
    mean = figures.mean_of([max(ratio, 1e-9) for ratio, _ in ratios])
    worst, of = max(ratios)
    above = sum(ratio > 1 for ratio, _ in ratios)
    return [f"{name}, {len(ratios)} cells", f"**{mean:.2f}**", allowed, f"{worst:.2f} ({of}); {above} above 1"]


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--record", action="store_true")
    asked = parse.parse_args()
    (_, _, *peers, _), lines = figures.printed(sys.stdin.read())
    found = {}
    for shape, operation, *cells, _ in (line["row"] for line in lines):
        found.setdefault(shape, {})[operation] = dict(zip(peers, map(number, cells)))
    code = 0
    for name, (operations, beside) in TABLES.items():
        rows = []
        for shape, of in found.items():
            cells = [of.get(operation, {}) for operation in operations]
            told = [[each.get("tickframe"), least(each, beside), each.get("deephaven")] for each in cells]
            rows.append([shape, *(" / ".join(shown(one, operation == "bytes a key") for one in each) if any(
                one is not None for one in each) else "–" for operation, each in zip(operations, told))])
        print(f"\n{name}")
        code |= figures.laid_out(name if asked.record else "", COMMAND, ["shape", *operations], rows)

    def ratios(beside, wanted):
        made = []
        for shape, of in found.items():
            for operation, cells in of.items():
                other = least(cells, beside)
                if wanted(shape, operation) and other:
                    made.append((cells["tickframe"] / other, f"{operation}, {shape}"))
        return [ratio for ratio in made if math.isfinite(ratio[0])]

    algebra = lambda shape, operation: operation in ALGEBRA
    sparse = lambda shape, operation: operation in ALGEBRA and shape.startswith("sparse")
    rows = [
        bar("set algebra to the better Roaring", ratios(ROARING, algebra), "1.0, no cell above 1.5"),
        bar("the same, sparse", ratios(ROARING, sparse), "0.5"),
        bar("sparse set algebra to a sorted array", ratios(ARRAY, sparse), "1.0"),
        bar("every operation to Deephaven", ratios(("deephaven",), lambda _, o: o != "bytes a key"), "0.33, no cell above 1"),
        bar("bytes to Deephaven", ratios(("deephaven",), lambda _, o: o == "bytes a key"), "no cell above 1"),
    ]
    print("\nrowset-bars")
    columns = [" ", "geometric mean", "bar", "worst"]
    return code | figures.laid_out("rowset-bars" if asked.record else "", COMMAND, columns, rows)


if __name__ == "__main__":
    sys.exit(main())
