//! A client with a mirror of what it is sent, which is compared with the table after each update.

use arrow_buffer::Buffer;
use barrage::{
    Cells, Layout, Limits, Mirror, Outgoing, Receiver, Subscriber, SubscriptionOptions, SubscriptionRequest,
    WireSchema, read_schema,
};
use engine::ColumnSet;
use fastrand::Rng;
use rowset::{Positions, RowSet, Span};

use super::{World, chance};

/// What a client holds, by what it was told last.
struct Held {
    viewport: Option<(Positions, bool)>,
    columns: ColumnSet,
}

/// Who follows a table by what it is sent.
pub struct Client {
    receiver: Receiver,
    mirror: Mirror,
    layout: Layout,
    limits: Limits,
    held: Held,
    /// Whether it wants the whole table.
    pub full: bool,
    pub updates: u64,
    /// Updates of several steps.
    pub merged: u64,
    /// The last step that it knows.
    last_seq: i64,
}

/// The keys that a viewport shows, position by position.
fn shown(rows: &[u64], viewport: &Option<(Positions, bool)>) -> RowSet {
    let Some((positions, reverse)) = viewport else { return RowSet::from_sorted_keys(rows) };
    let place = |at: usize| if *reverse { rows.len() - 1 - at } else { at };
    let shown = (0..rows.len()).filter(|at| positions.0.contains(place(*at) as u64)).map(|at| rows[at]);
    RowSet::from_sorted_keys(&shown.collect::<Vec<u64>>())
}

fn viewport(random: &mut Rng) -> (Positions, bool) {
    let range = |first, last| RowSet::range(first, last);
    let kinds = [
        (range(0, 4), false),
        (range(3, 8), false),
        (
            RowSet::from_spans([Span { first: 0, last: 0 }, Span { first: 2, last: 3 }, Span { first: 6, last: 6 }]),
            false,
        ),
        (range(0, 1000), false),
        (range(500, 1 << 62), false),
        (RowSet::new(), false),
        (range(0, 3), true),
        (RowSet::from_spans([Span { first: 1, last: 2 }, Span { first: 5, last: 5 }]), true),
        (range(0, 1 << 61), true),
    ];
    let (rows, reverse) = kinds[random.usize(..kinds.len())].clone();
    (Positions(rows), reverse)
}

/// Some columns of some rows, or of all.
pub fn wanted(random: &mut Rng, width: usize, full: bool) -> SubscriptionRequest {
    let part = chance(random, 3);
    let columns = part.then(|| (0..width).filter(|_| chance(random, 2)).collect::<ColumnSet>());
    let viewport = (!full).then(|| viewport(random));
    SubscriptionRequest {
        ticket: vec![1],
        columns,
        reverse_viewport: viewport.as_ref().is_some_and(|(_, reverse)| *reverse),
        viewport: viewport.map(|(rows, _)| rows),
        options: SubscriptionOptions { min_update_interval_ms: 100, ..SubscriptionOptions::default() },
    }
}

impl Client {
    /// One that knows nothing, and what the table's side knows of it.
    pub fn new(random: &mut Rng, world: &World) -> (Client, Subscriber) {
        let wire = WireSchema::of(&world.schema()).expect("types of the wire");
        let layout = Layout { deephaven_nulls: chance(random, 2), columns_as_list: chance(random, 2) };
        let header = wire.header(layout.columns_as_list).expect("a header");
        let read = read_schema(&header).expect("a schema");
        let wire = WireSchema::received(&read, layout.columns_as_list).expect("types of the wire");
        let full = chance(random, 3);
        let request = wanted(random, wire.width(), full);
        let subscriber = Subscriber::new(&request, wire.width(), false).expect("a request");
        let client = Client {
            receiver: Receiver::new(wire.clone(), layout),
            mirror: Mirror::new(wire.clone(), !full),
            layout,
            limits: Limits { rows: if chance(random, 2) { 1 + random.u64(..4) } else { 1 << 16 }, bytes: 1 << 20 },
            held: Held { viewport: None, columns: ColumnSet::all(wire.width()) },
            full,
            updates: 0,
            merged: 0,
            last_seq: -2,
        };
        (client, subscriber)
    }

    /// Takes an update of the table at this step, and compares.
    pub fn take(&mut self, Outgoing { mut train, .. }: Outgoing, step: i64, world: &World) {
        let mut received = None;
        while let Some(message) =
            train.next(self.receiver.schema(), world, self.layout, self.limits).expect("cells that can be written")
        {
            assert!(received.is_none(), "a message behind the last one");
            let body = Buffer::from_vec(message.batch.body);
            received = self.receiver.receive(&message.metadata, &message.batch.header, &body).expect("a message");
        }
        let update = received.expect("a whole update");
        let metadata = &update.metadata;
        assert!(metadata.first_seq <= metadata.last_seq && metadata.last_seq == step, "{metadata:?}");
        if metadata.is_snapshot {
            let viewport = metadata.effective_viewport.clone();
            self.held.viewport = viewport.map(|rows| (rows, metadata.effective_reverse_viewport));
            self.held.columns = metadata.effective_columns.clone().expect("columns of a snapshot");
        } else {
            assert_eq!(metadata.first_seq, self.last_seq + 1, "no step is missing");
            self.merged += u64::from(metadata.first_seq < metadata.last_seq);
        }
        self.last_seq = metadata.last_seq;
        self.mirror.apply(&update).unwrap_or_else(|error| panic!("{error}: {update:?}"));
        self.updates += 1;
        self.compare(world, &update.metadata);
    }

    /// Panics if it is not the table as it is now.
    pub fn compare(&self, world: &World, told: &dyn std::fmt::Debug) {
        let shown = shown(&world.keys(), &self.held.viewport);
        match &self.held.viewport {
            None => assert_eq!(self.mirror.rows(), &shown, "{told:?}"),
            Some(_) => assert_eq!(self.mirror.rows().len(), shown.len(), "{told:?}"),
        }
        assert_eq!(self.mirror.size(), world.keys().len() as i64);
        for column in self.held.columns.iter() {
            let expected = world.cells(column, &shown).expect("cells");
            let mirrored = self.mirror.column(column).expect("a column that is sent");
            assert_eq!(mirrored, &expected, "column {column} of {shown}, told {told:?}");
        }
    }
}
