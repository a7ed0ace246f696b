"""Which calls of Deephaven's client tests make: by owner, with the kinds of values that each parameter had.

Only calls from outside of the client count, and only once they have come to something: what makes a part of a request (an
aggregation, a filter, an operation of a query) counts when a call that was given it has come back from the server.
"""

import enum
import functools
import inspect
import sys

import pydeephaven as dh
from pydeephaven import agg, filters, updateby
from pydeephaven.experimental import plugin_client
from pydeephaven.table import InputTable, MultiJoinInput, MultiJoinTable
from pydeephaven.ticket import ServerObject, SharedTicket

#: What a client's own machinery is made of.
INNER = {
    "table_op_handler", "make_grpc_message", "wrap_rpc", "wrap_bidi_rpc", "make_export_ticket", "next_export_ticket_number",
    "grpc_metadata", "update_metadata", "table_service", "session_service", "console_service", "flight_service",
    "app_service", "config_service", "input_table_service", "plugin_object_service",
}  # fmt: skip

#: Base classes first: what another class inherits is theirs.
CLASSES = [
    ServerObject, dh.Session, dh.Table, dh.Query, InputTable, MultiJoinTable, plugin_client.PluginClient,
    plugin_client.Fetchable, plugin_client.PluginRequestStream, plugin_client.PluginResponseStream, SharedTicket,
]  # fmt: skip
#: Classes that applications make by their names.
MADE = [dh.Session, MultiJoinInput, updateby.OperationControl, ServerObject]
MODULES = [agg, updateby, filters]
#: Choices that annotations have as texts.
CHOICES = {each.__name__: each for each in (dh.NaturalJoinType, dh.SortDirection)}

#: The signature of each call that there is, by the name that documents have for it.
KNOWN: dict[str, inspect.Signature | None] = {}
#: The calls that were tried, and those that have come to something, with the kinds that their parameters had.
TRIED: dict[str, dict[str, set[str]]] = {}
CALLED: dict[str, dict[str, set[str]]] = {}
CHOICE = (bool, enum.Enum)


def short(owner):
    return owner.__name__.rsplit(".", 1)[-1]


def kinds(value):
    """The words that annotations have for a value of this kind."""
    if isinstance(value, enum.Enum):
        return {f"{type(value).__name__}.{value.name}"}
    if isinstance(value, (list, tuple)):
        return {"list", *(f"list[{word}]" for each in value for word in kinds(each))}
    words = {each.__name__ for each in type(value).__mro__}
    if isinstance(value, bool):
        return words - {"int"} | {str(value)}
    if words & {"date", "datetime64"}:
        words.add("DatetimeLike")
    return words


def expected(annotation):
    """The kinds of values that an annotation promises; a flag has both its values, a choice all of them."""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return members(annotation)
    if annotation in {bool, "bool", "Optional[bool]"}:
        return {"True", "False"}
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return words_of(text) - {"Any", "NoneType", "_empty"}


def members(choice):
    return {f"{choice.__name__}.{each.name}" for each in choice}


def words_of(text):
    head, _, rest = text.strip().partition("[")
    head = head.rsplit(".", 1)[-1]
    if not rest:
        return members(CHOICES[head]) if head in CHOICES else {head}
    inner = [word for part in split(rest.removesuffix("]")) for word in words_of(part)]
    if head in {"Union", "Optional"}:
        return set(inner)
    if head == "dict" or any("list" in word for word in inner):
        return {head}
    return {f"list[{word}]" for word in inner}


def split(text):
    """The parts between the commas that stand in no bracket."""
    found, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return found


def parts(value):
    """The calls that made what this value is made of."""
    if isinstance(value, (list, tuple)):
        return [call for each in value for call in parts(each)]
    return getattr(value, "_made_by", [])


def count(calls, into):
    for name, given in calls:
        seen = into.setdefault(name, {})
        for parameter, found in given.items():
            seen.setdefault(parameter, set()).update(found)


def from_outside():
    return not sys._getframe(2).f_globals.get("__name__", "").startswith("pydeephaven")


def recorded(name, function, *, is_part=False):
    """The function, whose calls are counted; `is_part`: with what is made of its result, and not by themselves."""
    signature = inspect.signature(function)
    KNOWN[name] = signature

    @functools.wraps(function)
    def wrapper(*args, **options):
        if not from_outside():
            return function(*args, **options)
        bound = signature.bind(*args, **options)
        within = [call for value in bound.arguments.values() for call in parts(value)]
        said = set(bound.arguments)
        bound.apply_defaults()
        # What a call leaves out has its default, which says something of a choice alone.
        given = {of: kinds(value) for of, value in bound.arguments.items() if of in said or isinstance(value, CHOICE)}
        call = (name, given)
        count([call], TRIED)
        result = function(*args, **options)
        if is_part:
            made = args[0] if result is None else result
            made._made_by = [*within, call]
        else:
            count([*within, call], CALLED)
        return result

    return wrapper


def looked_at(name, getter):
    """The getter of a property, counted."""
    KNOWN[name] = None

    @functools.wraps(getter)
    def wrapper(self):
        if from_outside():
            count([(name, {})], CALLED)
        return getter(self)

    return wrapper


def inherited(owner, name):
    """Whether another of the classes has this very attribute."""
    return any(base in CLASSES and hasattr(base, name) for base in owner.__mro__[1:]) and name not in vars(owner)


def watch_classes():
    for owner in CLASSES:
        for name in sorted(set(dir(owner)) - INNER):
            if name.startswith("_") or inherited(owner, name):
                continue
            plain, full = inspect.getattr_static(owner, name), f"{short(owner)}.{name}"
            if isinstance(plain, property):
                setattr(owner, name, property(looked_at(full, plain.fget)))
            elif isinstance(plain, (staticmethod, classmethod)):
                setattr(owner, name, staticmethod(recorded(full, getattr(owner, name))))
            elif callable(plain):
                setattr(owner, name, recorded(full, plain, is_part=owner is dh.Query and name != "exec"))
    for owner in MADE:
        owner.__init__ = recorded(short(owner), owner.__init__, is_part=owner is not dh.Session)


def watch_modules():
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                setattr(module, name, recorded(f"{short(module)}.{name}", function, is_part=True))
    dh.table.multi_join = recorded("multi_join", dh.table.multi_join)


watch_classes()
watch_modules()
