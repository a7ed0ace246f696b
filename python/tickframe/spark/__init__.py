"""Spark and tickframe: frames in, streams in, tables out, with a stock PySpark 4.1 or newer and no jar.

`from_spark` takes a frame as it is; `from_spark_stream` follows a Structured Streaming query, one micro-batch one
step; `to_spark` hands a table to a Spark session. PySpark and pyarrow are imported when one of them is called.
"""

from tickframe.spark.frame import from_spark, to_spark
from tickframe.spark.stream import SparkFeed, from_spark_stream

__all__ = ["SparkFeed", "from_spark", "from_spark_stream", "to_spark"]
