"""python answers.py PIPELINE CHANGE ROWS BATCHES: rows and checks of the query made anew after so many batches, as JSON.

For an engine whose own Python has no polars: tables and batches are drawn alike in every process.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
sys.path.insert(0, HERE)
import polars_queries as Q
import workloads as W

pipeline, change = sys.argv[1:3]
scenario = W.Scenario(pipeline, change, int(sys.argv[3]))
for _ in range(int(sys.argv[4])):
    scenario.batch()
print(json.dumps(Q.check(pipeline, Q.run(pipeline, Q.frames(scenario)))))
