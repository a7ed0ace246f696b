"""Print what the named extras of pyproject.toml need, one requirement a line, each once."""

import sys
import tomllib
from pathlib import Path


def requirements(extras: list[str]) -> list[str]:
    """The requirements of several extras, sorted, without doubles."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted({need for extra in extras for need in project["optional-dependencies"][extra]})


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
