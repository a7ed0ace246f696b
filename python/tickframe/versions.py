"""What is installed: for reports of mistakes.

>>> import tickframe as tf
>>> tf.show_versions()  # doctest: +ELLIPSIS
tickframe    ...
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib import metadata

__all__ = ["show_versions"]

_OTHERS = ["pyarrow", "polars", "pandas", "numpy", "duckdb", "pyspark", "pydeephaven", "pydeephaven-ticking"]


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        return "not installed"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as why:
        return f"does not run: {why}"
    lines = (told.stderr or told.stdout).splitlines()
    return lines[0] if lines else "says nothing"


def versions() -> dict[str, str]:
    """Name and version of this package, of Python, of the machine, and of what it works with."""
    found = {"tickframe": _installed("tickframe"), "python": platform.python_version(), "system": platform.platform()}
    return found | {name: _installed(name) for name in _OTHERS} | {"java": _java()}


def show_versions() -> None:
    """Print the versions of this package, of Python, of the system, and of the libraries that it works with."""
    for name, version in versions().items():
        print(f"{name:<20} {version}")  # noqa: T201
