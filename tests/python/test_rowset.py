"""Row sets as Python values, against Python's own sets."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tickframe as tf

keys = st.sets(st.integers(0, 300), max_size=80)
TOP = 2**63 - 1


@settings(max_examples=100, deadline=None)
@given(keys, keys)
def test_algebra_is_that_of_sets(left, right):
    a, b = tf.RowSet(left), tf.RowSet(right)
    for mine, theirs in [(a | b, left | right), (a & b, left & right), (a - b, left - right), (a ^ b, left ^ right)]:
        assert list(mine) == sorted(theirs)
        assert len(mine) == len(theirs)
        mine.validate()
    assert a.contains(b) == (right <= left)
    assert (a == b) == (left == right)
    assert all(a.key_at(a.position_of(key)) == key for key in left)


def test_what_a_row_set_is_made_of():
    expected = [0, 1, 2, 7, 9]
    for form in [expected, [(0, 2), 7, 9], [range(3), (7, 7), 9], np.array(expected), tf.RowSet(expected)]:
        assert list(tf.RowSet(form)) == expected
    assert list(tf.RowSet(range(4))) == [0, 1, 2, 3]
    assert list(tf.RowSet(range(9, 0, -3))) == [3, 6, 9]
    assert list(tf.RowSet(np.array([3, 1, 3]))) == [1, 3]
    assert list(tf.RowSet()) == list(tf.RowSet([])) == list(tf.RowSet(np.array([]))) == []
    assert tf.RowSet([np.int64(4)]).ranges() == [(4, 4)]


@pytest.mark.parametrize("wrong", [[-1], [2**63], [(5, 4)], np.array([-1])])
def test_keys_outside_the_space_are_refused(wrong):
    with pytest.raises(ValueError, match=r"row key|ends before"):
        tf.RowSet(wrong)


@pytest.mark.parametrize("wrong", [["a"], [1.5], [True], [(1, 2, 3)], np.array([1.5])])
def test_what_is_no_key_is_refused(wrong):
    with pytest.raises(TypeError):
        tf.RowSet(wrong)


def test_positions_and_the_end_of_the_space():
    rows = tf.RowSet([(10, 19), TOP])
    assert rows.key_at(-1) == TOP
    assert rows.key_at(0) == 10
    assert rows.position_of(19) == 9
    assert rows.position_of(20) is None
    assert TOP in rows
    with pytest.raises(IndexError, match="position 11"):
        rows.key_at(11)
    whole = tf.RowSet([(0, TOP)])
    assert whole.size == 2**63
    with pytest.raises(OverflowError):
        len(whole)
    assert next(iter(whole)) == 0


def test_numpy_pickle_hash_roaring():
    rows = tf.RowSet([(0, 5), 70_000, (2**40, 2**40 + 3)])
    array = rows.to_numpy()
    assert array.dtype == np.int64
    assert tf.RowSet(array) == rows
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert hash(tf.RowSet(list(rows))) == hash(rows)
    assert tf.RowSet.from_roaring(rows.to_roaring()) == rows
    assert rows.statistics()["bytes"] >= 0
    assert repr(tf.RowSet([1, (3, 4)])) == "RowSet([1, (3, 4)])"


@pytest.mark.parametrize("wrong", [b"", b"nonsense", b"\xff" * 40])
def test_bytes_that_are_no_roaring_are_a_data_error(wrong):
    with pytest.raises(tf.errors.DataError, match=r"RowSet\.from_roaring"):
        tf.RowSet.from_roaring(wrong)
