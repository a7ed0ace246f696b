"""Row sets out of NumPy and Arrow arrays and into them, and what never makes an object a key."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tickframe as tf

TOP = 2**63 - 1
# Keys near to each other, far apart, and at the ends of the space.
key = st.one_of(st.integers(0, 200), st.integers(2**16 - 3, 2**16 + 3), st.integers(0, TOP), st.integers(TOP - 5, TOP))
keys = st.lists(key, max_size=60)
spans = st.lists(st.tuples(key, st.integers(0, 100_000)), max_size=20).map(
    lambda pairs: [(first, min(first + more, TOP)) for first, more in pairs]
)


@settings(max_examples=200, deadline=None)
@given(keys)
def test_arrays_in_and_out(listed):
    expected = sorted(set(listed))
    for array in [
        np.array(listed, dtype="int64"),
        np.array(listed, dtype="uint64"),
        pa.array(listed, pa.int64()),
        pa.array(listed, pa.uint64()),
        pa.chunked_array([listed[:7], listed[7:]], pa.int64()),
    ]:
        rows = tf.RowSet(array)
        rows.validate()
        assert list(rows) == expected
        assert rows.to_numpy().tolist() == expected
        out = pa.array(rows)
        assert (out.type, out.to_pylist()) == (pa.int64(), expected)
    assert tf.RowSet(np.array(listed, dtype=">i8")) == tf.RowSet(listed)
    assert tf.RowSet(np.array(listed, dtype="int64")[::-1]) == tf.RowSet(listed)


@settings(max_examples=200, deadline=None)
@given(spans, spans)
def test_ranges_are_maximal_and_hold_by_value(left, right):
    a, b = tf.RowSet(left), tf.RowSet(right)
    ranges = a.ranges()
    assert all(first <= last for first, last in ranges)
    assert all(last + 1 < first for (_, last), (first, _) in itertools.pairwise(ranges))
    assert a.size == sum(last - first + 1 for first, last in ranges)
    again = tf.RowSet(ranges)
    assert again == a
    assert hash(again) == hash(a)
    assert pickle.loads(pickle.dumps(a)) == a
    assert tf.RowSet.from_roaring(a.to_roaring()) == a
    # The laws, and the other operand in any form.
    assert (a | b) - b == a - b
    assert a & b == a - (a - b)
    assert a ^ b == (a | b) - (a & b)
    assert (right - a, right & a, right | a, right ^ a) == (b - a, b & a, b | a, b ^ a)
    assert (a == b) == (ranges == b.ranges())
    if a == b:
        assert hash(a) == hash(b)
    if len(ranges) <= 20:
        assert eval(repr(a), {"RowSet": tf.RowSet}) == a


@settings(max_examples=100, deadline=None)
@given(spans)
def test_iteration_is_lazy_and_ascends(listed):
    rows = tf.RowSet(listed)
    head = []
    for at, row in enumerate(rows):
        if at == 1500:
            break
        head.append(row)
    assert head == [rows.key_at(at) for at in range(min(1500, rows.size))]
    assert [rows.position_of(row) for row in head] == list(range(len(head)))


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_every_width(kind):
    assert list(tf.RowSet(np.array([3, 1, 100], dtype=kind))) == [1, 3, 100]
    assert list(tf.RowSet(pa.array([3, 1, 100], getattr(pa, kind)()))) == [1, 3, 100]
    assert list(tf.RowSet([np.array([3], dtype=kind), pa.array([5], getattr(pa, kind)()), 4])) == [3, 4, 5]


@pytest.mark.parametrize(
    "wrong",
    [
        pa.array([-1]),
        pa.array([1, None]),
        pa.array([2**63], pa.uint64()),
        np.array([2**63], dtype="uint64"),
        np.array([-5], dtype="int8"),
    ],
)
def test_arrays_of_what_is_no_key(wrong):
    with pytest.raises(ValueError, match="a row key is 0 … 2"):
        tf.RowSet(wrong)


@pytest.mark.parametrize("wrong", [pa.array([1.0]), pa.array(["a"]), pa.array([True]), np.array([True])])
def test_arrays_of_other_kinds(wrong):
    with pytest.raises(TypeError, match="integers"):
        tf.RowSet(wrong)


def test_no_object_a_key():
    array = np.arange(0, 3_000_000, 3, dtype="int64")
    rows = tf.RowSet(array)
    tracemalloc.start()
    assert tf.RowSet(array) == rows
    assert (tf.RowSet(pa.array(array)) & rows).size == len(array)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A million ints would be 28 MB; the bytes NumPy and Arrow hold are not Python objects.
    assert peak < 10_000_000


def test_ranges_with_a_step():
    for listed in [range(0, 100, 7), range(99, -1, -7), range(TOP - 10, TOP + 1, 5), range(5, 6, 9), range(0)]:
        assert list(tf.RowSet(listed)) == sorted(listed)
    with pytest.raises(ValueError, match="a row key"):
        tf.RowSet(range(-4, 10, 2))


def test_what_is_too_wide_says_so():
    whole = tf.RowSet([(0, TOP)])
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert len(pickle.dumps(whole)) < 200
    with pytest.raises(OverflowError, match="GiB"):
        whole.to_roaring()
    with pytest.raises(MemoryError, match="9223372036854775808 keys"):
        whole.to_numpy()
    with pytest.raises(MemoryError):
        pa.array(whole)
    assert repr(tf.RowSet(range(0, 100, 2))).endswith("38, …])")


def test_what_it_is_made_of():
    facts = tf.RowSet([(0, 2**20 - 1), (2**30, 2**30 + 5)]).statistics()
    assert (facts["keys"], facts["spans"]) == (2**20 + 6, 2)
    half = tf.RowSet(np.flatnonzero(np.random.default_rng(1).random(2**18) < 0.5))
    facts = half.statistics()
    assert facts["bitmaps"] == 4
    assert facts["bytes"] < half.size
