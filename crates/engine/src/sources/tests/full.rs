//! Queues that are full: what is refused, what waits, what is dropped, and what that does to transactions.

use super::super::{Feeding, QueueCounts, QueueLimit, Token, WhenFull};
use super::*;

fn feeding(rows: u64, when_full: WhenFull) -> Feeding {
    Feeding { limit: QueueLimit { rows, when_full }, ..Feeding::default() }
}

fn append(graph: &UpdateGraph, rows: u64, when_full: WhenFull) -> AppendTable {
    AppendTable::fed(graph, schema(), feeding(rows, when_full)).unwrap()
}

fn some(count: i64) -> RecordBatch {
    batch(&(0..count).map(|value| ("a", value)).collect::<Vec<_>>())
}

fn full(refused: Result<Token, Error>) -> String {
    match refused.err() {
        Some(error @ Error::Resource { .. }) => error.to_string(),
        other => panic!("a call without room: {other:?}"),
    }
}

#[test]
fn a_call_without_room_is_refused_whole_and_counted() {
    let graph = still_graph();
    let source = append(&graph, 4, WhenFull::Error);
    source.append(&some(3)).unwrap();
    let text = full(source.append(&some(2)));
    assert!(
        text.starts_with(
            "append: the queue of this table is full: 3 rows wait for a step, the call brings 2, and max_queued_rows=4;"
        ),
        "{text}"
    );
    source.append(&some(1)).unwrap();
    let text = full(source.append(&some(0)));
    assert!(text.contains("4 rows wait for a step, the call brings 1"), "a call is one row at least: {text}");
    let text = full(source.append(&some(5)));
    assert!(
        text.contains("a call of 5 rows is more than the queue of this table may hold, max_queued_rows=4"),
        "{text}"
    );
    let counts =
        QueueCounts { queued_calls: 2, queued_rows: 4, max_queued_rows: 4, refused_calls: 3, ..Default::default() };
    assert_eq!(source.queue_counts(), counts);
    step(&graph);
    assert_eq!(now(source.table()).len(), 4);
    source.append(&some(4)).unwrap();
    assert_eq!(source.queue_counts().queued_rows, 4);
    step(&graph);
    assert_eq!((now(source.table()).len(), source.queue_counts().queued_rows), (8, 0));
}

#[test]
fn all_kinds_of_calls_take_room() {
    let graph = still_graph();
    let keyed = KeyedTable::fed(&graph, schema(), &["k".into()], feeding(3, WhenFull::Error)).unwrap();
    keyed.upsert(&some(2)).unwrap();
    full(keyed.delete(&keys(&["a", "b"])));
    keyed.delete(&keys(&["a"])).unwrap();
    full(keyed.replace(&some(1)));
    let input = InputTable::fed(&graph, schema(), feeding(2, WhenFull::Error)).unwrap();
    let added = |key: u64| Apply { added: Some((RowSet::range(key, key), some(1))), ..Apply::default() };
    input.apply(added(1)).unwrap();
    input.apply(Apply { removed: RowSet::range(1, 1), ..Apply::default() }).unwrap();
    full(input.apply(added(1)));
    step(&graph);
    // What was refused left no trace in what is expected.
    input.apply(added(1)).unwrap();
    step(&graph);
    assert_eq!((now(keyed.table()).len(), now(input.table()).len()), (0, 1));
}

#[test]
fn the_oldest_blink_calls_are_dropped_and_their_tokens_say_so() {
    let graph = still_graph();
    let source = BlinkTable::fed(&graph, schema(), feeding(4, WhenFull::DropOldest)).unwrap();
    let tokens: Vec<Token> =
        (0..4).map(|value| source.append(&batch(&[("a", value), ("b", value)])).unwrap()).collect();
    let lost: Vec<bool> = tokens.iter().map(|token| matches!(token.landed(), Some(Err(Error::Cancelled(_))))).collect();
    assert_eq!(lost, [true, true, false, false]);
    full(source.append(&some(5)));
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("a", 2), ("b", 2), ("a", 3), ("b", 3)]));
    let counts = source.queue_counts();
    assert_eq!((counts.dropped_calls, counts.dropped_rows, counts.refused_calls, counts.queued_rows), (2, 4, 1, 0));
}

#[test]
fn a_transaction_is_dropped_whole_or_stays_whole() {
    let graph = still_graph();
    let source = BlinkTable::fed(&graph, schema(), feeding(4, WhenFull::DropOldest)).unwrap();
    let other = append(&graph, 9, WhenFull::Error);
    let own = Transaction::begin(&graph);
    own.collect(|| (source.append(&some(1)).unwrap(), source.append(&some(1)).unwrap()));
    own.commit().unwrap();
    source.append(&some(2)).unwrap();
    source.append(&some(1)).unwrap();
    assert_eq!(source.queue_counts().dropped_calls, 2, "both calls of the transaction");
    step(&graph);
    assert_eq!(now(source.table()).len(), 3);
    // Rows of another table came with these.
    let both = Transaction::begin(&graph);
    both.collect(|| (source.append(&some(3)).unwrap(), other.append(&some(1)).unwrap()));
    both.commit().unwrap();
    source.append(&some(1)).unwrap();
    let text = full(source.append(&some(2)));
    assert!(text.contains("3 rows of transactions with other tables, which stay, wait for a step"), "{text}");
    source.append(&batch(&[("last", 7)])).unwrap();
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("a", 0), ("a", 1), ("a", 2), ("last", 7)]));
}

#[test]
fn a_transaction_without_room_leaves_nothing() {
    let graph = still_graph();
    let (a, b) = (append(&graph, 4, WhenFull::Error), append(&graph, 4, WhenFull::Error));
    let open = Transaction::begin(&graph);
    let (first, second) = open.collect(|| (a.append(&some(2)).unwrap(), b.append(&some(3)).unwrap()));
    let text = full(open.collect(|| b.append(&some(2))));
    assert!(text.contains("a call of 2 rows and 3 before it in its transaction is more than"), "{text}");
    b.append(&some(2)).unwrap();
    let error = open.commit().unwrap_err().to_string();
    assert!(error.starts_with("transaction: append: the queue of this table is full: 2 rows"), "{error}");
    assert!(error.ends_with("nothing of the transaction is queued"), "{error}");
    assert!([first, second].iter().all(|token| matches!(token.landed(), Some(Err(Error::Cancelled(_))))));
    step(&graph);
    assert_eq!((now(a.table()).len(), now(b.table()).len()), (0, 2));
    assert_eq!((a.queue_counts().queued_rows, b.queue_counts().queued_rows), (0, 0));
}

/// Writers that wait, alone and in transactions, and a graph that somebody steps: all rows arrive, once.
#[test]
fn waiting_calls_get_in_as_steps_make_room() {
    let graph = still_graph();
    let (a, b) = (append(&graph, 5, WhenFull::Wait), append(&graph, 3, WhenFull::Wait));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (graph, a, b) = (graph.clone(), a.clone(), b.clone());
            std::thread::spawn(move || {
                for round in 0..20 {
                    if writer == 0 || round % 2 == 0 {
                        a.append(&some(2)).unwrap();
                        continue;
                    }
                    let open = Transaction::begin(&graph);
                    open.collect(|| (a.append(&some(1)).unwrap(), b.append(&some(3)).unwrap()));
                    open.commit().unwrap();
                }
            })
        })
        .collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        assert!(a.queue_counts().queued_rows <= 5 && b.queue_counts().queued_rows <= 3);
        step(&graph);
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    step(&graph);
    assert_eq!((now(a.table()).len(), now(b.table()).len()), (40 + 3 * 30, 3 * 10 * 3));
    assert!(a.queue_counts().waited_calls > 0 && a.queue_counts().refused_calls == 0);
}

#[test]
fn where_waiting_would_hang_it_is_an_error() {
    let graph = still_graph();
    let source = append(&graph, 1, WhenFull::Wait);
    source.append(&some(1)).unwrap();
    let refused = |source: &AppendTable| match source.append(&some(1)) {
        Err(Error::InvalidOperation { operation, message }) => format!("{operation}: {message}"),
        other => panic!("{:?}", other.err()),
    };
    {
        let _frozen = graph.shared_lock().unwrap();
        assert!(refused(&source).contains("this would wait for a step while this thread holds `frozen()`"));
    }
    {
        let _listener = graph.callback_scope();
        assert!(refused(&source).contains("from inside a listener"));
    }
    assert_eq!((source.queue_counts().refused_calls, source.queue_counts().waited_calls), (2, 0));
}

#[test]
fn a_wait_ends_when_its_table_fails() {
    let graph = still_graph();
    let source = append(&graph, 1, WhenFull::Wait);
    source.append(&some(1)).unwrap();
    let writer = {
        let source = source.clone();
        std::thread::spawn(move || source.append(&some(1)).err().map(|error| error.to_string()))
    };
    while source.queue_counts().waited_calls == 0 {
        std::thread::yield_now();
    }
    source.fail(Error::External { message: "the feed broke".into(), payload: None });
    assert_eq!(writer.join().unwrap(), Some("the feed broke".to_owned()));
}
