"""Settings, strongest first: ``tf.Config(...)`` as a context manager, ``TICKFRAME_*``, the folder's ``tickframe.toml``, defaults.

>>> import tickframe as tf
>>> with tf.Config(rows=2):
...     print(tf.table({"a": [1, 2, 3]}))
shape: (3, 1)
┌───────┐
│ a     │
│ ---   │
│ Int64 │
╞═══════╡
│ 1     │
│ …     │
│ 3     │
└───────┘
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Self

from tickframe import _native

__all__ = ["Config", "setting"]

_DEFAULTS: dict[str, Any] = {
    "rows": 10,
    "columns": 8,
    "width": 100,
    "cell": 32,
    "period": 0.05,
    "threads": -1,
    "init_threads": -1,
    "autostart": True,
    "stateless_select": False,
    "stateless_filters": False,
    "serial_implicit_barriers": None,
    "memory": None,
}
_PROPERTIES = {
    "PeriodicUpdateGraph.updateThreads": "threads",
    "OperationInitializationThreadPool.threads": "init_threads",
    "QueryTable.statelessSelectByDefault": "stateless_select",
    "QueryTable.statelessFiltersByDefault": "stateless_filters",
    "QueryTable.serialSelectImplicitBarriers": "serial_implicit_barriers",
}
_chosen: ContextVar[dict[str, Any]] = ContextVar("tickframe.config")


def setting(name: str, given: Any = None) -> Any:
    """The value of one setting: `given` itself, else the context's, else the environment's, else the default."""
    if given is not None:
        return given
    chosen: Any = _chosen.get({}).get(name)
    if chosen is not None:
        return chosen
    default: Any = _DEFAULTS[name]
    text = os.environ.get(f"TICKFRAME_{name.upper()}")
    if text is None:
        return file_settings().get(name, default)
    if default is None or isinstance(default, bool):
        return text.strip().lower() not in {"0", "false", "no", "off"}
    try:
        return type(default)(text)
    except ValueError as why:
        raise ValueError(f"TICKFRAME_{name.upper()}={text!r} is no {type(default).__name__}") from why


FILE = "tickframe.toml"


@functools.cache
def file_settings() -> dict[str, Any]:
    """What ``tickframe.toml`` says, read once: settings, and the table ``serve``.

    Raises:
        ValueError: the file is no TOML, or names something that is no setting.
    """
    path = Path(FILE)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as why:
        raise ValueError(f"{FILE}: {why}") from None
    for name, value in given.items():
        if name == "serve" and isinstance(value, dict):
            wrong = sorted(value.keys() - _SERVE)
            if wrong:
                raise ValueError(f"{FILE}: serve has no {wrong[0]!r}; it has {', '.join(sorted(_SERVE))}")
        elif name not in _DEFAULTS:
            raise ValueError(f"{FILE}: {name!r} is no setting; there are {', '.join(_DEFAULTS)} and [serve]")
        else:
            try:
                _check(name, value)
            except (TypeError, ValueError) as why:
                raise ValueError(f"{FILE}: {str(why).removeprefix('Config: ')}") from None
    return given


_SERVE = {"tables", "host", "port", "token", "tls", "insecure", "console", "storage"}


def sources() -> dict[str, tuple[Any, str]]:
    """Each setting with its value and where it comes from."""

    def source(name: str) -> str:
        if _chosen.get({}).get(name) is not None:
            return "tf.Config"
        if f"TICKFRAME_{name.upper()}" in os.environ:
            return f"TICKFRAME_{name.upper()}"
        return FILE if name in file_settings() else "default"

    return {name: (setting(name), source(name)) for name in _DEFAULTS}


_BYTES = {"": 1, "b": 1}
_BYTES |= {f"{unit}b": 10 ** (3 * power) for power, unit in enumerate("kmgtp", 1)}
_BYTES |= {f"{unit}ib": 2 ** (10 * power) for power, unit in enumerate("kmgtp", 1)}


def memory_bytes(given: object) -> int:
    """A number of bytes: a whole number, or text such as ``"4GB"`` (10⁹ each) or ``"512MiB"`` (2²⁰ each).

    Raises:
        TypeError: neither a number nor a text.
        ValueError: no number of bytes above zero.
    """
    amount: int | float | None = None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]{0,3})\s*", given.lower())
        unit = _BYTES.get(found[2]) if found else None
        amount = float(found[1]) * unit if found and unit else None
    elif isinstance(given, int) and not isinstance(given, bool):
        amount = given
    else:
        raise TypeError(f'memory is a number of bytes or a text such as "4GB", not {type(given).__name__}')
    if amount is None or not 1 <= amount < 2**63:
        raise ValueError(
            f'memory is a number of bytes above zero, or a text such as "4GB" or "512MiB", not {given!r:.60}'
        )
    return int(amount)


def _limit_memory_by_environment() -> None:
    text = os.environ.get("TICKFRAME_MEMORY")
    if text is not None:
        try:
            _native.limit_memory(memory_bytes(text))
        except ValueError as why:
            raise ValueError(f"TICKFRAME_MEMORY: {why}") from None


_limit_memory_by_environment()


def _check(name: str, value: Any) -> None:
    """Refuses a value that is none for this setting."""
    default = _DEFAULTS[name]
    if value is None or name == "memory":
        return
    if default is None or isinstance(default, bool):
        if not isinstance(value, bool):
            raise TypeError(f"Config: {name} is True or False, not {value!r}")
        return
    wanted = (int, float) if isinstance(default, float) else int
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise TypeError(f"Config: {name} is a number, not {value!r}")
    least = {"rows": 1, "columns": 1, "width": 1, "cell": 2, "period": 0}.get(name)
    if least is not None and not value >= least:
        raise ValueError(f"Config: {name} must be {least} or more, not {value!r}")


class Config:
    """Settings for a ``with`` block.

    >>> import tickframe as tf
    >>> "memory" in tf.Config.NAMES
    True

    Args:
        rows: most rows shown by ``repr``.
        columns: most columns shown by ``repr``.
        width: characters of a line of ``repr``.
        cell: characters of a cell of ``repr``.
        period: seconds between the cycles of a graph made in the block.
        threads: threads for updates of a graph made in the block; -1 is all cores.
        init_threads: threads for initialisation of a graph made in the block; -1 is all cores.
        autostart: whether the default graph starts itself at its first live source.
        stateless_select: whether Python functions in new columns keep no state unless they say so; default False.
        stateless_filters: the same for filters; default False.
        serial_implicit_barriers: whether serial columns are barriers to each other; by default they are unless
            `stateless_select` is set.
        memory: bytes that tables of this process may hold, or text such as ``"4GB"``, ``"512MiB"``; what would take more
            raises `ResourceError`. It holds for all threads while the block lasts. By default four fifths of the
            memory of the machine, or of its control group if that has less.

    The settings of threads and order may also be called by their properties:

    >>> import tickframe as tf
    >>> config = tf.Config(**{"QueryTable.statelessSelectByDefault": True, "PeriodicUpdateGraph.updateThreads": 2})
    """

    NAMES: ClassVar[tuple[str, ...]] = tuple(_DEFAULTS)

    def __init__(self, **settings: Any) -> None:
        named = {_PROPERTIES.get(name, name): value for name, value in settings.items()}
        if len(named) < len(settings):
            raise TypeError("a setting is given twice: by its property and by its short name")
        settings = named
        unknown = [name for name in settings if name not in _DEFAULTS]
        if unknown:
            raise TypeError(f"no setting {unknown[0]!r}; the settings are {', '.join([*_DEFAULTS, *_PROPERTIES])}")
        for name, value in settings.items():
            _check(name, value)
        self._memory = None if settings.get("memory") is None else memory_bytes(settings["memory"])
        self._settings = settings
        self._tokens: list[Any] = []
        self._limits: list[int | None] = []

    def __enter__(self) -> Self:
        if self._memory is not None:
            self._limits.append(_native.limit_memory(self._memory))
        self._tokens.append(_chosen.set({**_chosen.get({}), **self._settings}))
        return self

    def __exit__(self, *_: object) -> None:
        _chosen.reset(self._tokens.pop())
        if self._memory is not None:
            _native.limit_memory(self._limits.pop())
