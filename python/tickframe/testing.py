"""What tests of programs over live tables need: a clock that is moved by hand, and tables that change at random, by a seed."""

from __future__ import annotations

from tickframe.clocks import ManualClock
from tickframe.random_tables import RandomTable, random_rows, random_table

__all__ = ["ManualClock", "RandomTable", "random_rows", "random_table"]
