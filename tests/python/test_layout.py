"""The rooms of the package: modules are short and say what they are, import in one direction, and have tests.

The map of the repository is short as well, and names files that are there.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tickframe as tf
from tickframe import spark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = Path(tf.__file__).parent
ROOT = Path(__file__).parents[2]
LONGEST = 700

#: Modules whose tests are named by what they are about.
TESTED_BY = {
    "across": "test_everyday_expressions.py",
    "agg": "test_aggregates.py",
    "column": "test_interchange.py",
    "config": "test_control.py",
    "constructors": "test_interchange.py",
    "differences": "test_shape.py",
    "group_by": "test_aggregates.py",
    "iceberg": "test_delta.py",
    "joins": "test_join.py",
    "reductions": "test_everyday_expressions.py",
    "rolled": "test_rolling.py",
    "schema": "test_dtypes.py",
    "scopes": "test_followers.py",
    "spark.frame": "test_spark.py",
    "spark.stream": "test_spark_stream.py",
    "scanning": "test_files.py",
    "restoring": "test_durable.py",
    "stacking": "test_everyday_tables.py",
    "synced": "test_sync_filter.py",
    "testing": "test_clock.py",
    "versions": "test_cli.py",
    "when": "test_answers.py",
}


def name_of(file: Path) -> str:
    parts = ("tickframe", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py"))}


def imports(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run, wherever they stand; those for types alone do not."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from imports(node.body if isinstance(node.test, ast.UnaryOp) else node.orelse)
        else:
            yield from imports(ast.iter_child_nodes(node))


def imported(source: str, known: set[str]) -> set[str]:
    """The modules among the known ones that a module imports."""
    found = set()
    for each in imports([ast.parse(source)]):
        if isinstance(each, ast.Import):
            found.update(alias.name for alias in each.names)
        else:
            inner = {f"{each.module}.{alias.name}" for alias in each.names}
            # What is a module of its own is imported itself, the compiled one too; other names are its package's.
            found.update(inner & known if inner <= known | {"tickframe._native"} else {str(each.module)} | inner)
    return found & known


def circles(modules: dict[str, str]) -> list[list[str]]:
    """Modules of which each reaches the others by imports."""
    edges = {name: imported(source, set(modules)) - {name} for name, source in modules.items()}

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            new = edges[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return found

    reach = {name: reached(name) for name in modules}
    together = {frozenset({name} | {other for other in reach[name] if name in reach[other]}) for name in modules}
    return sorted(sorted(circle) for circle in together if len(circle) > 1)


def test_circles_are_found() -> None:
    modules = {
        "p": "",
        "p.a": "from p.b import x",
        "p.b": "def f():\n    from p import c",
        "p.c": "import p.a",
        "p.d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.e import x\nelse:\n    from p import f",
        "p.e": "from p.d import x",
        "p.f": "if not TYPE_CHECKING:\n    from p.d import x",
    }
    assert circles(modules) == [["p.a", "p.b", "p.c"], ["p.d", "p.f"]]


def test_no_circle_of_imports_has_more_than_two_modules() -> None:
    assert len(MODULES) > 40
    assert [circle for circle in circles(MODULES) if len(circle) > 2] == []


@pytest.mark.parametrize("name", MODULES)
def test_each_module_is_short_and_says_what_it_is(name: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[name]))
    assert len(MODULES[name].splitlines()) <= LONGEST


def public_modules() -> set[str]:
    """Where what users call is written."""
    offered = [getattr(space, name) for space in (tf, spark) for name in space.__all__]
    found = {str(getattr(each, "__module__", getattr(each, "__name__", ""))) for each in offered}
    return {name.removeprefix("tickframe.") for name in found & set(MODULES) - {"tickframe"}}


def test_each_public_module_has_its_tests() -> None:
    here = Path(__file__).parent
    public = public_modules()
    assert set(TESTED_BY) <= public
    for module in sorted(public):
        own = f"test_{module.split('.')[0]}.py"
        assert (here / TESTED_BY.get(module, own)).is_file(), module
        assert module not in TESTED_BY or not (here / own).is_file() or "." in module, f"{module} has {own}"


# The map ------------------------------------------------------------------------------------------------------------

MAP = ROOT / "ARCHITECTURE.md"
PROTOCOLS = sorted(file for file in (ROOT / "crates").rglob("README.md") if "target" not in file.parts)


def test_the_map_is_read_at_one_sitting() -> None:
    lines = MAP.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert [number for number, line in enumerate(lines, 1) if len(line) > 140] == []
    glossary = lines[lines.index("## Glossary") :]
    assert sum(line.startswith("| ") for line in glossary) == 1 + 25, "the head of the table, and 25 words"


def test_the_map_has_the_update_law_and_leads_to_each_protocol() -> None:
    text = MAP.read_text(encoding="utf-8")
    assert re.findall(r"^- \*\*(U\d)\*\* ", text, re.MULTILINE) == [f"U{rule}" for rule in range(1, 9)]
    for file in PROTOCOLS:
        assert f"]({file.relative_to(ROOT)})" in text, f"{file} is linked nowhere in the map"


@pytest.mark.parametrize("file", [MAP, *PROTOCOLS], ids=lambda file: str(file.relative_to(ROOT)))
def test_files_that_are_named_are_there(file: Path) -> None:
    named = set(
        re.findall(r"`((?:crates|python|tests|benches|docs|src|examples)/[\w./-]*)`", file.read_text(encoding="utf-8"))
    )
    crate = next((folder for folder in file.parents if folder.parent == ROOT / "crates"), ROOT)
    missing = [
        name
        for name in named
        if not any((folder / name).exists() for folder in (ROOT, file.parent, crate, crate / "src"))
    ]
    assert missing == []
