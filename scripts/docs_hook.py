"""What `mkdocs build` does beside rendering `docs/`: pages of the repository's root stand on the site, too.

A link to a file that is on no page (a README of a crate, say) is shown as text: the site does not hold the sources.
`::: tickframe.Expr.str` stands for the methods behind that property, wherever their class is defined, and
`::: tickframe.table` for the function, not for the module of that name.
"""

from __future__ import annotations

import functools
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
FROM_ROOT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
SPACE = re.compile(r"^::: tickframe\.Expr\.(\w+)$", re.MULTILINE)
NAMED = re.compile(r"^::: tickframe\.(\w+)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for name in FROM_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links of the repository into links of the site."""
    del config
    here = page.file.src_uri
    # Where the page stands in the repository: those of the root are not in docs/.
    folder = posixpath.dirname(here if here in FROM_ROOT else f"docs/{here}")

    def linked(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        if ":" in target:
            return found[0]
        at = posixpath.normpath(posixpath.join(folder, target))
        inside = at.removeprefix("docs/")
        if files.get_file_from_path(inside) is None:
            return found[0] if at.startswith("docs/") else text
        return f"[{text}]({posixpath.relpath(inside, posixpath.dirname(here) or '.')}{anchor})"

    markdown = markdown.replace("```text\n# output\n", '```text title="Output"\n')
    return NAMED.sub(_not_a_module, SPACE.sub(_methods_behind, LINK.sub(linked, markdown)))


@functools.cache
def _package() -> Any:
    """The package, read and not imported: the site is built without the extension."""
    return griffe.load("tickframe", search_paths=[ROOT / "python"])


def _not_a_module(found: re.Match[str]) -> str:
    """The directive for a public function that has the name of a module, `tickframe.table`."""
    imported = _package().imports.get(found[1])
    is_module = _package().members[found[1]].is_module
    return f"::: {imported}" if is_module and imported and imported != f"tickframe.{found[1]}" else found[0]


def _methods_behind(found: re.Match[str]) -> str:
    """The directive for the class that a property of expressions gives."""
    path = _package()["Expr"].final_target[found[1]].annotation.canonical_path
    return f"::: {path}\n    options:\n      heading: Expr.{found[1]}\n      toc_label: Expr.{found[1]}"
