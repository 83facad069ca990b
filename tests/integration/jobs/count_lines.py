"""A small Spark application for the tests: counts lines, and may hold its tasks or its driver up."""

import argparse
import sys
import time

from pyspark import SparkConf, SparkContext

parser = argparse.ArgumentParser()
parser.add_argument("input")
parser.add_argument("--hold-task-seconds", type=float, default=0.0, help="each task waits so long")
parser.add_argument("--hold-driver-seconds", type=float, default=0.0, help="the driver waits in plain Python")
parser.add_argument("--cache", action="store_true", help="keep the lines in memory and count them twice")
parser.add_argument("--fail", action="store_true", help="end with a Python exception")
parser.add_argument("--fail-if", help="VALUE:BAD,BAD,...: fail where VALUE is one of them")
parser.add_argument("--master", help="what users should not do: choose the master in the code")
parser.add_argument("--expect", action="append", default=[], help="FOUND=WANTED pairs; unequal ones fail")
options = parser.parse_args()
for pair in options.expect:
    found, wanted = pair.split("=", 1)
    if found != wanted:
        raise SystemExit(f"the argument is {found!r}, and {wanted!r} was expected")

conf = SparkConf()
if options.master:
    conf.setMaster(options.master)
context = SparkContext(conf=conf)


def count(lines):
    time.sleep(options.hold_task_seconds)
    yield sum(1 for _ in lines)


lines = context.textFile(options.input)
if options.cache:
    lines.cache().count()
total = lines.mapPartitions(count).sum()
sys.stdout.write(f"lines: {total}\n")
value, _, bad = (options.fail_if or "").partition(":")
if options.fail or (value and value in bad.split(",")):
    raise RuntimeError("failing as asked")
time.sleep(options.hold_driver_seconds)
context.stop()
