//! Subscribers of a random table, each with a mirror of what it is sent: after each update the mirror is what a snapshot
//! of the table gives. Subscribers are late, change what they want, and have small messages.

mod world;

use barrage::Subscriber;
use fastrand::Rng;
use world::client::{Client, wanted};
use world::{World, chance};

/// Steps of all cases together.
const STEPS: u64 = 300_000;
const STEPS_OF_ONE: u64 = 200;

/// A client, and what the table's side knows of it.
struct Followed {
    client: Client,
    subscriber: Subscriber,
}

impl Followed {
    /// Sends all that is due.
    fn send(&mut self, now: u64, step: i64, world: &World) {
        let rows = world.rows();
        while let Some(outgoing) = self.subscriber.next(now, step, &rows) {
            self.client.take(outgoing, step, world);
        }
    }
}

fn run(seed: u64) -> (u64, u64) {
    let mut random = Rng::with_seed(seed);
    let mut world = World::new(&mut random);
    let mut clients: Vec<Followed> = Vec::new();
    let mut now = 0;
    for step in 0..STEPS_OF_ONE as i64 {
        if clients.len() < 4 && chance(&mut random, 8) {
            let (client, subscriber) = Client::new(&mut random, &world);
            clients.push(Followed { client, subscriber });
        }
        if let Some(update) = world.step(&mut random) {
            clients.iter_mut().for_each(|client| client.subscriber.push(step, &update));
        }
        now += random.u64(..60);
        for followed in &mut clients {
            let Followed { client, subscriber } = followed;
            if !client.full && chance(&mut random, 12) {
                let full = chance(&mut random, 40);
                let request = wanted(&mut random, world.schema().fields().len(), full);
                subscriber.request(&request).expect("a viewport may change");
                client.full |= full;
            } else if client.full {
                assert!(subscriber.request(&wanted(&mut random, 3, false)).is_err());
            }
            if chance(&mut random, 2) {
                followed.send(now, step, &world);
            }
        }
    }
    for client in &mut clients {
        client.send(now + 1000, STEPS_OF_ONE as i64, &world);
        assert_eq!(client.subscriber.due(), None);
    }
    clients
        .iter()
        .fold((0, 0), |(updates, merged), Followed { client, .. }| (updates + client.updates, merged + client.merged))
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
