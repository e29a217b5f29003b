"""Recordings as a table of metrics on a Spark cluster: python spark_export.py farm/ metrics.parquet

Each executor needs the package traceconv. A recording that cannot be read is a row with an `error`, and the job goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import traceconv

SCHEMA = "path string, recording string, section string, name string, metric string, value double, unit string, error string"
COLUMNS = [column.split(" ")[0] for column in SCHEMA.split(", ")]


def metrics(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files with `path` and `content` as metrics."""
    for batch in batches:
        for row in batch.to_pylist():
            try:
                rows = pa.table(traceconv.read(row["content"], path=row["path"]).to_arrow("metrics")).to_pylist()
            except traceconv.TraceconvError as error:
                rows = [{"error": str(error)}]
            columns = {name: [row["path"] if name == "path" else one.get(name) for one in rows] for name in COLUMNS}
            types = [pa.float64() if name == "value" else pa.string() for name in COLUMNS]
            yield pa.RecordBatch.from_arrays([pa.array(columns[name], kind) for name, kind in zip(COLUMNS, types)], COLUMNS)


def main(farm: str, output: str) -> None:
    spark = SparkSession.builder.appName("traceconv").getOrCreate()
    files = spark.read.format("binaryFile").option("recursiveFileLookup", True).option("pathGlobFilter", "*.bin").load(farm)
    files.select("path", "content").mapInArrow(metrics, SCHEMA).write.parquet(output)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
