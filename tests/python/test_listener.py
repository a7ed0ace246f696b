"""Listeners: what they hear, on which thread, and what becomes of those that raise."""

import asyncio
import gc
import logging
import threading
import weakref

import pytest

import tickframe as tf
from tickframe import col


def test_every_step_is_heard_in_order_on_one_thread_and_after_it_settled(g, t):
    heard = []
    doubled = t.with_columns(y=col("x") * 2)
    doubled.subscribe(lambda update: heard.append((update.step, g.settled, threading.current_thread().name)))
    for value in range(3):
        t.append({"x": value})
        g.step()
    g.step()
    assert [step for step, _, _ in heard] == [1, 2, 3]
    assert all(settled >= step for step, settled, _ in heard)
    assert len({name for _, _, name in heard}) == 1
    assert heard[0][2].startswith("tickframe-listeners")


def test_initial_gives_everything_once_even_if_that_is_nothing(g, t):
    heard = []
    t.subscribe(heard.append, initial=True)
    assert [(update.step, len(update.added)) for update in heard] == [(0, 0)]
    t.append({"x": [1, 2]})
    g.step()
    other = []
    t.subscribe(other.append, initial=True)
    assert other[0].added_rows().to_dict() == {"x": [1, 2]}
    t.append({"x": 3})
    g.step()
    assert [len(update.added) for update in other] == [2, 1]


def test_a_listener_that_raises_is_reported_and_detached_after_three(g, t, caplog):
    errors = []
    good = []

    def bad(update):
        raise ValueError(f"at step {update.step}")

    told = t.subscribe(bad, on_error=errors.append)
    logged = t.subscribe(bad)
    t.subscribe(good.append)
    with caplog.at_level(logging.ERROR, logger="tickframe"):
        for value in range(5):
            t.append({"x": value})
            g.step()
    assert [str(error) for error in errors] == ["at step 1", "at step 2", "at step 3"]
    assert not told.is_active
    assert not logged.is_active
    assert "detached; its table lives" in caplog.text
    assert "at step 3" in caplog.text
    assert len(good) == 5
    assert len(t) == 5


def test_cancel_ends_it_and_with_does_too(g, t):
    heard = []
    with t.subscribe(heard.append) as subscription:
        t.append({"x": 1})
        g.step()
    assert not subscription.is_active
    t.append({"x": 2})
    g.step()
    assert len(heard) == 1
    assert g.counters()["listeners"] == 0


def test_a_subscription_lives_as_long_as_its_table(g, t):
    heard = []
    t.subscribe(heard.append)
    gc.collect()
    t.append({"x": 1})
    g.step()
    assert len(heard) == 1


def test_one_that_nobody_holds_says_so(g, t):
    with pytest.warns(ResourceWarning, match="keep the Subscription or its table"):  # noqa: PT031
        t.filter(col("x") > 0).subscribe(print)
        gc.collect()


def test_waiting_for_the_graph_in_a_listener_is_refused_and_writing_is_not(g, t):
    refused = []

    def listener(update):
        for call in (g.step, lambda: t.wait(1), lambda: t.append({"x": 9}).wait(1)):
            try:
                call()
            except tf.errors.InvalidOperationError as error:
                refused.append(str(error))
        g.snapshot(t)
        t.filter(col("x") > 5).to_dicts()

    with t.subscribe(listener):
        t.append({"x": 1})
        g.step()
    assert len(refused) == 3
    assert all("listener" in text for text in refused)
    g.step()
    assert t.to_dict()["x"] == [1, 9]


def test_a_failing_table_is_told_once(g):
    left = tf.append_table({"k": int}, graph=g)
    right = tf.append_table({"k": int, "v": int}, graph=g)
    errors, heard = [], []
    joined = left.natural_join(right, on="k")
    subscription = joined.subscribe(heard.append, on_error=errors.append)
    left.append({"k": 1})
    right.append({"k": [1, 1], "v": [1, 2]})
    g.step()
    g.step()
    assert [type(error) for error in errors] == [tf.errors.TableFailedError]
    assert heard == []
    assert not subscription.is_active
    with pytest.raises(tf.errors.TableFailedError):
        joined.subscribe(heard.append)


def test_an_update_kept_past_its_step_still_has_its_rows(g):
    t = tf.keyed_table({"k": int, "v": int}, key="k", graph=g)
    kept = []
    t.subscribe(kept.append)
    t.upsert({"k": [1, 2], "v": [1, 2]})
    g.step()
    t.upsert({"k": [1], "v": [10]})
    g.step()
    t.upsert({"k": [1], "v": [100]})
    t.delete([2])
    g.step()
    assert kept[0].added_rows().to_dict() == {"k": [1, 2], "v": [1, 2]}
    assert kept[1].modified_rows().to_dict() == {"v": [10]}
    assert kept[1].modified_rows_before().to_dict() == {"v": [1]}
    assert kept[2].modified_rows_before().to_dict() == {"v": [10]}
    assert kept[2].removed_rows("v").to_dict() == {"v": [2]}
    assert kept[1].modified_columns == ["v"]


def test_no_block_is_copied_for_a_listener_whether_it_keeps_up_or_not(g):
    t = tf.keyed_table({"k": int, "v": float}, key="k", graph=g)
    t.upsert({"k": list(range(20_000)), "v": [0.0] * 20_000})
    g.step()
    slow = threading.Event()
    seen = []

    def listener(update):
        if not seen:
            slow.wait(30)
        seen.append(len(update.modified))
        update.modified_rows().to_dict()

    # `step` waits for listeners, so the graph runs by itself while one of them is late.
    running = tf.Graph(period=0)
    u = tf.keyed_table({"k": int, "v": float}, key="k", graph=running)
    u.upsert({"k": list(range(20_000)), "v": [0.0] * 20_000})
    running.step()
    before = running.counters()["blocks_copied"]
    running.start()
    try:
        with u.subscribe(listener):
            for step in range(1000):
                u.upsert({"k": [step, 10_000 + step], "v": [1.0, 2.0]}).wait(30)
            assert running.counters()["blocks_copied"] == before
            assert running.counters()["queue_bytes"] > 0
            slow.set()
            u.upsert({"k": [19_999], "v": [3.0]}).wait(30)
            running.stop()
            running.step()
        assert running.counters()["blocks_copied"] == before
    finally:
        slow.set()
        running.stop()
    assert sum(seen) >= 2001


def test_updates_beyond_a_bound_are_merged_into_equivalent_ones(caplog):
    running = tf.Graph(period=0)
    t = tf.keyed_table({"k": int, "v": int}, key="k", graph=running)
    t.upsert({"k": list(range(50)), "v": [0] * 50})
    running.step()
    gate = threading.Event()
    told: dict[int, dict] = {key: {"k": key, "v": 0} for key in range(50)}
    heard = []

    def play(update):
        gate.wait(60)
        heard.append(update.step)
        for key, row in zip(update.removed, update.removed_rows().to_dicts(), strict=True):
            assert told.pop(key) == row
        both = update.modified_rows(["k", "v"]), update.modified_rows_before(["k", "v"])
        rows = zip(both[0].to_dicts(), both[1].to_dicts(), strict=True)
        for key, (now, before) in zip(update.modified, rows, strict=True):
            assert told[key] == before
            told[key] = now
        for key, row in zip(update.added, update.added_rows().to_dicts(), strict=True):
            assert key not in told
            told[key] = row

    running.start()
    try:
        with caplog.at_level(logging.WARNING, "tickframe"), t.subscribe(play):
            for step in range(1, 1601):
                if step % 7 == 0:
                    t.delete({"k": [step % 50]})
                last = t.upsert({"k": [(step * 3) % 50, 1000 + step // 40], "v": [step, step]})
                last.wait(30)
            gate.set()
            running.stop()
            running.step()
    finally:
        gate.set()
        running.stop()
    assert running.counters()["updates_merged"] > 400
    assert 1000 < len(heard) < 1200
    assert heard == sorted(heard)
    rows = {row["k"]: row for row in t.to_dicts()}
    assert {row["k"]: row for row in told.values()} == rows
    assert sum("a listener is late" in record.message for record in caplog.records) == 1


def test_async_updates(g, t):
    async def follow():
        updates = t.updates()
        got = []
        for value in range(3):
            t.append({"x": value})
            await asyncio.to_thread(g.step)
        async for update in updates:
            got.append(update.step)
            if len(got) == 3:
                break
        await updates.aclose()
        return got

    assert asyncio.run(follow()) == [1, 2, 3]


def test_async_latest_keeps_only_the_latest_and_every_says_when_it_falls_behind(g, t):
    async def latest():
        updates = t.updates(mode="latest")
        for value in range(3):
            t.append({"x": value})
            await asyncio.to_thread(g.step)
        await asyncio.sleep(0)
        return (await anext(updates)).step

    async def behind():
        updates = t.updates(max_pending=2)
        for value in range(4):
            t.append({"x": value})
            await asyncio.to_thread(g.step)
        await asyncio.sleep(0)
        async for _ in updates:
            pass

    assert asyncio.run(latest()) == 3
    with pytest.raises(tf.errors.InvalidOperationError, match="fell 2 updates behind"):
        asyncio.run(behind())


def test_tables_and_updates_can_be_referenced_weakly(g, t):
    assert weakref.ref(t)() is t
    heard = []
    t.subscribe(heard.append)
    t.append({"x": 1})
    g.step()
    assert weakref.ref(heard[0])() is heard[0]


def test_static_tables_have_nothing_to_follow():
    with pytest.raises(tf.errors.InvalidOperationError, match="static"):
        tf.table({"x": [1]}).subscribe(print)
    with pytest.raises(tf.errors.InvalidOperationError, match="static"):
        tf.table({"x": [1]}).wait(0)
