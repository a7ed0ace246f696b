//! Tables that are made to fail: they fail with all that stands on them, once, and nothing else does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::failpoints::{Fail, POINTS, Point, TEXT, arm, disarm};
use engine::testing::Tape;
use engine::{Error, Failure, Listener, Subscription, Table, UpdateEvent};

/// A table that is to fail once it has something to do.
pub struct Struck {
    table: Table,
    /// Itself and what stood on it.
    ears: Vec<(Table, Arc<CountingListener>, Subscription)>,
}

impl Drop for Struck {
    fn drop(&mut self) {
        disarm(&self.table);
    }
}

/// Counts the failures it is told of.
#[derive(Default)]
struct CountingListener(AtomicU64);

impl Listener for CountingListener {
    fn on_update(&self, _: Arc<UpdateEvent>) {}

    fn on_failure(&self, _: Arc<Failure>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Struck {
    /// The table's next update fails; `below` is itself and what stands on it.
    pub fn new(tape: &mut Tape, table: Table, below: Vec<Table>) -> Result<Struck, Error> {
        let points: Vec<Point> = POINTS.into_iter().filter(|point| *point != Point::Start).collect();
        let point = *tape.choose(&points);
        arm(&table, point, *tape.choose(&[Fail::Error, Fail::Panic]));
        let mut struck = Struck { table, ears: Vec::new() };
        for table in below {
            let ear = Arc::new(CountingListener::default());
            let following = table.subscribe(ear.clone(), false)?;
            struck.ears.push((table, ear, following));
        }
        Ok(struck)
    }

    /// If it has failed so have those below it, each was told once, and the culprit is named, unless one of them had
    /// failed by itself before.
    pub fn check(&self) -> Result<(), String> {
        let failure = self.table.failure();
        for (table, ear, _) in &self.ears {
            let (told, found) = (ear.0.load(Ordering::SeqCst), table.failure());
            let sound = match &found {
                None => failure.is_none() && told == 0,
                Some(found) if found.cause.to_string().contains(TEXT) => {
                    told == 1 && failure.is_some() && found.culprit == self.table.request().label()
                }
                Some(_) => told == 1,
            };
            if !sound {
                let what = table.request().label();
                return Err(format!("{what} was told {told} times of {failure:?}, and is {found:?}"));
            }
        }
        Ok(())
    }
}

/// Whether a table is another one, or stands on it.
pub fn stands_on(table: &Table, other: &Table) -> bool {
    table.same(other) || table.inputs().iter().any(|input| stands_on(input, other))
}
