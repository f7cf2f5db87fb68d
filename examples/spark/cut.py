#!/usr/bin/env python3
"""Makes the shards of a plan as tasks of Spark, and then the bundle, or the catalogue of a shelf of regions.

  spark-submit --master spark://HOST:7077 --conf spark.task.maxFailures=5 cut.py PLAN OUTPUT
  spark-submit ... cut.py PLAN                    for a plan of `tilecut plan --catalogue`

The plan lies on a disk that all machines share, under the same path, and tilecut is in their PATH (or TILECUT names
it). A task is one shard of one thread: --conf spark.task.cpus=4 and THREADS=4 for larger ones. Spark's speculation
(--conf spark.speculation=true) is safe: two attempts at a shard may both finish.
"""

import json
import os
import subprocess
import sys

from pyspark.sql import SparkSession

TILECUT = os.environ.get("TILECUT", "tilecut")
THREADS = os.environ.get("THREADS", "1")
# The next attempt would end the same way.
FINAL = (64, 65)


def shards_missing(plan):
    text = subprocess.run([TILECUT, "missing", plan], check=True, capture_output=True, text=True).stdout
    numbers = []
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def make(step, plan, shard):
    command = [TILECUT, step, "--plan", plan, "--shard", str(shard), "--threads", THREADS, "--progress", "none"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 0 or run.returncode in FINAL:
        return shard, run.returncode, run.stderr.strip()
    # Spark tries the task again, on another machine if it can.
    raise RuntimeError(f"shard {shard} ended with {run.returncode}: {run.stderr.strip()}")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: spark-submit cut.py PLAN [OUTPUT]")
    plan = os.path.abspath(sys.argv[1])
    with open(plan) as file:
        step = "build" if json.load(file)["format"] == "tilecut build plan" else "cut"
    if len(sys.argv) != (3 if step == "cut" else 2):
        sys.exit(f"usage: spark-submit cut.py PLAN{' OUTPUT' if step == 'cut' else ''}")
    if step == "build":
        last = [TILECUT, "build", "--plan", plan, "--progress", "none"]
    else:
        # A slash at the end means a folder of tiles.
        output = os.path.abspath(sys.argv[2]) + ("/" if sys.argv[2].endswith("/") else "")
        last = [TILECUT, "merge", "--plan", plan, "-o", output]
    missing = shards_missing(plan)
    if missing:
        spark = SparkSession.builder.appName("tilecut").getOrCreate()
        tasks = spark.sparkContext.parallelize(missing, len(missing))
        failed = [result for result in tasks.map(lambda shard: make(step, plan, shard)).collect() if result[1] != 0]
        spark.stop()
        for shard, code, message in failed:
            print(f"shard {shard} ended with {code}: {message}", file=sys.stderr)
        if failed:
            sys.exit(failed[0][1])
    sys.exit(subprocess.run(last).returncode)


if __name__ == "__main__":
    main()
