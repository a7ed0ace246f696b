//! One table of a server, followed into a table here: a snapshot, of which only the difference to what is held is taken
//! in, then update after update. What the server sends while the graph here makes no step waits at the server, merged.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::Schema;
use arrow_select::take::take_record_batch;
use barrage::{Layout, Metadata, ReceivedUpdate, Receiver, SubscriptionOptions, SubscriptionRequest, WireSchema};
use engine::ColumnSet;
use engine::sources::Apply;
use rowset::RowSet;
use tokio::sync::oneshot;

use super::difference::{Rows, between};
use super::peer::{Exchange, Peer};
use super::target::{Held, LetGo, Pending, Weak, batch, rows_of};
use super::viewport::{self, Viewport};
use super::{Link, RemoteError};
use crate::data_messages::DataMessage;
use crate::ipc::schema_in;
use crate::race::{First, first};
use graph::lock;

/// Milliseconds between updates: as soon as there is one.
const INTERVAL: i32 = 1;
/// How long it is waited before a server is tried again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How often it is looked whether anybody has the table still.
const LOOK: Duration = Duration::from_millis(500);

/// What is known of a table that is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteState {
    /// Whether the server tells of it now.
    pub connected: bool,
    /// The last step of the server that was taken in; -1 of a table that never changes there.
    pub step: Option<i64>,
    /// How often it was followed from the beginning.
    pub snapshots: u64,
    /// Why it is not connected.
    pub trouble: Option<String>,
}

/// A table that is followed: what is wanted, and how it goes.
pub(crate) struct Followed {
    pub(crate) name: String,
    /// Its columns here, and where they are there.
    pub(crate) schema: Arc<Schema>,
    pub(crate) columns: Vec<usize>,
    /// These rows alone.
    pub(crate) viewport: Option<Viewport>,
    /// Whether its rows live for one step.
    pub(crate) blink: bool,
    /// All columns that it has there.
    pub(crate) whole: Schema,
    pub(crate) state: Mutex<RemoteState>,
}

/// Why a table is followed no longer, or not for now.
enum End {
    LetGo,
    Closed,
    Trouble(RemoteError),
}

impl From<RemoteError> for End {
    fn from(error: RemoteError) -> End {
        End::Trouble(error)
    }
}

impl From<LetGo> for End {
    fn from(_: LetGo) -> End {
        End::LetGo
    }
}

impl From<engine::Error> for End {
    fn from(error: engine::Error) -> End {
        End::Trouble(RemoteError::Engine(error))
    }
}

/// Told once, when the rows of the first snapshot are queued, or cannot be.
pub(crate) type Ready = oneshot::Sender<Result<(), RemoteError>>;

/// Follows a table until it is let go of, the link is closed, or it cannot be followed any more.
pub(crate) async fn follow(link: Arc<Link>, followed: Arc<Followed>, target: Weak, ready: Ready) {
    let mut ready = Some(ready);
    let mut pause = AGAIN.0;
    let mut pending = Pending::default();
    loop {
        let snapshots = lock(&followed.state).snapshots;
        let running = run(&link, &followed, &target, &mut pending, &mut ready);
        let error = match first(running, gone(&link, &target)).await {
            First::Left(Err(End::Trouble(error))) => error,
            First::Left(Err(End::LetGo)) | First::Right(End::LetGo) => return,
            _ => {
                if let Ok(held) = target.upgrade() {
                    held.close();
                }
                return;
            }
        };
        let went_well = lock(&followed.state).snapshots > snapshots;
        {
            let mut state = lock(&followed.state);
            state.connected = false;
            state.trouble = Some(error.to_string());
        }
        if let Some(ready) = ready.take_if(|_| true) {
            // Nobody has the table yet.
            _ = ready.send(Err(error));
            return;
        }
        if !error.may_pass() {
            if let Ok(held) = target.upgrade() {
                held.fail(error.into_engine(&followed.name));
            }
            return;
        }
        pause = if went_well { AGAIN.0 } else { (pause * 2).min(AGAIN.1) };
        if let First::Right(end) = first(tokio::time::sleep(pause), gone(&link, &target)).await {
            if let (End::Closed, Ok(held)) = (end, target.upgrade()) {
                held.close();
            }
            return;
        }
    }
}

/// Comes back when nobody has the table, or the link is closed.
async fn gone(link: &Link, target: &Weak) -> End {
    let dropped = async {
        while target.upgrade().is_ok() {
            tokio::time::sleep(LOOK).await;
        }
    };
    match first(link.closed(), dropped).await {
        First::Left(()) => End::Closed,
        First::Right(()) => End::LetGo,
    }
}

/// The next message of a stream that does not end by itself.
async fn next(peer: &Peer, exchange: &mut Exchange) -> Result<DataMessage, RemoteError> {
    match exchange.answers.next().await {
        Ok(Some(data)) => Ok(data),
        Ok(None) => Err(peer.ended(&tonic::Status::unavailable("the server ended the subscription"))),
        Err(status) => Err(peer.ended(&status)),
    }
}

/// The beginning of a stream, which says what columns come.
pub(super) async fn opened(peer: &Peer, exchange: &mut Exchange, followed: &Followed) -> Result<Receiver, RemoteError> {
    let opening = next(peer, exchange).await?;
    let schema = schema_in(&opening.header).map_err(|why| unfit(followed, why))?;
    let wire = WireSchema::received(&schema, false).map_err(|error| unfit(followed, error))?;
    same_columns(&wire, followed)?;
    Ok(Receiver::new(wire, Layout::default()))
}

/// The next update of a stream, when all its messages have come.
pub(super) async fn received(
    peer: &Peer,
    exchange: &mut Exchange,
    receiver: &mut Receiver,
    followed: &Followed,
) -> Result<ReceivedUpdate, RemoteError> {
    loop {
        let data = next(peer, exchange).await?;
        limits::ask(data.body.len() as u64).map_err(|error| unfit(followed, error))?;
        let received = receiver.receive(&data.metadata, &data.header, &data.body);
        if let Some(update) = received.map_err(|error| unfit(followed, error))? {
            return Ok(update);
        }
    }
}

pub(super) fn unfit(followed: &Followed, why: impl std::fmt::Display) -> RemoteError {
    RemoteError::Unfit { name: followed.name.clone(), why: why.to_string() }
}

/// Rows of a snapshot, in the pieces in which they come.
#[derive(Default)]
struct Fresh {
    keys: RowSet,
    came: RowSet,
    parts: Vec<(RowSet, ReceivedUpdate)>,
}

impl Fresh {
    /// Takes a piece; true if it was the last.
    fn take(&mut self, update: ReceivedUpdate) -> Result<bool, &'static str> {
        let keys = update.metadata.added.clone().unwrap_or_default();
        let came = update.metadata.added_included.clone().unwrap_or_else(|| keys.clone());
        if came.overlaps(&self.came) {
            return Err("rows of a snapshot came twice");
        }
        self.came |= &came;
        self.keys = keys;
        self.parts.push((came, update));
        Ok(self.came == self.keys)
    }

    /// The calls, which belong into one step, that lead from what is held to these rows.
    fn calls(self, followed: &Followed, before: &Rows) -> Result<Vec<Apply>, RemoteError> {
        if !before.keys.is_empty() {
            return between(before, &self.rows(followed)?).map_err(|error| unfit(followed, error));
        }
        // Where nothing is held nothing is compared, and the pieces go in as they came: so does every table begin.
        let added = |(keys, update): (RowSet, ReceivedUpdate)| {
            let batch = cells(followed, keys.len(), |place| update.added[place].clone())?;
            Ok(Apply { added: Some((keys, batch)), ..Apply::default() })
        };
        self.parts.into_iter().filter(|(keys, _)| !keys.is_empty()).map(added).collect()
    }

    fn rows(self, followed: &Followed) -> Result<Rows, RemoteError> {
        let all: Vec<usize> = (0..followed.columns.len()).collect();
        let pieces = |column: usize| -> Vec<ArrayRef> {
            let place = followed.columns[column];
            self.parts.iter().flat_map(|(_, update)| update.added[place].iter().cloned()).collect()
        };
        let rows = self.came.len();
        let mut cells = batch(&followed.schema, &all, rows, pieces).map_err(|error| unfit(followed, error))?;
        // Rows come in order, except where a viewport counts from the end.
        if !self.parts.is_sorted_by(|(one, _), (next, _)| one.last() < next.first()) {
            let order: Vec<u64> = self.parts.iter().flat_map(|(keys, _)| keys.to_vec()).collect();
            let mut places: Vec<u64> = (0..rows).collect();
            places.sort_by_key(|place| order[*place as usize]);
            let places: UInt64Array = places.into();
            cells = take_record_batch(&cells, &places).map_err(|error| unfit(followed, error))?;
        }
        Ok(Rows { keys: self.came, cells })
    }
}

async fn run(
    link: &Link,
    followed: &Followed,
    target: &Weak,
    pending: &mut Pending,
    ready: &mut Option<Ready>,
) -> Result<Infallible, End> {
    let peer = link.peer().await?;
    match talk(link, &peer, followed, target, pending, ready).await {
        // The login was good: it is over, and another one says whether the token still is.
        Err(End::Trouble(RemoteError::Refused { url })) => {
            link.forget(&peer).await;
            Err(End::Trouble(RemoteError::Lost { url, why: "the session is over".to_owned() }))
        }
        ended => ended,
    }
}

async fn talk(
    link: &Link,
    peer: &Peer,
    followed: &Followed,
    target: &Weak,
    pending: &mut Pending,
    ready: &mut Option<Ready>,
) -> Result<Infallible, End> {
    let width = followed.whole.fields().len();
    let columns = (followed.columns.len() < width).then(|| followed.columns.iter().copied().collect::<ColumnSet>());
    let options = SubscriptionOptions { min_update_interval_ms: INTERVAL, ..SubscriptionOptions::default() };
    let ticket = crate::tickets::Named::Scope(followed.name.clone()).ticket().to_vec();
    let viewport = followed.viewport.map(Viewport::positions);
    let reverse_viewport = followed.viewport.is_some_and(Viewport::counts_from_end);
    let request = SubscriptionRequest { ticket, columns, viewport, options, reverse_viewport };
    let mut exchange = peer.exchange(Metadata::Subscription(request)).await?;
    let mut receiver = opened(peer, &mut exchange, followed).await?;
    let mut fresh = Some(Fresh::default());
    // Rows of a viewport.
    let mut ranks = 0;
    loop {
        let update = received(peer, &mut exchange, &mut receiver, followed).await?;
        let step = update.metadata.last_seq;
        match fresh.take() {
            Some(mut pieces) => {
                if !update.metadata.is_snapshot {
                    let why = "it changed while its first rows came in pieces";
                    return Err(RemoteError::Lost { url: link.address.url(), why: why.to_owned() }.into());
                }
                if !pieces.take(update).map_err(|why| unfit(followed, why))? {
                    fresh = Some(pieces);
                    continue;
                }
                pending.landed().await?;
                ranks = pieces.keys.len();
                if followed.viewport.is_some() && pieces.keys != RowSet::flat(ranks) {
                    return Err(unfit(followed, "rows of a viewport came under other keys than ranks").into());
                }
                let held = target.upgrade()?;
                let calls = match &held {
                    Held::Rows(source) => {
                        let before = rows_of(source.table())?;
                        pieces.calls(followed, &before)?
                    }
                    Held::Blink(_) => Vec::new(),
                };
                {
                    // Whoever reads the state between two steps reads that of the rows that are there.
                    let mut state = lock(&followed.state);
                    if let Held::Rows(source) = &held {
                        pending.apply(&link.graph, source, calls)?;
                    }
                    (state.connected, state.step, state.trouble) = (true, Some(step), None);
                    state.snapshots += 1;
                }
                drop(held);
                // In a graph that runs by itself the rows are there when the table is given out.
                if let Some(ready) = ready.take() {
                    if link.graph.is_started() {
                        pending.landed().await?;
                    }
                    _ = ready.send(Ok(()));
                }
            }
            None => {
                pending.room().await?;
                match target.upgrade()? {
                    Held::Rows(source) => {
                        let calls = calls(followed, &update, &mut ranks)?;
                        let mut state = lock(&followed.state);
                        pending.apply(&link.graph, &source, calls)?;
                        state.step = Some(step);
                    }
                    Held::Blink(source) => {
                        let rows = update.metadata.added.as_ref().map_or(0, RowSet::len);
                        let batch = cells(followed, rows, |place| update.added[place].clone())?;
                        let mut state = lock(&followed.state);
                        if rows > 0 {
                            pending.append(&source, &batch)?;
                        }
                        state.step = Some(step);
                    }
                }
            }
        }
    }
}

/// A stream of other columns is of another table.
fn same_columns(wire: &WireSchema, followed: &Followed) -> Result<(), RemoteError> {
    let expected = WireSchema::of(&followed.whole).map_err(|error| unfit(followed, error))?;
    let columns = |of: &WireSchema| -> Vec<(String, arrow_schema::DataType)> {
        let fields = of.schema().fields().iter();
        fields.map(|field| (field.name().clone(), plain(field.data_type()))).collect()
    };
    if columns(wire) != columns(&expected) {
        return Err(unfit(followed, "it has other columns than it had"));
    }
    Ok(())
}

/// A type without what fields within say of themselves.
fn plain(of: &arrow_schema::DataType) -> arrow_schema::DataType {
    use arrow_schema::{DataType, Field};
    match of {
        DataType::List(item) => DataType::List(Arc::new(Field::new("", plain(item.data_type()), true))),
        other => other.clone(),
    }
}

fn cells(followed: &Followed, rows: u64, pieces: impl Fn(usize) -> Vec<ArrayRef>) -> Result<RecordBatch, RemoteError> {
    let all: Vec<usize> = (0..followed.columns.len()).collect();
    batch(&followed.schema, &all, rows, |column| pieces(followed.columns[column]))
        .map_err(|error| unfit(followed, error))
}

/// An update as calls that belong into one step. `ranks`: how many rows a viewport has.
fn calls(followed: &Followed, update: &ReceivedUpdate, ranks: &mut u64) -> Result<Vec<Apply>, RemoteError> {
    let metadata = &update.metadata;
    let added = metadata.added.clone().unwrap_or_default();
    if metadata.added_included.as_ref().is_some_and(|included| *included != added) {
        return Err(unfit(followed, "rows came without cells"));
    }
    let removed = metadata.removed.clone().unwrap_or_default();
    let shifted = metadata.shifts.clone().unwrap_or_default();
    let mut calls = Vec::new();
    let moves = match followed.viewport {
        None => Apply { removed, shifted, ..Apply::default() },
        Some(_) if !shifted.is_empty() => return Err(unfit(followed, "rows of a viewport were shifted")),
        Some(_) => {
            let (moves, now) = viewport::moved(*ranks, removed, &added).map_err(|why| unfit(followed, why))?;
            *ranks = now;
            moves
        }
    };
    if !(added.is_empty() && moves.removed.is_empty() && moves.shifted.is_empty()) {
        let rows = match added.is_empty() {
            true => None,
            false => {
                let batch = cells(followed, added.len(), |place| update.added[place].clone())?;
                Some((added, batch))
            }
        };
        calls.push(Apply { added: rows, ..moves });
    }
    // Columns whose changed rows are the same go together.
    let mut groups: Vec<(&RowSet, Vec<usize>)> = Vec::new();
    for (column, place) in followed.columns.iter().enumerate() {
        let rows = metadata.modified.as_ref().and_then(|modified| modified.get(*place)).filter(|rows| !rows.is_empty());
        let Some(rows) = rows else { continue };
        match groups.iter_mut().find(|(known, _)| *known == rows) {
            Some((_, columns)) => columns.push(column),
            None => groups.push((rows, vec![column])),
        }
    }
    for (rows, columns) in groups {
        let pieces = |column: usize| update.modified[followed.columns[column]].clone();
        let batch = batch(&followed.schema, &columns, rows.len(), pieces).map_err(|error| unfit(followed, error))?;
        calls.push(Apply { modified: Some((rows.clone(), batch)), ..Apply::default() });
    }
    Ok(calls)
}
