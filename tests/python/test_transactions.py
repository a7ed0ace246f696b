"""Transactions: all or nothing against any other writer, wherever they are left."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tickframe as tf


@pytest.fixture
def log(g):
    return tf.append_table({"x": int}, graph=g)


def rows(table):
    return table.to_dict()["x"]


def elsewhere(call):
    """The result of a call on another thread, which ends."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def test_a_transaction_that_no_longer_fits_raises_and_leaves_nothing(g, log):
    keyed = tf.input_table({"x": int}, graph=g)
    keyed.apply(added=([0, 1], {"x": [10, 11]}))
    g.step()
    tokens = []

    def clash():
        with g.transaction():
            tokens.append(log.append({"x": [1]}))
            tokens.append(keyed.apply(removed=[0], modified={1: {"x": 12}}))
            elsewhere(lambda: keyed.apply(removed=[0]))
            tokens.append(log.append({"x": [2]}))

    with pytest.raises(tf.errors.DataError, match="another writer came first, and nothing of the transaction is"):
        clash()
    g.step()
    assert (rows(log), rows(keyed)) == ([], [11])
    for token in tokens:
        with pytest.raises(tf.errors.CancelledError, match="rolled back: apply: removed rows that are not there"):
            token.wait(1)


def test_a_call_that_raises_and_is_caught_loses_itself_alone(g, log):
    keyed = tf.input_table({"x": int}, graph=g)
    with g.transaction():
        keyed.apply(added=([0], {"x": [1]}))
        with pytest.raises(tf.errors.DataError):
            keyed.apply(added=([0], {"x": [2]}))
        with pytest.raises(tf.errors.DataError):
            keyed.apply(removed=[7])
        keyed.apply(added=([1], {"x": [3]}))
        log.append({"x": 4})
    g.step()
    assert (rows(keyed), rows(log)) == ([1, 3], [4])


def test_a_transaction_left_on_another_thread_ends_there_and_takes_nothing_more(g, log):
    with ThreadPoolExecutor(1) as pool:
        block = g.transaction()
        pool.submit(block.__enter__).result()
        pool.submit(log.append, {"x": 1}).result()
        log.append({"x": 2})  # nobody's
        block.__exit__(None, None, None)
        pool.submit(log.append, {"x": 3}).result()
        g.step()
        assert rows(log) == [2, 1, 3]
        assert pool.submit(lambda: log.append({"x": 4}).step).result() is None

        def again():
            with g.transaction():
                return log.append({"x": 5})

        token = pool.submit(again).result()
        assert g.step() == token.step


def test_a_transaction_that_nobody_holds_any_more_is_rolled_back(g, log):
    block = g.transaction()
    block.__enter__()
    lost = log.append({"x": 1})
    del block
    gc.collect()
    kept = log.append({"x": 2})
    g.step()
    assert (rows(log), kept.step) == ([2], 1)
    with pytest.raises(tf.errors.CancelledError):
        lost.wait(1)


def test_transactions_do_not_nest_and_may_be_entered_again(g, log):
    block = g.transaction()
    with block:
        with pytest.raises(tf.errors.InvalidOperationError, match="do not nest"), g.transaction():
            pass
        with pytest.raises(tf.errors.InvalidOperationError, match="open already"), block:
            pass
        log.append({"x": 1})
    with block:
        log.append({"x": 2})
    g.step()
    assert rows(log) == [1, 2]


def test_transactions_of_two_graphs_are_apart(g, log):
    other = tf.Graph()
    table = tf.append_table({"x": int}, graph=other)
    with pytest.raises(ZeroDivisionError), g.transaction():  # noqa: PT012 - both must be inside
        with other.transaction():
            table.append({"x": 1})
            log.append({"x": 2})
        raise ZeroDivisionError
    g.step(), other.step()
    assert (rows(log), rows(table)) == ([], [1])


def test_threads_started_inside_are_outside(g, log):
    def here():
        log.append({"x": 1})

    with pytest.raises(ZeroDivisionError), g.transaction():  # noqa: PT012 - the thread must start inside
        thread = threading.Thread(target=contextvars.copy_context().run, args=(here,))
        thread.start()
        thread.join()
        log.append({"x": 2})
        assert elsewhere(g.step) == 1, "another thread may step"
        raise ZeroDivisionError
    g.step()
    assert rows(log) == [1]


def test_tasks_have_transactions_of_their_own(g, log):
    async def writer(number, turn, turns):
        with g.transaction():
            for at in range(3):
                await turn.wait()
                turn.clear()
                log.append({"x": number * 10 + at})
                turns[(number + 1) % 3].set()
            await turn.wait()
        turns[(number + 1) % 3].set()
        with g.transaction():
            child = asyncio.create_task(child_of(number))
            await child
            log.append({"x": number * 10 + 9})
            if number == 1:
                child.result().wait(0)

    async def child_of(number):
        return log.append({"x": -number})

    async def main():
        turns = [asyncio.Event() for _ in range(3)]
        turns[0].set()
        tasks = [asyncio.create_task(writer(number, turns[number], turns)) for number in range(3)]
        log.append({"x": 1000})
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(main())
    assert [type(one).__name__ for one in ended] == ["NoneType", "InvalidOperationError", "NoneType"]
    g.step()
    found = rows(log)
    whole = [found[at : at + 3] for at in (found.index(number * 10) for number in range(3))]
    assert whole == [[number * 10 + at for at in range(3)] for number in range(3)], "each lies in one piece"
    assert found[0] == 1000
    assert {0, -1, -2, 9, 29} <= set(found)
    assert 19 not in found, "the block that raised"


def test_no_task_waits_for_another_ones_transaction(g, log):
    async def holds(entered, leave):
        with g.transaction():
            log.append({"x": 1})
            entered.set()
            await leave.wait()

    async def main():
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(holds(entered, leave))
        await entered.wait()
        token = log.append({"x": 2})
        stepped = g.step()
        assert token.wait(1) == stepped
        leave.set()
        await task

    asyncio.run(main())
    g.step()
    assert rows(log) == [2, 1]


def test_writers_on_many_threads_move_each_row_once():
    """Each key lies in one of two tables. Transactions take it out of one and put it into the other, as they come."""
    g = tf.Graph(period=0)
    sides = [tf.input_table({"x": int}, graph=g) for _ in range(2)]
    keys = range(6)
    sides[0].apply(added=(list(keys), {"x": list(keys)}))
    g.step()
    torn, history, lock = [], [], threading.Lock()

    def look(_):
        taken = g.snapshot(*sides)
        there = sorted(key for side in taken for key in rows(side))
        if there != list(keys):
            torn.append(there)

    handles = [side.subscribe(look) for side in sides]
    g.start()

    def move(dice):
        for _ in range(60):
            key, source = dice.choice(keys), dice.randrange(2)
            try:
                with g.transaction():
                    out = sides[source].apply(removed=[key])
                    into = sides[1 - source].apply(added=([key], {"x": [key]}))
            except tf.errors.DataError:
                continue
            with lock:
                history.append((key, source, out, into))

    threads = [threading.Thread(target=move, args=(random.Random(seed),)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    landed = [(key, source, out.wait(20), into.wait(20)) for key, source, out, into in history]
    g.stop()
    for handle in handles:
        handle.cancel()
    assert not torn
    assert all(out == into for _, _, out, into in landed)
    ends = g.snapshot(*sides)
    for key in keys:
        # A key leaves the two sides in turn, so of its moves one more may have started on the side where it began.
        from_left = sum(source == 0 for moved, source, *_ in landed if moved == key)
        from_right = sum(source == 1 for moved, source, *_ in landed if moved == key)
        assert from_left - from_right == (key in rows(ends[1]))
    assert len(landed) > 50
