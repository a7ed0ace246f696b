"""The documentation is true: every block of Python on every page runs, and prints what the page says it prints.

The blocks of a page run in order, in one namespace and a folder of their own. What a block prints stands in the block
of text after it, under a first line ``# output``. A page that names a SparkSession needs a running Spark.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import html
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

import tickframe as tf
import tickframe.spark

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {str(page.relative_to(DOCS)): page.read_text(encoding="utf-8") for page in sorted(DOCS.rglob("*.md"))}
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
OUTPUT = "# output\n"


@dataclass
class Block:
    """Python of a page, what it shall print, and the line where it begins."""

    line: int
    code: str
    prints: str


def blocks(page: str) -> list[Block]:
    """The Python of a page; a text that begins with ``# output`` belongs to the block before it."""
    found: list[Block] = []
    for fence in FENCE.finditer(page):
        language, body = fence[2], textwrap.dedent(fence[3])
        if language == "python":
            found.append(Block(page[: fence.start()].count("\n") + 2, body, ""))
        elif body.startswith(OUTPUT):
            found[-1].prints = body.removeprefix(OUTPUT)
    return found


def run(name: str, found: list[Block]) -> None:
    """Run them one after the other, and compare what each prints.

    Raises:
        AssertionError: one prints something else.
    """
    namespace: dict[str, object] = {"__name__": "page"}
    for block in found:
        code = compile("\n" * (block.line - 1) + block.code, f"docs/{name}", "exec", dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        assert printed.getvalue().rstrip() == block.prints.rstrip(), f"docs/{name}, line {block.line}"


def marked(name: str) -> object:
    """A page as a parameter."""
    needs = [pytest.mark.spark] if "SparkSession" in PAGES[name] else []
    return pytest.param(name, marks=needs, id=name)


WITH_CODE = [name for name, page in PAGES.items() if blocks(page)]


@pytest.mark.parametrize("name", [marked(name) for name in WITH_CODE])
def test_the_code_of_a_page_runs_and_prints_what_it_says(name, tmp_path, monkeypatch, request):
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    run(name, blocks(PAGES[name]))


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("```python\nx = 1\n```\n\n```python\nx +\n```\n", SyntaxError),
        ("```python\nx = 1 / 0\n```\n", ZeroDivisionError),
        ("```python\nprint(1)\n```\n", AssertionError),
        ("```python\nprint(1)\n```\n\n```text\n# output\n2\n```\n", AssertionError),
    ],
)
def test_a_page_with_a_mistake_is_found(page, told):
    with pytest.raises(told):
        run("a page", blocks(page))


@pytest.mark.parametrize("name", ["functions", "expressions", "wire"])
def test_a_written_page_is_what_its_script_writes(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script = importlib.import_module(f"{name}_page")
    assert PAGES[f"{name}.md"] == script.page(), f"run: python scripts/{name}_page.py"


# What is public is documented ----------------------------------------------------------------------------------------

DIRECTIVE = re.compile(r"^::: tickframe\.(\S+)((?:\n {4}.*)*)", re.MULTILINE)
SPACES = ("str", "dt", "list", "struct", "bin", "name")


def members(kind: object) -> set[str]:
    """The public members of a class that this package defines, its bases' too."""
    bases = [base for base in getattr(kind, "__mro__", ()) if base.__module__.partition(".")[0] == "tickframe"]
    return {name for base in bases for name in vars(base) if not name.startswith("_")}


def public() -> dict[str, object]:
    """Every public name, and what it is."""
    found: dict[str, object] = {}
    for prefix, module in {
        "": tf,
        "agg.": tf.agg,
        "filters.": tf.filters,
        "selectors.": tf.selectors,
        "update_by.": tf.update_by,
        "errors.": tf.errors,
        "spark.": tf.spark,
    }.items():
        for name in module.__all__:
            if not name.startswith("_") and not inspect.ismodule(getattr(module, name)):
                found[prefix + name] = getattr(module, name)
    return found | {f"Expr.{name}": type(getattr(tf.col("x"), name)) for name in SPACES}


def directives() -> dict[str, str]:
    """What the reference has the docstrings of, with the options."""
    return {found[1]: found[2] for page in PAGES.values() for found in DIRECTIVE.finditer(page)}


def in_words() -> set[str]:
    """Names that stand as code somewhere: `tf.Int64`, `rows.ranges()`."""
    code = [span for page in PAGES.values() for span in re.findall(r"`([^`\n]+)`", page)]
    return {name for span in code for name in re.findall(r"[A-Za-z_][\w.]*", span)}


def shown(name: str, kind: object) -> set[str]:
    """The members of a class that the reference shows, with it or with a public class that it is made of."""
    told = directives()
    names = {kind: name, **{base: base.__name__ for base in getattr(kind, "__mro__", ()) if hasattr(tf, base.__name__)}}
    found: set[str] = set()
    for each, called in names.items():
        if called in told and inspect.isclass(each):
            whole = "inherited_members" in told[called] or called.startswith("Expr.")
            found |= members(each) if whole else set(vars(each))
    return found


def test_every_public_member_stands_in_the_reference():
    told, words = directives(), in_words()
    for name, member in public().items():
        if name.partition(".")[0] in {"agg", "errors", "filters", "selectors", "testing", "update_by"} & set(told):
            continue  # modules whose members are shown, all of them
        assert name in told or f"tf.{name}" in words, f"no page of docs/ tells of tf.{name}"
        for each in members(member) - shown(name, member):
            assert f"{name}.{each}" in words, f"no page of docs/ tells of {name}.{each}"


def test_what_the_reference_names_is_there():
    known = public()
    for name in directives():
        assert name in known or name in {"agg", "errors", "filters", "selectors", "testing", "update_by"}, (
            f"::: tickframe.{name} is nothing public"
        )


# What is public has an example ---------------------------------------------------------------------------------------


@dataclass
class Shown:
    """What examples name: words of their code and of what they print, and attributes with the word before the dot."""

    words: set[str]
    attributes: set[tuple[str, str]]

    def has_member(self, name: str, *, space: str | None = None) -> bool:
        """Whether an attribute of this name is read, of any object or behind this word."""
        return any(name == attribute and space in {None, before} for before, attribute in self.attributes)

    def has_name(self, name: str) -> bool:
        """Whether ``module.name`` is written so, or the name is imported from the module."""
        module, _, last = name.rpartition(".")
        return (module or "tf", last) in self.attributes


def examples() -> list[tuple[str, str]]:
    """Code that a test runs, and what it prints: of docstrings, of pages, and of the page of expressions."""
    modules = [module.name for module in pkgutil.walk_packages(tf.__path__, "tickframe.")]
    untested = ("tickframe._native", "tickframe.spark")
    found: list[tuple[str, str]] = []
    for name in ["tickframe", *modules]:
        if not name.startswith(untested):
            for test in doctest.DocTestFinder().find(importlib.import_module(name), name):
                wanted = "".join(example.want for example in test.examples)
                found.append(("".join(example.source for example in test.examples), wanted))
    found += [(block.code, block.prints) for name in WITH_CODE for block in blocks(PAGES[name])]
    written = re.findall(r"`([^`\n]+)`|<code>(.*?)</code>", PAGES["expressions.md"])
    return found + [(html.unescape("".join(code)), "") for code in written]


def shown_in(code: list[tuple[str, str]]) -> Shown:
    """The names in examples. What is no Python (a column of the page of expressions, say) has none."""
    found = Shown(set(), set())
    for source, printed in code:
        found.words |= set(re.findall(r"\w+", source + printed))
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except SyntaxError:
            continue
        imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        short = {alias.asname: alias.name.rpartition(".")[2] for alias in imports if alias.name != "tickframe"}
        for node in nodes:
            if isinstance(node, ast.Attribute):
                before = getattr(node.value, "attr", getattr(node.value, "id", "()"))
                found.attributes.add((short.get(before, before), node.attr))
            elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("tickframe"):
                module = str(node.module).rpartition(".")[2].replace("tickframe", "tf")
                found.attributes |= {(module, alias.name) for alias in node.names}
    return found


def without_example(known: dict[str, object], found: Shown) -> list[str]:
    """Public names that no example uses. A class is used where its name is, where a member of its own is, or in its docstring."""
    missing = []
    for name, member in known.items():
        if not inspect.isclass(member):
            missing += [] if found.has_name(name) else [name]
            continue
        space = name.removeprefix("Expr.") if name.startswith("Expr.") else None
        own = {each for each in vars(member) if not each.startswith("_")}
        used = {each for each in own if found.has_member(each, space=space)}
        is_shown = used or space or member.__name__ in found.words or ">>> " in str(member.__doc__)
        missing += [] if is_shown else [name]
        missing += [f"{name}.{each}" for each in sorted(own - used)]
    return sorted(missing)


def everything() -> dict[str, object]:
    """What is public, and the classes of ours that public ones are made of."""
    testing = {f"testing.{name}": getattr(tf.testing, name) for name in tf.testing.__all__}
    kinds = {base for kind in public().values() for base in getattr(kind, "__mro__", ())} - set(public().values())
    ours = [kind for kind in kinds if kind.__module__.partition(".")[0] == "tickframe" and members(kind)]
    return {kind.__name__.removeprefix("_"): kind for kind in ours} | public() | testing


def without_example_of_their_own(known: dict[str, object]) -> list[str]:
    """Members with a name that another class has too, which no docstring of theirs, of their class or of its module shows.

    Tables and expressions are what most examples are made of: theirs are shown wherever they are used. The docstrings of
    classes that are compiled, or that need a Spark, are not run.
    """
    usual = {base for kind in (tf.Table, tf.Expr, tf.selectors.Selector) for base in kind.__mro__}
    classes = {kind for kind in known.values() if inspect.isclass(kind)}
    names = [each for kind in classes for each in vars(kind) if not each.startswith("_")]
    missing = []
    for kind in classes - usual:
        module = str(kind.__module__)
        if module == "tickframe" or module.startswith(("tickframe.spark", "tickframe.namespaces")):
            continue
        for each in vars(kind):
            if names.count(each) < 2:
                continue
            member = inspect.getattr_static(kind, each)
            texts = [member.__doc__, kind.__doc__, importlib.import_module(module).__doc__]
            code = [
                line for text in texts for line in str(text).splitlines() if line.lstrip().startswith((">>> ", "... "))
            ]
            missing += [] if any(f".{each}" in line for line in code) else [f"{kind.__name__}.{each}"]
    return sorted(missing)


def test_every_public_member_has_an_example_that_runs():
    assert without_example(everything(), shown_in(examples())) == []
    assert without_example_of_their_own(everything()) == []


def test_a_member_without_an_example_is_found():
    class Kind:
        def used(self) -> None: ...
        def unused(self) -> None: ...

    found = shown_in(
        [
            ("t = tf.first()\nt.used()", "Other: 1"),
            ("second(", ""),
            ("import tickframe.m as s\ns.last()\nfrom tickframe import bare", ""),
        ]
    )
    known = {
        "first": print,
        "second": print,
        "bare": print,
        "Kind": Kind,
        "agg.first": print,
        "m.last": print,
        "Expr.dt": Kind,
    }
    missing = ["Expr.dt.unused", "Expr.dt.used", "Kind.unused", "agg.first", "second"]
    assert without_example(known, found) == missing


# Links --------------------------------------------------------------------------------------------------------------

LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")


def anchors(page: str) -> set[str]:
    """What a heading of a page is called in a link."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    for target in LINK.findall(FENCE.sub("", PAGES[name])):
        if ":" in target:
            continue
        path, _, anchor = target.partition("#")
        aim = (DOCS / name).parent / path if path else DOCS / name
        assert aim.is_file(), f"docs/{name}: {target}"
        if anchor and aim.suffix == ".md":
            assert anchor in anchors(aim.read_text(encoding="utf-8")), f"docs/{name}: {target}"


def test_every_page_stands_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name in PAGES:
        assert name in navigation or name.startswith("decisions/0"), f"docs/{name} is in no menu of mkdocs.yml"
