"""The exceptions: double bases, plain text, pickling."""

import builtins
import concurrent.futures
import inspect
import pickle

import pytest

import tickframe as tf
from tickframe import _native, errors

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
        (errors.StorageError, OSError),
        (errors.GapError, errors.CheckpointError),
    ],
)
def test_each_is_what_a_caller_may_already_catch(kind, builtin):
    assert issubclass(kind, builtin)


def test_a_panic_is_an_internal_error_wherever_it_happens():
    with pytest.raises(errors.InternalError) as raised:
        _native.panic_here("an index is off")
    assert type(raised.value) is errors.InternalError
    assert str(raised.value) == "internal error: an index is off; please report it"
    assert isinstance(raised.value, Exception), "a handler of errors sees it"


def test_a_panic_below_a_users_function_is_the_cause_of_its_error():
    t = tf.table({"x": [1, 2]})
    with pytest.raises(errors.UdfError) as raised:
        t.select(y=tf.udf(_native.panic_here, returns=int, scalar=True)(tf.lit("lost")))
    assert type(raised.value.__cause__) is errors.InternalError
    assert "lost" in str(raised.value.__cause__)
