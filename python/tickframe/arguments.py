"""What callers give, looked at before it goes to the engine: its own words name the method, the parameter and the remedy.

`checked` reads a function's own annotations, so a parameter is looked at as what its signature says it is: a flag, a
name or text, a whole number, one of a few words, a graph or an expression.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import re
import types
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from tickframe.describe import named, short

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "callable_with",
    "check_all",
    "checked",
    "choice",
    "count",
    "encodable",
    "flag",
    "instance",
    "rows",
    "text",
    "whole",
]

_F = TypeVar("_F", bound="Callable[..., Any]")
_T = TypeVar("_T")

_MOST_WHOLE = 2**63 - 1
_MOST_ROWS = 1 << 27
_LONGEST_CHOICE = 60

PrecisionLoss: TypeAlias = Literal["error", "truncate"]
OnError: TypeAlias = Literal["fail", "null", "drop"]

ON_ERROR = ("fail", "null", "drop")
"""What `on_error` may be."""
_CHOICES = {
    "OnError": ON_ERROR,
    "PrecisionLoss": ("error", "truncate"),
    "WhenFull": ("error", "wait"),
    "WhenManyHeld": ("evict", "error"),
}


def flag(value: object, operation: str, parameter: str) -> None:
    """Refuse what is neither True nor False."""
    if isinstance(value, bool) or (type(value).__name__ in {"bool", "bool_"} and type(value).__module__ == "numpy"):
        return
    raise TypeError(f"{operation}: {parameter} is True or False, not {named(value)}")


def text(value: object, operation: str, parameter: str) -> None:
    """Refuse what is no text, or none that can be written as UTF-8."""
    if not isinstance(value, str):
        raise TypeError(f"{operation}: {parameter} is a str, not {named(value)}")
    encodable(value, operation)


def encodable(value: str, operation: str) -> None:
    """Refuse a text with half a character: a surrogate without its other half, which UTF-8 cannot write."""
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as why:
        raise ValueError(
            f"{operation}: the text {value[why.start : why.start + 8]!a} has half a character (a lone surrogate), which "
            "UTF-8 cannot write; read it anew with the right encoding, or value.encode(errors='replace').decode()"
        ) from None


def whole(value: object, operation: str, parameter: str) -> None:
    """Refuse what is no whole number of 64 bits."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{operation}: {parameter} must be an int, not {type(value).__name__}; give a whole number")
    number: int = value.__index__()  # type: ignore[attr-defined]
    if number > _MOST_WHOLE:
        raise ValueError(f"{operation}: {parameter} must be at most {_MOST_WHOLE}, not {short(number)}")
    if number < -_MOST_WHOLE - 1:
        raise ValueError(f"{operation}: {parameter} must be at least {-_MOST_WHOLE - 1}, not {short(number)}")


def count(n: int, what: str) -> int:
    """A count of rows as an int, or an error that says what it is."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"{what} must be an int, not {type(n).__name__}")
    number = n.__index__()
    if number < 0:
        raise ValueError(f"{what} must be 0 or more, not {number}")
    if number > _MOST_WHOLE:
        raise ValueError(f"{what} must be at most {_MOST_WHOLE}, not {number}")
    return number


def choice(value: object, operation: str, parameter: str, options: tuple[str, ...]) -> None:
    """Refuse what is no text; a short text that is none of the options is refused by who knows them."""
    if isinstance(value, str) and (value in options or (len(value) <= _LONGEST_CHOICE and value.isascii())):
        return
    first = ", ".join(f'"{each}"' for each in options[:-1])
    raise (ValueError if isinstance(value, str) else TypeError)(
        f'{operation}: {parameter} must be {first} or "{options[-1]}", not {short(value)}'
    )


def instance(value: object, operation: str, parameter: str, kind: str, remedy: str) -> None:
    """Refuse what is not of the package's own class of this name."""
    if not any(base.__name__ == kind and base.__module__.startswith("tickframe") for base in type(value).__mro__):
        raise TypeError(f"{operation}: {parameter} is {remedy}, not {named(value)}")


def rows(value: object, operation: str) -> None:
    """Refuse a range of more values than are ever held at once, before it is walked."""
    if isinstance(value, range) and value[:_MOST_ROWS] != value:
        raise ValueError(f"{operation}: {value!r} has more than {_MOST_ROWS} values; give fewer at a time")


def _check_of(annotation: str) -> tuple[Callable[..., None], tuple[Any, ...]] | None:
    """How a parameter of this annotation is looked at."""
    if annotation in {"bool", "np.bool_"}:
        return flag, ()
    if annotation in {"str", "Text"}:
        return text, ()
    if annotation == "int":
        return whole, ()
    if annotation == "Graph":
        return instance, ("Graph", "a tf.Graph")
    if annotation == "Expr":
        return instance, ("Expr", "an expression such as tf.col(...)")
    if annotation in _CHOICES:
        return choice, (_CHOICES[annotation],)
    if found := re.fullmatch(r"Literal(\[.*\])", annotation, re.DOTALL):
        options = ast.literal_eval(found.group(1))
        return (choice, (tuple(options),)) if len(options) > 1 else None
    return None


def _checks(function: types.FunctionType) -> list[tuple[int, str, bool, Callable[..., None], tuple[Any, ...]]]:
    code = function.__code__
    positions = code.co_argcount
    found = []
    for place, name in enumerate(code.co_varnames[: positions + code.co_kwonlyargcount]):
        annotation = str(function.__annotations__.get(name, ""))
        bare = annotation.removesuffix(" | None")
        check = _check_of(bare)
        if check is not None:
            at = place if place < positions else _MOST_WHOLE
            found.append((at, name, bare != annotation, *check))
    return found


def _refuse_unknown_parameter(function: types.FunctionType, given: dict[str, Any]) -> None:
    """Refuse a keyword that the function has not, with the one that was meant."""
    code = function.__code__
    known = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name != "self"]
    unknown = next((name for name in given if name not in known), None)
    if unknown is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return
    near = difflib.get_close_matches(unknown, known, 1, 0.6) if len(unknown) <= _LONGEST_CHOICE else []
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise TypeError(f"{function.__name__}: there is no parameter {short(unknown)}; {hint}") from None


def checked(function: _F) -> _F:
    """The function, whose arguments are looked at as its annotations say before it is called.

    A function that looks at its caller's frame is left as it is: it looks at its arguments itself.
    """
    plain: Any = function
    if not isinstance(plain, types.FunctionType) or "_getframe" in plain.__code__.co_names:
        return function
    checks = _checks(plain)
    if not checks and not plain.__defaults__ and not plain.__kwdefaults__:
        return function
    operation, size = plain.__name__, len
    refuse_unknown = functools.partial(_refuse_unknown_parameter, plain)

    def call(*args: Any, **given: Any) -> Any:
        for place, name, optional, check, more in checks:
            if place < size(args):
                value = args[place]
            elif name in given:
                value = given[name]
            else:
                continue
            if value is not None or not optional:
                check(value, operation, name, *more)
        try:
            return plain(*args, **given)
        except TypeError:
            refuse_unknown(given)
            raise

    # It stands in the function's own module, where its examples are looked for.
    inner = types.FunctionType(call.__code__, plain.__globals__, plain.__name__, None, call.__closure__)
    made: Any = functools.update_wrapper(inner, plain)
    plain.__qualname__ = operation
    return made  # type: ignore[no-any-return]


def check_all(kind: type[_T]) -> type[_T]:
    """The class, each public method of which is `checked`."""
    for name, member in list(vars(kind).items()):
        if not name.startswith("_") and isinstance(member, types.FunctionType):
            setattr(kind, name, checked(member))
            # Python's own words of a missing argument name the method, not the class in which it is written.
            member.__qualname__ = name
    return kind


def callable_with(operation: str, fn: object, name: str, takes: str, count: int = 1) -> None:
    """Refuses what cannot be called with so many arguments; `takes` says what they are."""
    if not callable(fn):
        raise TypeError(f"{operation}: {name} must be a function of {takes}, not {named(fn)}")
    try:
        signature = inspect.signature(fn)
    except Exception:  # noqa: BLE001 - it does not say what it takes, or cannot be asked
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        takes_now = "" if isinstance(fn, type) else str(signature)
        raise TypeError(f"{operation}: {name} is called with {takes}, but is {named(fn)}{takes_now}") from None
