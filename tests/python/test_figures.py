"""The page of figures says what its lines say, and a wrong answer does not get there."""

import importlib.util
import json
from pathlib import Path

import pytest

FIGURES = Path(__file__).resolve().parents[2] / "benches" / "figures.py"
spec = importlib.util.spec_from_file_location("figures", FIGURES)
assert spec
assert spec.loader
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)

RUN = {"command": "run", "machine": "one", "date": "2026-11", "ours": ["tickframe"]}


def line(engine, ms, workload="sort", **also):
    return {"workload": workload, "engine": engine, "p50_ms": ms, **also}


def test_the_page_is_what_the_lines_say():
    text = figures.PAGE.read_text(encoding="utf-8")
    assert figures.page(text) == text, "make figures"


def test_every_file_of_lines_has_a_place(tmp_path):
    (tmp_path / "one.jsonl").write_text(json.dumps(RUN) + "\n" + json.dumps(line("tickframe", 1.0)) + "\n")
    place = "<!-- figures: one -->\n<!-- end of figures -->"
    assert "| sort | 1.000 |" in figures.page(place, tmp_path)
    with pytest.raises(LookupError, match="one"):
        figures.page("no place", tmp_path)
    with pytest.raises(FileNotFoundError):
        figures.page(place.replace("one", "two"), tmp_path)


def test_the_lowest_round_counts_and_ratios_are_of_the_fastest_peer():
    lines = [line("tickframe", 2.0), line("tickframe", 1.0), line("polars", 5.0), line("duckdb", 3.0)]
    made = figures.table(RUN, lines)
    assert "| sort | 1.000 | 3.000 | 5.000 | 3.00 |" in made
    assert "**3.00** times" in made


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"answer_ok": "3 rows, expected 4"}, "3 rows, expected 4"),
        ({"rows": 4, "check": {"v": 2.0, "w": 1.0}}, "4 rows"),
        ({"rows": 3, "check": {"v": 1.0, "w": 2.0}}, "'w': 2.0"),
        ({"error": "SchemaError: no column"}, "no column"),
    ],
)
def test_a_wrong_answer_is_no_figure(wrong, told):
    right = line("tickframe", 1.0, rows=3, check={"v": 1.0, "w": 1.0})
    assert figures.table(RUN, [right, line("duckdb", 2.0, rows=3, check={"v": 1.0})])
    with pytest.raises(figures.WrongAnswerError, match="polars") as raised:
        figures.table(RUN, [right, line("polars", 2.0, **wrong)])
    assert told in str(raised.value)
