"""The tables of `benches/RESULTS.md`, made of the committed lines in `benches/figures`.

    python benches/figures.py            # write them
    python benches/figures.py --check    # say whether they are what the lines say
    COMMAND | python benches/figures.py --take NAME --made-by COMMAND    # keep what another program printed

A file there is one run: its first line says by which command, on which machine and with which engines it was made, each
line after it is one measurement, or one row of a table that the run itself laid out. A wrong answer in a line ends the
program with 1, and so does a table that is not what its lines say. Times of two files are not to be compared.

The benches keep their lines by `keep`, which takes none of a run in which an answer was wrong or an engine crashed, and end
by `ended`, which says so with 1. A program that is not Python prints its table in Markdown, or a JSON object a line; `--take`
keeps that.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HERE = Path(__file__).resolve().parent
LINES, PAGE = HERE / "figures", HERE / "RESULTS.md"
BLOCK = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
LOSSES = re.compile(r"(<!-- losses -->\n).*?(<!-- end of losses -->)", re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
LOST = 1.05  # a twentieth is what rounds of one run differ by
TOTAL = "all"  # a line that is the sum of the others
CLOSE = {"rel_tol": 1e-9, "abs_tol": 0.01}
Line = dict[str, Any]


class WrongAnswerError(Exception):
    """Engines that were measured do not answer alike."""


def read(path: Path) -> tuple[Line, list[Line]]:
    """What the run was, and its lines."""
    run, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return run, lines


def this_run(command: str) -> Line:
    """The first line of a run that is made now, on this machine."""
    with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        cpu = next(
            (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor()
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"
    made = f"{cpu}, {system}, Python {platform.python_version()}"
    return {"command": command, "machine": made, "date": time.strftime("%Y-%m")}


def keep(name: str, run: Line, lines: Iterable[Line]) -> None:
    """Write the lines of a run where the page looks for them. A run with a wrong answer is not kept."""
    kept = list(lines)
    wrong = wrong_answers(kept)
    if wrong:
        raise WrongAnswerError("\n".join(wrong))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (run, *kept))
    (LINES / f"{name}.jsonl").write_text(text, encoding="utf-8")


def keep_table(name: str, command: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    """Write a table that a run laid out itself."""
    keep(name, {**this_run(command), "columns": columns}, ({"row": row} for row in rows))


def ended(lines: Iterable[Line], *, name: str = "", run: Line | None = None) -> int:
    """What a run ends with: 1 if an answer is wrong, an engine crashed or nothing was measured. Else its lines are kept, if it has a name."""
    kept = list(lines)
    wrong = wrong_answers(kept) or ([] if kept else ["nothing was measured"])
    for text in wrong:
        print("WRONG ANSWER:", text, file=sys.stderr, flush=True)
    if not wrong and name:
        keep(name, run or {}, kept)
    return 1 if wrong else 0


def laid_out(
    name: str, command: str, columns: list[str], rows: list[list[str]], wrong: Iterable[tuple[str, str]] = ()
) -> int:
    """Print a table that a run laid out itself, and end with it: `wrong` are works and what is wrong with their answers."""
    print("\n".join(markdown(columns, rows)), flush=True)
    errors = [{"workload": work, "engine": "tickframe", "error": what} for work, what in wrong]
    code = ended([*({"row": row} for row in rows), *errors])
    if not code and name:
        keep_table(name, command, columns, rows)
    return code


def engine(command: list[str], out: str | Path, name: str, environment: Mapping[str, str] | None = None) -> None:
    """Run an engine in a process of its own, that adds its lines to a file. One that crashes leaves an error there."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - our own benches
        code = process.wait()
    if code:
        line = {"workload": "its process", "engine": name, "error": f"ended with {code}"}
        with Path(out).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def printed(text: str) -> tuple[list[str] | None, list[Line]]:
    """The lines that a program printed: columns and rows of its table in Markdown, or JSON objects. Other text is passed over."""
    objects = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if objects:
        return None, objects
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not set(line) <= set("|-: ")
    ]
    if len(cells) < 2 or any(len(row) != len(cells[0]) for row in cells):
        raise LookupError("no table was printed, or more than one")
    return cells[0], [{"row": row} for row in cells[1:]]


def milliseconds(line: Line) -> float | None:
    """The time that counts: a median of cycles, or of calls."""
    if "p50_ms" in line:
        return float(line["p50_ms"])
    return float(line["median"]) * 1e3 if "median" in line else None


def same(one: Any, other: Any) -> bool:
    """Whether two checks agree: a number, or one for each column that both have."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(math.isclose(one[name], other[name], **CLOSE) for name in one.keys() & other.keys())
    return math.isclose(one, other, **CLOSE)


def wrong_answers(lines: list[Line]) -> list[str]:
    """What is wrong, a line each: an answer that is not the recomputed one, or not that of the first engine."""
    known: dict[str, Line] = {}
    found = []
    for line in lines:
        who = f"{line.get('engine')}, {line.get('workload')}"
        if line.get("answer_ok", True) is not True:
            found.append(f"{who}: {line['answer_ok'] or 'the answer was not compared'}")
        if "check" in line:
            first = known.setdefault(line["workload"], line)
            if line["rows"] != first["rows"] or not same(line["check"], first["check"]):
                told = f"{line['rows']} rows, {line['check']}"
                found.append(f"{who}: {told}; {first['engine']}: {first['rows']} rows, {first['check']}")
        if "error" in line:
            found.append(f"{who}: {line['error']}")
    return found


def lowest(lines: list[Line]) -> dict[str, dict[str, Line]]:
    """The fastest line of each workload and engine, workloads as they came."""
    best: dict[str, dict[str, Line]] = {}
    for line in lines:
        ms = milliseconds(line)
        if ms is None:
            continue
        cells = best.setdefault(line["workload"], {})
        if line["engine"] not in cells or ms < (milliseconds(cells[line["engine"]]) or math.inf):
            cells[line["engine"]] = line
    return best


def mean_of(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def markdown(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    line = lambda cells: f"| {' | '.join(cells)} |"  # noqa: E731 - one expression, used thrice
    return [line(columns), "|---" * len(columns) + "|", *map(line, rows)]


def shown(ms: float) -> str:
    """Milliseconds, three digits that say something."""
    return f"{ms:.3f}" if ms < 10 else f"{ms:.1f}"


def measured(run: Line, lines: list[Line]) -> list[str]:
    """A table of workloads by engines, and what it comes to: how often the fastest peer's time ours is taken."""
    wrong = wrong_answers(lines)
    if wrong:
        raise WrongAnswerError("\n".join(wrong))
    best, ours, floors = lowest(lines), list(run["ours"]), run.get("floors", {})
    engines = sorted({name for cells in best.values() for name in cells}, key=lambda name: (name not in ours, name))
    peers = [name for name in engines if name not in ours]
    ratios: dict[str, list[float]] = {name: [] for name in ours}
    rows = []
    for workload, cells in best.items():
        times = {name: milliseconds(line) or math.nan for name, line in cells.items()}
        peer = min((times[name] for name in peers if name in times), default=None)
        row = [workload, *(shown(times[name]) if name in times else "" for name in engines)]
        for name in ours:
            if peer is not None and name in times and workload != TOTAL:
                ratios[name].append(peer / times[name])
        if peers:
            row.append(f"{peer / times[ours[0]]:.2f}" if peer is not None and ours[0] in times else "")
        if floors:
            row.append(f"{times[ours[0]] / floors[workload]:.1f}" if workload in floors and ours[0] in times else "")
        rows.append(row)
    columns = ["ms", *engines, *(["fastest peer / ours"] if peers else []), *(["ours / C loops"] if floors else [])]
    said = [
        f"{name}: the fastest peer takes **{mean_of(found):.2f}** times as long in geometric mean of {len(found)} workloads, "
        f"at least {min(found):.2f}."
        for name, found in ratios.items()
        if found
    ]
    return [*markdown(columns, rows), "", *said]


def table(run: Line, lines: list[Line]) -> str:
    """How the run was made, and its table."""
    engines = ", ".join(
        f"{name} {made['version']} ({made['threads']} threads)" if "threads" in made else f"{name} {made['version']}"
        for name, made in run.get("engines", {}).items()
    )
    made = " · ".join(filter(None, [f"`{run['command']}`", run["machine"], engines, run["date"]]))
    body = markdown(run["columns"], [line["row"] for line in lines]) if "columns" in run else measured(run, lines)
    return "\n".join([made, "", *body, ""])


def anchor(heading: str) -> str:
    """What a link to a heading of the page says."""
    return "#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def lost(run: Line, lines: list[Line]) -> tuple[dict[str, float], int]:
    """How many times the fastest peer's time ours takes where it takes longer, the worst first; and of how many workloads."""
    ratios = {}
    for workload, cells in lowest(lines).items():
        times = {name: milliseconds(line) or math.nan for name, line in cells.items()}
        peers = [ms for name, ms in times.items() if name not in run["ours"]]
        if peers and run["ours"][0] in times and workload != TOTAL:
            ratios[workload] = times[run["ours"][0]] / min(peers)
    worst = sorted(ratios.items(), key=lambda found: -found[1])
    return {workload: ratio for workload, ratio in worst if ratio > LOST}, len(ratios)


def losses(text: str, folder: Path) -> str:
    """A row for each table of the page in which a peer is faster than we are."""
    headings = {found.start(): found[1] for found in HEADING.finditer(text)}
    rows = []
    for found in BLOCK.finditer(text):
        run, lines = read(folder / (found["name"] + ".jsonl"))
        if "columns" in run:
            continue
        slower, of = lost(run, lines)
        heading = headings[max(at for at in headings if at < found.start())]
        if slower:
            told = ", ".join(f"`{workload}` {ratio:.2f}" for workload, ratio in slower.items())
            rows.append([f"[{heading}]({anchor(heading)}), `{found['name']}`", f"{len(slower)} of {of}", told])
    return "\n".join([*markdown(["table, its lines", "lost", "our time, of the fastest peer's"], rows), ""])


def page(text: str, folder: Path = LINES) -> str:
    """The page with each of its tables made anew. A name without a file is an error, and a file without a place."""
    placed = []

    def block(found: re.Match[str]) -> str:
        placed.append(found["name"])
        return f"{found[1]}{table(*read(folder / (found['name'] + '.jsonl')))}{found[3]}"

    made = BLOCK.sub(block, text)
    unplaced = sorted({path.stem for path in folder.glob("*.jsonl")} - set(placed))
    if unplaced:
        raise LookupError(f"no place in the page for {', '.join(unplaced)}")
    return LOSSES.sub(lambda found: f"{found[1]}{losses(made, folder)}{found[2]}", made)


def main() -> int:
    """Write the tables, or compare them."""
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--check", action="store_true")
    parse.add_argument("--take", metavar="NAME", default="")
    parse.add_argument("--made-by", metavar="COMMAND", default="")
    asked = parse.parse_args()
    if asked.take:
        text = sys.stdin.read()
        print(text, end="")
        columns, lines = printed(text)
        run = {**this_run(asked.made_by), **({"columns": columns} if columns else {"ours": ["tickframe"]})}
        return ended(lines, name=asked.take, run=run)
    old = PAGE.read_text(encoding="utf-8")
    try:
        new = page(old)
    except WrongAnswerError as wrong:
        print(f"WRONG ANSWER: {wrong}", file=sys.stderr)
        return 1
    if asked.check and new != old:
        print("benches/RESULTS.md is not what the lines say: make figures", file=sys.stderr)
        return 1
    if not asked.check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
