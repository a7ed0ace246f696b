"""python run.py ENGINE [--rows N] [--only a,b] [--out file]; run with the engine's own Python."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
sys.path.insert(0, HERE)
import still
from workloads import WORKLOADS

still.main(HERE, "functions", WORKLOADS)
