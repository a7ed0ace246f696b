"""Following several tables at once, the steps of a graph, the next change alone; scopes; waits for several calls."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time

import pytest

import tickframe as tf

SECONDS = 60.0


def spin(until, seconds=SECONDS):
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0)


# One listener of several tables ---------------------------------------------------------------------------------


def two(g):
    return tf.append_table({"x": int}, graph=g), tf.keyed_table({"x": int, "y": int}, "x", graph=g)


def test_a_merged_listener_is_called_once_a_step_with_all_updates_of_it(g):
    a, b = two(g)
    c = a.filter(tf.col("x") > 5)
    heard = []
    tf.merged_listen([a, b, c], lambda updates: heard.append([(u.step, len(u.added)) if u else None for u in updates]))
    a.append({"x": [1, 9]})
    b.upsert({"x": 1, "y": 1})
    g.step()
    b.upsert({"x": 1, "y": 1})  # changes nothing
    g.step()
    a.append({"x": 2})
    g.step()
    b.upsert({"x": 2, "y": 1})
    g.step()
    assert heard == [[(1, 2), (1, 1), (1, 1)], [(3, 1), None, None], [None, (4, 1), None]]


def test_a_merged_listener_may_begin_with_what_is_there(g):
    a, b = two(g)
    a.append({"x": [1, 2]})
    g.step()
    heard = []
    tf.merged_listen(
        [a, b], lambda updates: heard.append([u and u.added_rows().to_dicts() for u in updates]), initial=True
    )
    assert heard == [[[{"x": 1}, {"x": 2}], []]]
    a.append({"x": 3})
    g.step()
    assert heard[1:] == [[[{"x": 3}], None]]


def test_a_merged_listener_sees_each_row_once_while_the_graph_runs(running):
    a, b = tf.append_table({"x": int}, graph=running), tf.append_table({"x": int}, graph=running)
    stop = threading.Event()

    def feed():
        x = 0
        while not stop.is_set():
            with running.transaction():
                a.append({"x": x})
                b.append({"x": x})
            x += 1

    feeder = threading.Thread(target=feed)
    feeder.start()
    spin(lambda: len(a) > 10)
    seen, torn = {"a": [], "b": []}, []

    def hears(updates):
        one, other = updates
        if (one is None) != (other is None) or (one and one.added != other.added):
            torn.append(updates)
        for name, update in zip("ab", updates, strict=True):
            if update:
                seen[name] += update.added_rows().to_dict()["x"]

    subscription = tf.merged_listen([a, b], hears, initial=True)
    spin(lambda: len(seen["a"]) > 500)
    stop.set()
    feeder.join()
    running.stop()
    running.step()
    assert seen["a"] == list(range(len(a)))
    assert seen["b"] == list(range(len(b)))
    assert torn == []
    subscription.cancel()


def test_a_merged_listener_that_raises_is_detached_after_three_times(g, caplog):
    a, b = two(g)
    told = []

    def bad(updates):
        raise ValueError("no")

    silent = tf.merged_listen([a, b], bad)
    loud = tf.merged_listen([a, b], bad, on_error=told.append)
    with caplog.at_level(logging.ERROR, "tickframe"):
        for x in range(5):
            a.append({"x": x})
            g.step()
    assert len(told) == 3
    assert (silent.is_active, loud.is_active) == (False, False)
    assert "of 2 tables raised ValueError: no (the third time) and was detached" in caplog.text
    assert g.counters()["listeners"] == 0


def test_a_merged_listener_ends_with_the_first_table_that_fails_or_the_last_that_is_closed(g):
    a, b = two(g)
    told, heard = [], []
    failing = tf.merged_listen([a, b], heard.append, on_error=told.append)
    b.fail(ValueError("no"))
    a.append({"x": 1})
    g.step()
    assert [type(error) for error in told] == [tf.errors.TableFailedError]
    assert not failing.is_active
    c, d = tf.append_table({"x": int}, graph=g), tf.append_table({"x": int}, graph=g)
    closing = tf.merged_listen([c, d], heard.append)
    c.append({"x": 1})
    c.close()
    g.step()
    assert closing.is_active
    d.close()
    g.step()
    g.step()
    assert not closing.is_active
    assert g.counters()["listeners"] == 0


def test_a_merged_listener_lives_with_its_tables(g):
    a, b = two(g)
    heard = []
    tf.merged_listen([a, b], heard.append)
    gc.collect()
    a.append({"x": 1})
    g.step()
    assert len(heard) == 1
    with tf.merged_listen([a], heard.append) as held:
        assert held.is_active
    del a, b
    gc.collect()
    g.step()
    assert g.counters()["listeners"] == 0


def test_what_merged_listen_refuses(g):
    a, b = two(g)
    static, other = tf.table({"x": [1]}), tf.append_table({"x": int}, graph=tf.Graph())
    with pytest.raises(tf.errors.InvalidOperationError, match="merged_listen: table 1 is static; it will never change"):
        tf.merged_listen([a, static], print)
    with pytest.raises(
        tf.errors.InvalidOperationError, match="merged_listen: table 2 lives in another graph than table 0"
    ):
        tf.merged_listen([a, b, other], print)
    with pytest.raises(ValueError, match="merged_listen: there are no tables to listen to"):
        tf.merged_listen([], print)
    with pytest.raises(TypeError, match=r"give a list of tables, merged_listen\(\[a, b\], fn\)"):
        tf.merged_listen(a, print)
    with pytest.raises(TypeError, match="each of the tables is a table, not an int"):
        tf.merged_listen([1], print)
    with pytest.raises(TypeError, match="merged_listen: fn must be a function of a list of updates, not an int"):
        tf.merged_listen([a], 3)
    with pytest.raises(TypeError, match="merged_listen: on_error is called with one exception, but is"):
        tf.merged_listen([a], print, on_error=lambda: None)


# Steps, the next update, the rows before ------------------------------------------------------------------------


def test_after_step_is_called_behind_the_listeners_of_the_step(g, t):
    order = []
    g.after_step(lambda step: order.append(("step", step)))
    t.subscribe(lambda update: order.append(("update", update.step)))
    t.append({"x": 1})
    g.step()
    g.step()
    assert order == [("update", 1), ("step", 1), ("step", 2)]


def test_after_step_obeys_the_rules_of_listeners(g, t, caplog):
    told = []

    def bad(step):
        raise ValueError(step)

    with caplog.at_level(logging.ERROR, "tickframe"):
        one, other = g.after_step(bad), g.after_step(bad, on_error=told.append)
        for _ in range(4):
            g.step()
    assert (one.is_active, other.is_active, len(told)) == (False, False, 3)
    assert "of steps raised ValueError: 3 (the third time) and was detached" in caplog.text
    heard = []

    def waits(step):
        for refused in (g.step, lambda: t.append({"x": 1}).wait(1)):
            try:
                refused()
            except tf.errors.InvalidOperationError as error:
                heard.append(str(error))

    with g.after_step(waits):
        g.step()
    assert len(heard) == 2
    assert all("listener" in text for text in heard)
    with pytest.raises(TypeError, match="after_step: fn must be a function of the number of a step, not an int"):
        g.after_step(1)
    assert g.counters()["listeners"] == 0


def test_a_late_listener_of_steps_hears_of_the_newest(running):
    begun, go, heard = threading.Event(), threading.Event(), []

    def late(step):
        begun.set()
        go.wait(SECONDS)
        heard.append(step)

    t = tf.append_table({"x": int}, graph=running)
    with running.after_step(late):
        t.append({"x": 0}).wait(SECONDS)
        begun.wait(SECONDS)
        for x in range(1500):
            t.append({"x": x}).wait(SECONDS)
        last = running.settled
        go.set()
        spin(lambda: heard and heard[-1] >= last)
    assert heard == sorted(set(heard))
    assert len(heard) < 1200


def test_next_gives_the_next_update(g, t):
    async def main():
        coming = [asyncio.ensure_future(t.next()), asyncio.ensure_future(t.filter(tf.col("x") > 1).next(SECONDS))]
        await asyncio.sleep(0)
        t.append({"x": [1, 2]})
        await asyncio.to_thread(g.step)
        return [update.added_rows().to_dict() for update in await asyncio.gather(*coming)]

    assert asyncio.run(main()) == [{"x": [1, 2]}, {"x": [2]}]
    assert g.counters()["listeners"] == 0


def test_next_says_why_nothing_comes(g, t):
    async def fails(table, error, says, **given):
        with pytest.raises(error, match=says):
            await table.next(**given)

    asyncio.run(fails(t, tf.errors.TimeoutError, "next: the table did not change within 0.01 s", timeout=0.01))
    asyncio.run(fails(tf.table({"x": [1]}), tf.errors.InvalidOperationError, "next: the table is static"))
    with g.frozen():
        asyncio.run(fails(t, tf.errors.InvalidOperationError, "frozen"))
    t.close()
    g.step()
    asyncio.run(fails(t, tf.errors.InvalidOperationError, "next: the table was closed", timeout=SECONDS))
    failed = tf.append_table({"x": int}, graph=g)

    async def comes():
        coming = asyncio.ensure_future(failed.next())
        await asyncio.sleep(0)
        failed.fail(ValueError("no"))
        await asyncio.to_thread(g.step)
        with pytest.raises(tf.errors.TableFailedError):
            await coming

    asyncio.run(comes())
    assert g.counters()["listeners"] == 0


def test_rows_before_are_those_before_the_step(g):
    t = tf.input_table({"x": int}, graph=g)
    heard, kept = [], []
    t.subscribe(lambda update: heard.append(update.rows_before), rows_before=True)
    t.subscribe(kept.append, rows_before=True)
    refused = []

    def without(update):
        try:
            _ = update.rows_before
        except tf.errors.InvalidOperationError as error:
            refused.append(str(error))

    t.subscribe(without)
    t.apply(added=([0, 1, 5], {"x": [1, 2, 3]}))
    g.step()
    t.apply(removed=[0], shifted=[(5, 5, 3)], modified={1: {"x": 7}})
    g.step()
    t.apply(added={0: {"x": 1}})
    g.step()
    want = [tf.RowSet([]), tf.RowSet([0, 1, 5]), tf.RowSet([1, 8])]
    assert heard == want
    assert [update.rows_before for update in kept] == want
    assert len(refused) == 3
    assert "subscribe(fn, rows_before=True)" in refused[0]


def test_a_late_listener_has_the_rows_before_the_first_of_merged_updates(running):
    t = tf.append_table({"x": int}, graph=running)
    begun, go, heard = threading.Event(), threading.Event(), []

    def late(update):
        begun.set()
        go.wait(SECONDS)
        heard.append((len(update.rows_before), len(update.added)))

    with t.subscribe(late, rows_before=True):
        for x in range(1500):
            t.append({"x": x}).wait(SECONDS)
        go.set()
        spin(lambda: sum(added for _, added in heard) == 1500)
    have = 0
    for before, added in heard:
        assert before == have
        have += added


def test_listen_is_subscribe(g, t):
    heard = []
    with t.listen(lambda update: heard.append(update.step)), tf.listen(t, lambda update: heard.append(-update.step)):
        t.append({"x": 1})
        g.step()
    assert sorted(heard) == [-1, 1]
    with pytest.raises(tf.errors.InvalidOperationError, match="listen: the table is static"):
        tf.listen(tf.table({"x": [1]}), print)
    with pytest.raises(TypeError, match="listen: t is a table, not an int"):
        tf.listen(1, print)


# Waits for several calls ----------------------------------------------------------------------------------------


def test_a_graph_waits_for_the_calls_of_several_tables(running, g, t):
    a, b = tf.append_table({"x": int}, graph=running), tf.append_table({"x": int}, graph=running)
    step = running.wait(a.append({"x": 1}), b.append({"x": 2}), timeout=SECONDS)
    assert (len(a), len(b), running.settled >= step) == (1, 1, True)
    with pytest.raises(tf.errors.InvalidOperationError, match="a token is of a table in another graph"):
        running.wait(t.append({"x": 1}))
    with pytest.raises(tf.errors.TimeoutError):
        g.wait(t.append({"x": 1}), timeout=0.01)
    with pytest.raises(TypeError, match="wait: give the tokens of calls"):
        g.wait()
    with pytest.raises(TypeError, match="wait: each of the tokens is what append"):
        g.wait(3)


# Scopes ---------------------------------------------------------------------------------------------------------


def test_what_a_scope_makes_is_let_go_at_its_end(g, t):
    before = {name: g.counters()[name] for name in ("nodes", "listeners")}
    heard = []
    with tf.scope() as block:
        big = t.filter(tf.col("x") > 1)
        total = big.agg_by(tf.agg.sum_("x"))
        source = tf.append_table({"x": int}, graph=g, on_shutdown=lambda: heard.append("over"))
        subscription = big.subscribe(heard.append)
        static = tf.table({"x": [1]})
        assert repr(block) == "Scope(open, 4 tables)"
    assert {name: g.counters()[name] for name in before} == before
    assert (repr(big), subscription.is_active, heard) == ("Table(let go at the end of its tf.scope())", False, ["over"])
    uses = [
        lambda: len(big),
        total.to_dict,
        lambda: source.append({"x": 1}),
        lambda: static["x"],
        lambda: tf.concat([t, big]),
    ]
    for use in uses:
        with pytest.raises(tf.errors.InvalidOperationError, match=r"let go at the end of its tf.scope\(\)"):
            use()
    t.append({"x": 2})
    g.step()
    assert len(t) == 1


def test_what_a_scope_keeps_lives_on_with_what_it_stands_on(g, t):
    with tf.scope() as outer:
        with tf.scope() as inner:
            big = t.filter(tf.col("x") > 1)
            total = big.agg_by(tf.agg.sum_("x"))
            inner.keep(total)
        with pytest.raises(tf.errors.InvalidOperationError, match="let go"):
            len(big)
        t.append({"x": [1, 2, 3]})
        g.step()
        assert total.to_dict() == {"x": [5]}
        last = total.view("Y = x * 2")
        outer.keep(last)
    with pytest.raises(tf.errors.InvalidOperationError, match="let go"):
        total.to_dict()
    assert last.to_dict() == {"Y": [10]}


def test_a_scope_ends_also_by_an_error_and_is_entered_once(g, t):
    block = tf.scope()
    assert repr(block) == "Scope(not entered, 0 tables)"
    made = []

    def fails():
        with block:
            made.append(t.head(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert repr(block) == "Scope(over, 0 tables)"
    assert "let go" in repr(made[0])
    with pytest.raises(tf.errors.InvalidOperationError, match="entered already"), block:
        pass
    with pytest.raises(TypeError, match="keep: each of the tables is a table, not an int"):
        block.keep(3)
    outside = t.head(2)
    assert len(outside) == 0


def test_a_scope_is_of_its_thread_alone(t):
    made = []
    with tf.scope():
        thread = threading.Thread(target=lambda: made.append(t.head(3)))
        thread.start()
        thread.join()
    assert len(made[0]) == 0
