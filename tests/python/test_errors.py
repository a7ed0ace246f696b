"""The exceptions: double bases, plain text, pickling."""

import builtins
import concurrent.futures
import inspect
import pickle

import pytest

from tickframe import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_is_a_tickframe_error_with_a_doc(kind):
    assert issubclass(kind, errors.TickframeError)
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_pickles_with_its_facts_and_says_its_text_plainly(kind):
    raised = kind("operation: column 'x'", step=7)
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is kind
    assert str(again) == str(raised) == "operation: column 'x'"
    assert again.step == 7


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.ColumnNotFoundError, KeyError),
        (errors.TypeMismatchError, TypeError),
        (errors.FormulaError, ValueError),
        (errors.InvalidOperationError, RuntimeError),
        (errors.DataError, ValueError),
        (errors.MatchError, errors.DataError),
        (errors.DuplicateError, errors.SchemaError),
        (errors.UdfError, RuntimeError),
        (errors.TableFailedError, RuntimeError),
        (errors.ResourceError, MemoryError),
        (errors.NotFoundError, KeyError),
        (errors.TransportError, ConnectionError),
        (errors.AuthError, PermissionError),
        (errors.PermissionDeniedError, PermissionError),
        (errors.TimeoutError, builtins.TimeoutError),
        (errors.CancelledError, concurrent.futures.CancelledError),
        (errors.CheckpointError, RuntimeError),
        (errors.GapError, errors.CheckpointError),
    ],
)
def test_each_is_what_a_caller_may_already_catch(kind, builtin):
    assert issubclass(kind, builtin)
