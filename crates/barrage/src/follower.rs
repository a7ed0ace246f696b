//! A subscriber between threads: a table's steps lay their updates down, other threads merge them and take what is due.
//!
//! The thread of a step pushes to a list and does nothing else. Whoever merges holds the subscriber's lock while it takes
//! the list, so that updates come to it in the order of steps, each once.

use std::sync::Arc;

use arrow_array::ArrayRef;
use engine::{Failure, TableUpdate};
use limits::Size;
use rowset::RowSet;

use crate::BarrageError;
use crate::locks::{Lock, Locks, Machine};
use crate::metadata::SubscriptionRequest;
use crate::subscriber::{Outgoing, Subscriber};

/// How often a settled step is looked for before others are let on.
const TRIES: usize = 8;
/// So many updates are merged although nobody asks for them.
static MANY: Size = Size::new("barrage.MANY", 64);

/// What a step says of a table.
#[derive(Debug)]
pub enum News {
    /// Rows that came, went, moved and changed.
    Update(TableUpdate),
    /// The rows of a step of a blink table.
    Rows(Vec<ArrayRef>),
}

/// A table that is followed.
pub trait Steps {
    /// The table at one step.
    type View;
    /// Why a table cannot be read.
    type Error;

    /// The table as it is now and the number of that step; none while a step replaces it.
    fn view(&self) -> Result<Option<(Self::View, i64)>, Self::Error>;

    /// The rows of a view.
    fn rows(view: &Self::View) -> &RowSet;

    /// The last step that changed the table, read later than any view that was taken before; none of a static table.
    fn changed(&self) -> Option<i64>;
}

/// What there is to do now.
#[derive(Debug)]
pub enum Next<T> {
    /// A train to send, and the view that its cells are of.
    Send(T),
    /// Nothing until then, unless something happens; in milliseconds.
    Idle(Option<u64>),
    /// A step has settled whose update has not come yet.
    Soon,
    /// The table has failed.
    Failed(Arc<Failure>),
}

impl<T> Next<T> {
    /// What is sent, made into something else.
    pub fn try_map<R, E>(self, make: impl FnOnce(T) -> Result<R, E>) -> Result<Next<R>, E> {
        Ok(match self {
            Next::Send(given) => Next::Send(make(given)?),
            Next::Idle(due) => Next::Idle(due),
            Next::Soon => Next::Soon,
            Next::Failed(failure) => Next::Failed(failure),
        })
    }
}

#[derive(Debug, Default)]
struct Heard {
    /// The last step; none before the first.
    step: Option<i64>,
    updates: Vec<(i64, News)>,
    failed: Option<Arc<Failure>>,
    /// Whether somebody merges, or is about to.
    merging: bool,
}

/// What one client has not been told of a table.
#[derive(Debug)]
pub struct Follower<L: Locks = Machine> {
    heard: L::Lock<Heard>,
    /// Taken before `heard` where both are.
    subscriber: L::Lock<Subscriber>,
}

impl<L: Locks> Follower<L> {
    /// A client that has been told nothing.
    pub fn new(subscriber: Subscriber) -> Follower<L> {
        Follower { heard: Lock::new(Heard::default()), subscriber: Lock::new(subscriber) }
    }

    /// Lays down what a step says. The first call says from which step on; what it says is the rows that there are, which
    /// are read when the client is answered. If it gives true, call [`merge`](Follower::merge) on another thread.
    pub fn hear(&self, step: i64, news: Option<News>) -> bool {
        let mut heard = self.heard.lock();
        if heard.step.is_some() {
            heard.updates.extend(news.map(|news| (step, news)));
        }
        heard.step = Some(step);
        let merge = heard.updates.len() >= MANY.get() && !heard.merging;
        heard.merging |= merge;
        merge
    }

    /// Lays down that the table has failed.
    pub fn fail(&self, failure: Arc<Failure>) {
        self.heard.lock().failed = Some(failure);
    }

    /// Merges what waits, for a client that is busy with an update.
    pub fn merge(&self) {
        self.merged(&mut self.subscriber.lock());
        self.heard.lock().merging = false;
    }

    /// Another part of the table is wanted.
    pub fn request(&self, request: &SubscriptionRequest) -> Result<(), BarrageError> {
        self.subscriber.lock().request(request)
    }

    /// Merges what was heard; gives the last step of it.
    fn merged(&self, subscriber: &mut Subscriber) -> Option<i64> {
        let (updates, step) = {
            let mut heard = self.heard.lock();
            (std::mem::take(&mut heard.updates), heard.step)
        };
        for (step, news) in updates {
            match news {
                News::Update(update) => subscriber.push(step, &update),
                News::Rows(columns) => subscriber.push_blink(step, columns),
            }
        }
        step
    }

    /// When something is due: nothing before it needs a view or a merge.
    fn due(&self) -> Option<u64> {
        let subscriber = self.subscriber.lock();
        let heard = self.heard.lock();
        if heard.failed.is_some() {
            return Some(0);
        }
        subscriber.due().or_else(|| (!heard.updates.is_empty()).then(|| subscriber.free()))
    }

    /// The next train at one settled step, if it is time.
    pub fn next<T: Steps>(&self, now: u64, table: &T) -> Result<Next<(Outgoing, T::View)>, T::Error> {
        // A view holds blocks, which the next step would have to copy: none is taken before something is due. Nor are
        // updates merged: as they are heard they are one for all followers, and merged each has its own.
        let due = self.due();
        if due.is_none_or(|due| due > now) {
            return Ok(Next::Idle(due));
        }
        for _ in 0..TRIES {
            let Some((view, moment)) = table.view()? else { continue };
            let changed = table.changed();
            let mut subscriber = self.subscriber.lock();
            let heard = self.merged(&mut subscriber);
            if let Some(failure) = &self.heard.lock().failed {
                return Ok(Next::Failed(failure.clone()));
            }
            let step = match changed {
                Some(changed) => {
                    let heard = heard.unwrap_or(0);
                    if heard > moment || changed > moment {
                        continue;
                    }
                    if heard < changed {
                        return Ok(Next::Soon);
                    }
                    moment
                }
                None => -1,
            };
            return Ok(match subscriber.next(now, step, T::rows(&view)) {
                Some(outgoing) => Next::Send((outgoing, view)),
                None => Next::Idle(subscriber.due()),
            });
        }
        Ok(Next::Soon)
    }
}
