//! Subscribers of a random table, each with a mirror of what it is sent: after each update the mirror is what a snapshot
//! of the table gives. Subscribers are late, change what they want, and have small messages.

mod world;

use arrow_buffer::Buffer;
use barrage::{
    Cells, Layout, Limits, Mirror, Outgoing, Receiver, Subscriber, SubscriptionOptions, SubscriptionRequest,
    WireSchema, read_schema,
};
use engine::ColumnSet;
use rowset::{Positions, RowSet, Span};
use world::{Random, World};

/// Steps of all cases together.
const STEPS: u64 = 300_000;
const STEPS_OF_ONE: u64 = 200;

/// What a client holds, by what it was told last.
struct Held {
    viewport: Option<(Positions, bool)>,
    columns: ColumnSet,
}

struct Client {
    subscriber: Subscriber,
    receiver: Receiver,
    mirror: Mirror,
    layout: Layout,
    limits: Limits,
    held: Held,
    full: bool,
    updates: u64,
    merged: u64,
    last_seq: i64,
}

/// The keys that a viewport shows, position by position.
fn shown(rows: &[u64], viewport: &Option<(Positions, bool)>) -> RowSet {
    let Some((positions, reverse)) = viewport else { return RowSet::from_sorted_keys(rows) };
    let place = |at: usize| if *reverse { rows.len() - 1 - at } else { at };
    let shown = (0..rows.len()).filter(|at| positions.0.contains(place(*at) as u64)).map(|at| rows[at]);
    RowSet::from_sorted_keys(&shown.collect::<Vec<u64>>())
}

fn viewport(random: &mut Random) -> (Positions, bool) {
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
    let (rows, reverse) = kinds[random.below(kinds.len() as u64) as usize].clone();
    (Positions(rows), reverse)
}

fn wanted(random: &mut Random, width: usize, full: bool) -> SubscriptionRequest {
    let part = random.chance(3);
    let columns = part.then(|| (0..width).filter(|_| random.chance(2)).collect::<ColumnSet>());
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
    fn new(random: &mut Random, world: &World) -> Client {
        let wire = WireSchema::of(&world.schema()).expect("types of the wire");
        let layout = Layout { deephaven_nulls: random.chance(2), columns_as_list: random.chance(2) };
        let header = wire.header(layout.columns_as_list).expect("a header");
        let read = read_schema(&header).expect("a schema");
        let wire = WireSchema::received(&read, layout.columns_as_list).expect("types of the wire");
        let full = random.chance(3);
        let request = wanted(random, wire.width(), full);
        Client {
            subscriber: Subscriber::new(&request, wire.width(), false).expect("a request"),
            receiver: Receiver::new(wire.clone(), layout),
            mirror: Mirror::new(wire.clone(), !full),
            layout,
            limits: Limits { rows: if random.chance(2) { 1 + random.below(4) } else { 1 << 16 }, bytes: 1 << 20 },
            held: Held { viewport: None, columns: ColumnSet::all(wire.width()) },
            full,
            updates: 0,
            merged: 0,
            last_seq: -2,
        }
    }

    /// Sends all that is due, and compares after each update.
    fn send(&mut self, now: u64, step: i64, world: &World) {
        let rows = world.rows();
        while let Some(Outgoing { mut train, .. }) = self.subscriber.next(now, step, &rows) {
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
    }

    fn compare(&self, world: &World, told: &barrage::UpdateMetadata) {
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

fn run(seed: u64) -> (u64, u64) {
    let mut random = Random(seed);
    let mut world = World::new(&mut random);
    let mut clients: Vec<Client> = Vec::new();
    let mut now = 0;
    for step in 0..STEPS_OF_ONE as i64 {
        if clients.len() < 4 && random.chance(8) {
            clients.push(Client::new(&mut random, &world));
        }
        if let Some(update) = world.step(&mut random) {
            clients.iter_mut().for_each(|client| client.subscriber.push(step, &update));
        }
        now += random.below(60);
        for client in &mut clients {
            if !client.full && random.chance(12) {
                let full = random.chance(40);
                let request = wanted(&mut random, world.schema().fields().len(), full);
                client.subscriber.request(&request).expect("a viewport may change");
                client.full |= full;
            } else if client.full {
                assert!(client.subscriber.request(&wanted(&mut random, 3, false)).is_err());
            }
            if random.chance(2) {
                client.send(now, step, &world);
            }
        }
    }
    for client in &mut clients {
        client.send(now + 1000, STEPS_OF_ONE as i64, &world);
        assert_eq!(client.subscriber.due(), None);
    }
    clients.iter().fold((0, 0), |(updates, merged), client| (updates + client.updates, merged + client.merged))
}

#[test]
fn mirrors_are_the_table_after_each_update() {
    let first = std::env::var("TICKFRAME_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let (mut updates, mut merged) = (0, 0);
    for seed in first..first + STEPS / STEPS_OF_ONE {
        let found = std::panic::catch_unwind(|| run(seed));
        let (some, late) = found.unwrap_or_else(|_| panic!("TICKFRAME_SEED={seed}"));
        (updates, merged) = (updates + some, merged + late);
    }
    assert!(updates > STEPS / 4 && merged > STEPS / 20, "{updates} updates, {merged} of several steps");
}
