"""One local Spark for the whole demo: quiet, in UTC, without anything left beside the output folder."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")


def start(out: Path) -> SparkSession:
    """Start Spark in this process, two shuffle partitions a core, its scratch files under `out`."""
    from pyspark.sql import SparkSession

    # Ctrl-C in the middle of a call is told by the demo itself, without py4j's account of it.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(out / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.appName("tickframe flights").master("local[*]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
