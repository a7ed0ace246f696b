"""Arrow types at the border with Spark, in both directions.

Coming in, Spark's types are Arrow's own. Going out, Spark refuses unsigned integers, half floats, views, run ends and
decimals of more than 38 digits, and cuts nanoseconds without a word: what it refuses is widened here, and what it
would cut is an error unless the caller asked for cutting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tickframe import errors

if TYPE_CHECKING:
    import pyarrow as pa

PrecisionLoss: TypeAlias = Literal["error", "truncate"]

WIDEST_DECIMAL = 38


def pyarrow() -> Any:
    """The pyarrow module, or an ImportError that says which extra brings it."""
    try:
        import pyarrow as pa
    except ImportError as missing:
        message = "Spark speaks Arrow through pyarrow: pip install 'tickframe[spark]'"
        raise ImportError(message) from missing
    return pa


def incoming(schema: Any) -> pa.Schema:
    """The Arrow schema of what `toArrow` gives for a Spark schema; nullability and metadata left out.

    Args:
        schema: a ``pyspark.sql.types.StructType``.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    pa = pyarrow()
    declared = to_arrow_schema(schema, timezone="UTC")
    return pa.schema([pa.field(field.name, field.type) for field in declared])


def outgoing(table: pa.Table, on_precision_loss: PrecisionLoss = "error") -> pa.Table:
    """The same rows in types that Spark takes without loss.

    Args:
        table: any Arrow table.
        on_precision_loss: ``"error"`` refuses what Spark's microseconds cannot hold, ``"truncate"`` cuts it.

    Raises:
        errors.DataError: a cell would lose precision, or a decimal has more than 38 digits; names the column.
    """
    pa = pyarrow()
    if on_precision_loss not in {"error", "truncate"}:
        message = f"on_precision_loss is 'error' or 'truncate', not {on_precision_loss!r}"
        raise ValueError(message)
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            wanted = spark_type(field.type)
            made = column if wanted == field.type else _convert(column, wanted, on_precision_loss)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _NoSparkTypeError) as cause:
            advice = "" if isinstance(cause, _NoSparkTypeError) else "; on_precision_loss='truncate' cuts it"
            message = f"to_spark: column {field.name!r} of type {field.type}: {cause}{advice}"
            raise errors.DataError(message, column=field.name) from cause
        columns.append(made)
        fields.append(pa.field(field.name, made.type, field.nullable))
    return pa.table(columns, schema=pa.schema(fields))


class _NoSparkTypeError(Exception):
    """Spark has nothing that would hold the values."""


def spark_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type that Spark takes in place of `kind`, and `kind` itself where Spark takes it."""
    pa = pyarrow()
    is_ = pa.types
    simple = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
        pa.large_utf8(): pa.utf8(),
        pa.string_view(): pa.utf8(),
        pa.large_binary(): pa.binary(),
        pa.binary_view(): pa.binary(),
    }
    if kind in simple:
        return simple[kind]
    if is_.is_fixed_size_binary(kind):
        return pa.binary()
    if is_.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if is_.is_time(kind):
        return pa.time64("us")
    if is_.is_duration(kind):
        return pa.duration("us")
    if is_.is_decimal256(kind):
        if kind.precision > WIDEST_DECIMAL:
            message = f"Spark's decimals have at most {WIDEST_DECIMAL} digits"
            raise _NoSparkTypeError(message)
        return pa.decimal128(kind.precision, kind.scale)
    if is_.is_interval(kind):
        message = "Spark has no interval of months, days and nanoseconds in one"
        raise _NoSparkTypeError(message)
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return spark_type(kind.value_type)
    if is_.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind) or is_.is_list_view(kind):
        return pa.list_(spark_type(kind.value_type))
    if is_.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_type(field.type), field.nullable) for field in kind])
    return kind


def _convert(column: pa.ChunkedArray, wanted: pa.DataType, on_precision_loss: PrecisionLoss) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    pa = pyarrow()
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    cutting = on_precision_loss == "truncate"
    options = pc.CastOptions(target_type=wanted, allow_time_truncate=cutting)
    return pc.cast(column, options=options)
