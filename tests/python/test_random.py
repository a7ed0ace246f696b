"""Random numbers: drawn when a row is computed, kept, and drawn again when what they stand beside changes."""

import pytest

import tickframe as tf
from tickframe import col


@pytest.fixture
def t():
    t = tf.keyed_table({"id": int, "x": int}, key="id", graph=tf.Graph())
    t.upsert({"id": list(range(1000)), "x": [1] * 1000})
    t.graph.step()
    return t


def test_what_was_drawn_is_kept_until_its_row_is_computed_again(t):
    made = t.with_columns(free=tf.random_float(), beside=col("x") + tf.random_float())
    before = made.to_dict()
    assert len(set(before["free"])) == 1000
    assert made.to_dict() == before
    t.upsert({"id": [3], "x": [2]})
    t.graph.step()
    after = made.to_dict()
    assert after["free"] == before["free"]
    assert [at for at in range(1000) if after["beside"][at] != before["beside"][at]] == [3]


def test_bounds_types_and_shares(t):
    made = t.update(
        "u = random()",
        "d = randomDouble(5, 6.5)",
        "n = randomInt(1, 7)",
        "l = randomLong(-3, 3)",
        "b = randomBool()",
        "g = randomGaussian(10, 2)",
        "f = randomFloat(0, 1)",
    )
    assert made.dtypes[2:] == [tf.Float64, tf.Float64, tf.Int32, tf.Int64, tf.Boolean, tf.Float64, tf.Float32]
    cells = made.to_dict()
    assert all(0 <= u < 1 for u in cells["u"])
    assert 0.45 < sum(cells["u"]) / 1000 < 0.55
    assert all(5 <= d < 6.5 for d in cells["d"])
    assert set(cells["n"]) == {1, 2, 3, 4, 5, 6}
    assert set(cells["l"]) == {-3, -2, -1, 0, 1, 2}
    assert 400 < sum(cells["b"]) < 600
    assert 9.6 < sum(cells["g"]) / 1000 < 10.4
    assert 3 < sum((g - 10) ** 2 for g in cells["g"]) / 1000 < 5


def test_seeds_repeat_and_each_call_draws_its_own(t):
    seed = 7  # noqa: F841 - a formula reads it
    one = t.update("a = random(seed=7)", "b = randomInt(0, 100, seed=seed)").to_dict()
    assert t.update("a = random(seed=7)", "b = randomInt(0, 100, seed=seed)").to_dict() == one
    assert t.update("a = random(seed=8)").to_dict()["a"] != one["a"]
    assert t.update("a = random()").to_dict()["a"] != t.update("a = random()").to_dict()["a"]
    assert set(t.update("d = random(seed=1) - random(seed=1)").to_dict()["d"]) != {0.0}
    assert t.select(a=tf.random_float(seed=7)).to_dict()["a"] == one["a"]


def test_a_filter_draws_once_for_each_row(t):
    kept = t.where("random() < 0.5")
    before = kept.to_dict()["id"]
    assert 400 < len(before) < 600
    t.upsert({"id": [3], "x": [2]})
    t.graph.step()
    assert kept.to_dict()["id"] == before


def test_it_reads_back():
    made = tf.random_int(1, col("x"), seed=3)
    assert repr(made) == 'random_int(1, col("x"), seed=3)'
    assert eval(repr(made), vars(tf)).meta_eq(made)
    assert repr(tf.formula("random() * 2")) == "(random_float(0.0, 1.0) * 2)"


def test_what_is_refused_says_why(t):
    with pytest.raises(tf.errors.InvalidOperationError, match="two reads would differ: use update or with_columns"):
        t.update_view("r = random()")
    with pytest.raises(tf.errors.InvalidOperationError, match="two reads would differ"):
        t.view(tf.random_bool().alias("r"))
    with pytest.raises(tf.errors.InvalidOperationError, match="use update"):
        t.lazy_update("r = random()")
    with pytest.raises(tf.errors.InvalidOperationError, match="make a column of it first"):
        t.with_columns(r=tf.random_float().shift())
    with pytest.raises(tf.errors.FormulaError, match="random takes no bounds and maybe seed"):
        t.update("r = random(1)")
    with pytest.raises(tf.errors.FormulaError, match="seed is a whole number, the same for all rows"):
        t.update("r = random(seed=x)")
    with pytest.raises(tf.errors.FormulaError, match="randomInt has no argument sed; it has seed"):
        t.update("r = randomInt(1, 2, sed=1)")
    with pytest.raises(tf.errors.TypeMismatchError, match="its bounds are numbers"):
        t.with_columns(r=tf.random_int(tf.lit("a"), 3))
    with pytest.raises(tf.errors.DataError, match="no whole number from 3 to before 3"):
        t.with_columns(r=tf.random_int(3, 3))
