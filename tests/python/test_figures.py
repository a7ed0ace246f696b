"""The page of figures says what its lines say, and no wrong answer and no crash gets there."""

import importlib.util
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

BENCHES = Path(__file__).resolve().parents[2] / "benches"


def loaded(path):
    """A program of the benches, as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{path.replace('/', '_').removesuffix('.py')}", BENCHES / path)
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Loads a program whose figures go into a folder of the test, and calls it with words of a command line."""

    def made(path):
        monkeypatch.setattr(sys, "path", [str(BENCHES), *sys.path])
        module = loaded(path)
        if hasattr(module, "figures"):
            monkeypatch.setattr(module.figures, "LINES", tmp_path)

        def ended(*words):
            monkeypatch.setattr(sys, "argv", [path, *map(str, words)])
            try:
                return module.main()
            except SystemExit as end:
                return end.code

        return module, ended

    return made


figures = loaded("figures.py")

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


def test_the_page_has_no_table_but_those_of_lines_and_one_that_says_why():
    text = figures.PAGE.read_text(encoding="utf-8")
    prose = figures.LOSSES.sub("", figures.BLOCK.sub("", text))
    tables = [line for line in prose.splitlines() if line.startswith("|")]
    assert tables[:2] == ["| what | table | why |", "|---|---|---|"]
    anchors = {figures.anchor(heading) for heading in figures.HEADING.findall(text)}
    for row in tables[2:]:
        what, table, why = row.strip("| ").split(" | ")
        named = re.findall(r"\]\((#[^)]*)\)", table)
        assert named, f"{what}: no table"
        assert set(named) <= anchors, what
        assert why


def test_what_we_lose_is_what_the_tables_say(tmp_path):
    lines = [line("tickframe", 3.0), line("polars", 2.0), line("duckdb", 4.0)]
    for workload, peer in (("join", 4.0), ("asof", 3.9), ("all", 1.0)):
        lines += [line("tickframe", 4.0, workload), line("polars", peer, workload)]
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (RUN, *lines)))
    place = "<!-- losses -->\n<!-- end of losses -->\n## Still tables\n<!-- figures: one -->\n<!-- end of figures -->"
    made = figures.page(place, tmp_path)
    assert "| [Still tables](#still-tables), `one` | 1 of 3 | `sort` 1.50 |" in made
    assert "of 3 workloads" in made, "a total is no workload"


def test_a_run_with_a_wrong_answer_is_not_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(figures, "LINES", tmp_path)
    wrong = line("tickframe", 1.0, answer_ok="3 rows, expected 4")
    with pytest.raises(figures.WrongAnswerError, match="expected 4"):
        figures.keep("one", RUN, [wrong])
    assert figures.ended([wrong], name="one", run=RUN) == 1
    assert "WRONG ANSWER: tickframe, sort: 3 rows, expected 4" in capsys.readouterr().err
    assert figures.ended([line("tickframe", 1.0, answer_ok=None)], name="one", run=RUN) == 1, "not compared"
    assert figures.ended([], name="one", run=RUN) == 1, "nothing was measured"
    assert figures.laid_out("one", "run", ["", "ms"], [["sort", "1"]], [("sort", "not in order")]) == 1
    assert not list(tmp_path.iterdir())
    assert figures.laid_out("one", "run", ["", "ms"], [["sort", "1"]]) == 0
    assert "| sort | 1 |" in figures.table(*figures.read(tmp_path / "one.jsonl"))


@pytest.mark.parametrize(("what", "told"), [("sys.exit(3)", "ended with 3"), ("os.abort()", "ended with -6")])
def test_an_engine_that_crashes_is_an_error(tmp_path, what, told):
    out = tmp_path / "lines"
    figures.engine([sys.executable, "-c", f"import os, sys; {what}"], out, "tickframe")
    assert figures.wrong_answers([json.loads(out.read_text())]) == [f"tickframe, its process: {told}"]


def test_an_engine_is_warm_when_its_last_runs_are_alike(bench):
    harness, _ = bench("compare/common/harness.py")
    falling, level = [5.0, 4.0, 3.0, 2.0, 1.5], [1.05, 1.0, 1.02, 1.0, 1.03]
    assert not harness.warm([], 0.0, least=2)
    assert not harness.warm(falling, 1.0, least=2)
    assert harness.warm(falling + level, 1.0, least=2)
    assert not harness.warm(level, 1.0, least=10), "a compiler has not seen enough"
    assert harness.warm(falling, 5.1, least=10), "long enough"
    assert not harness.warm([5.0], 5.1, least=10), "the first one loads code"
    assert harness.warm(falling * 7, 1.0, least=2), "the table grows"
    assert harness.warm([], 0.0, least=0), "not asked for"
    times = iter([0.05, 0.04, 0.03, 0.02, *[0.01] * 20])
    spent, made = harness.measure(lambda: harness.time.sleep(next(times)) or "made", reps=3)
    assert made == "made"
    assert max(spent) < 0.02, "none of those that warmed it"


def test_an_answer_is_computed_anew_where_an_engine_has_no_polars():
    program = BENCHES / "compare" / "incremental" / "answers.py"
    done = subprocess.run([sys.executable, program, "source", "append", "1000", "2"], stdout=-1, check=True)
    rows, check = json.loads(done.stdout)
    assert rows == 21_000, "two batches of 10,000"
    assert check["id"] == 21_000 * 20_999 / 2


def family(folder, end="", check=1.0):
    """A family of one workload; its engine writes a line, then does what `end` says."""
    folder.mkdir(exist_ok=True)
    (folder / "data.py").write_text("")
    wrote = {"workload": "sort", "median": 0.001, "rows": 1, "version": "1"}
    (folder / "run.py").write_text(
        f"""import json, os, sys
line = {{**{wrote!r}, "engine": sys.argv[1], "check": {{"v": float(os.environ.get("PYTHONPATH", "").endswith("new")) * {check}}}}}
with open(sys.argv[sys.argv.index("--out") + 1], "a") as out:
    print(json.dumps(line), file=out)
{end}
"""
    )


@pytest.mark.parametrize(("end", "code"), [("", 0), ("os.abort()", 1), ("sys.exit(2)", 1)])
def test_engines_beside_one_another_end_with_what_became_of_them(bench, monkeypatch, tmp_path, end, code):
    module, ended = bench("compare/run.py")
    family(tmp_path / "functions", end)
    monkeypatch.setattr(module, "HERE", str(tmp_path))
    monkeypatch.setenv("BENCH_QUIET_S", "0")
    out = tmp_path / "out.jsonl"
    asked = ["--family", "functions", "--engines", "tickframe", "--rounds", 1, "--out", out, "--record", "one"]
    assert ended(*asked) == code
    assert (tmp_path / "one.jsonl").exists() == (code == 0)


@pytest.mark.parametrize(("end", "check", "code"), [("", 0.0, 0), ("", 1.0, 1), ("os.abort()", 0.0, 1)])
def test_builds_in_turn_are_compared(bench, monkeypatch, tmp_path, end, check, code):
    module, ended = bench("compare/builds.py")
    family(tmp_path / "functions", end, check)
    monkeypatch.setattr(module, "HERE", str(tmp_path))
    asked = [tmp_path / "old", tmp_path / "new", "--family", "functions", "--rounds", 1, "--record", "one"]
    assert ended(*asked) == code
    assert (tmp_path / "one.jsonl").exists() == (code == 0)


@pytest.mark.parametrize(("ours", "code"), [(1, 0), (2, 1)])
def test_queries_whose_answers_differ_end_with_an_error(bench, monkeypatch, tmp_path, ours, code):
    module, ended = bench("tpch/run.py")
    rows = {name: pa.table({"x": [ours if name == "plan" else 1]}) for name in ("plan", "polars", "duckdb")}

    def runs(_number):
        return {name: lambda name=name: rows[name] for name in rows}

    monkeypatch.setattr(module, "generated", lambda *_: {})
    monkeypatch.setattr(module, "static", lambda _tables, _scale, numbers: module.lowest(runs, numbers))
    assert ended(tmp_path, "--queries", 1, "--record", "one") == code
    assert (tmp_path / "one.jsonl").exists() == (code == 0)


def test_every_file_of_lines_has_a_run_that_writes_it(bench, monkeypatch, capsys):
    module, ended = bench("measure.py")
    names = [name for run in module.RUNS for name in run.names]
    assert sorted(names) == sorted(path.stem for path in figures.LINES.glob("*.jsonl"))
    for run in module.RUNS:
        assert run.take or "--record" in run.command, run.names
        programs = [word for word in run.command if word.endswith(".py")]
        assert all((module.ROOT / program).exists() for program in programs), programs
    monkeypatch.delenv("BENCH_DEEPHAVEN", raising=False)
    assert ended("growth", "udf", "--list") == 0
    told = capsys.readouterr().out
    assert "SKIPPED: BENCH_DEEPHAVEN names no Python" in told
    assert "hours in all" in told


def test_a_run_that_fails_is_told_and_the_others_go_on(bench, monkeypatch, tmp_path, capsys):
    module, ended = bench("measure.py")
    table = "print('| a | b |'); print('|---|---|'); print('| 1 | 2 |')"
    programs = {"bad": "raise SystemExit(3)", "good": table, "half": f"{table}; raise SystemExit(1)"}
    runs = [module.Run((name,), 1, (sys.executable, "-c", text), take=name) for name, text in programs.items()]
    monkeypatch.setattr(module, "RUNS", [*runs, module.Run(("none",), 1, ("none",), needs=("no-such-program",))])
    taken = []
    run = module.subprocess.run

    def seen(words, **given):
        if "--take" in words:
            taken.append(words[words.index("--take") + 1])
            return module.subprocess.CompletedProcess(words, 0)
        return run(words, **given)

    monkeypatch.setattr(module.subprocess, "run", seen)
    page = tmp_path / "RESULTS.md"
    page.write_text("nothing")
    monkeypatch.setattr(module.figures, "PAGE", page)
    monkeypatch.setattr(module.figures, "page", lambda text: text + " anew")
    assert ended() == 1
    told = capsys.readouterr()
    assert taken == ["good"], "what a program printed before it failed is no figure"
    assert "SKIPPED: no no-such-program" in told.out
    assert "kept as it was: bad" in told.err
    assert "kept as it was: half" in told.err
    assert page.read_text() == "nothing anew"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("words before\n| shape | read |\n|---|---|\n| 1 % | 2.0 |\nwords after\n", "| 1 % | 2.0 |"),
        ('words\n{"workload": "sort", "engine": "tickframe", "p50_ms": 1.0}\n', "| sort | 1.000 |"),
    ],
)
def test_what_another_program_printed_is_taken(bench, monkeypatch, tmp_path, text, row):
    module, ended = bench("figures.py")
    monkeypatch.setattr(module, "LINES", tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert ended("--take", "one", "--made-by", "cargo bench") == 0
    run, lines = module.read(tmp_path / "one.jsonl")
    assert run["command"] == "cargo bench"
    assert row in module.table(run, lines)
    monkeypatch.setattr(sys, "stdin", io.StringIO("no table\n"))
    with pytest.raises(LookupError, match="no table"):
        ended("--take", "two")


def test_what_the_program_of_row_sets_printed_becomes_its_tables(bench, monkeypatch, tmp_path):
    _, ended = bench("compare/rowsets.py")
    head = "| shape | operation | tickframe | roaring | croaring | sorted array | deephaven | to the best Roaring |\n"
    text = f"""{head}|---|---|---|---|---|---|---|---|
| sparse | union | 20.0 ns | 40.0 ns | 30.0 ns | 1.0 µs | 2.50 ms | 0.67 |
| sparse | contains | 2.0 ns | 4.0 ns | 4.0 ns | 88.7 ns | - | 0.5 |
| sparse | bytes a key | 0.500 | 1.000 | 2.000 | 8.000 | 0.250 | 0.5 |

Set algebra to the better Roaring: 0.667
"""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert ended("--record") == 0
    rows = {path.stem: figures.table(*figures.read(path)) for path in tmp_path.glob("*.jsonl")}
    assert "| sparse | 20 ns / 30 ns / 2.5 ms |" in rows["rowset-algebra"]
    assert "| 0.500 / 1.000 / 0.250 |" in rows["rowset-algebra"]
    assert "| sparse | 2 ns / 88.7 ns / " in rows["rowset-look-ups"]
    assert "| set algebra to the better Roaring, 1 cells | **0.67** |" in rows["rowset-bars"]
    assert (
        "| bytes to Deephaven, 1 cells | **2.00** | no cell above 1 | 2.00 (bytes a key, sparse); 1 above 1 |"
        in rows["rowset-bars"]
    )
