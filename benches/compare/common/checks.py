"""What the answers of all engines are compared by: a number for each column of a result.

A column's number is its sum, of a text the sum of the number in it ("K012345"), of an instant whole seconds. Of a result in
order the column that it is ordered by is summed times its place too (`place of NAME`), so that an order that is none is seen;
a column beside it may stand otherwise where the order leaves it open.
"""
import numpy as np

WRAP = 1009  # places repeat, so that sums keep their digits


def of_arrow(table, order=None):
    """{column: number} of an Arrow table."""
    import pyarrow as pa
    import pyarrow.compute as pc
    found = {}
    for name, column in zip(table.column_names, table.columns):
        if pa.types.is_timestamp(column.type):
            column = pc.divide(column.cast(pa.timestamp("ns")).cast(pa.int64()), 10**9)
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
            column = pc.utf8_slice_codeunits(column.cast(pa.large_string()), 1).cast(pa.int64())
        values = column.cast(pa.float64(), safe=False).to_numpy()
        found[name] = float(np.nansum(values))
        if name == order:
            found[f"place of {name}"] = float((np.arange(len(values)) % WRAP * values).sum())
    return found


def of_duckdb(db, order=None):
    """(rows, {column: number}) of DuckDB's table r, which it keeps in the order of its making."""
    read = {"VARCHAR": "substr({}, 2)::BIGINT", "TIMESTAMP": "epoch_us({}) // 1000000"}
    kinds = db.execute("SELECT column_name, column_type FROM (DESCRIBE r)").fetchall()
    numbers = {name: f"sum(({read.get(kind, '{}').format(name)})::DOUBLE)" for name, kind in kinds}
    if order:
        value = read.get(dict(kinds)[order], "{}").format(order)
        numbers[f"place of {order}"] = f"sum((rowid % {WRAP}) * ({value})::DOUBLE)"
    rows, *sums = db.execute(f"SELECT count(*), {', '.join(numbers.values())} FROM r").fetchone()
    return rows, dict(zip(numbers, map(float, sums)))
