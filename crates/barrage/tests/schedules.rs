//! A follower between threads, under a scheduler that chooses who goes on at every lock and wake-up: a thread makes steps,
//! others merge, one sends and one asks for other parts of the table. At each update the client is the table of one step,
//! no step is missing, and in the end it is the table of the last one. A lost wake-up is a deadlock, and fails.
//!
//! Half of the schedules are random, half have few but well-placed changes of thread (PCT, depth 3).
//! `TICKFRAME_SCHEDULES` says how many in all, `TICKFRAME_SEED` from which seed. What fails prints its schedule;
//! `TICKFRAME_SCHEDULE=<that>` runs it again.

mod world;

use std::convert::Infallible;
use std::fmt::Debug;
use std::ops::DerefMut;
use std::sync::Arc;

use barrage::{Lock, Locks, News, Next, Steps};
use fastrand::Rng;
use rowset::RowSet;
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Config, Runner, thread};
use world::client::{Client, wanted};
use world::{World, chance};

/// Schedules in all, unless the environment says otherwise.
const SCHEDULES: u64 = 8_000;
/// Changes of thread that a PCT schedule places.
const DEPTH: usize = 3;
/// Draws the number of updates that are merged although nobody asks: 2.
const SIZES: u64 = 8;
/// Steps of one schedule.
const STEPS: i64 = 7;

/// The scheduler's locks.
#[derive(Debug)]
struct Shuttled;

#[derive(Debug)]
struct Shut<T>(Mutex<T>);

impl Locks for Shuttled {
    type Lock<T: Debug + Send + 'static> = Shut<T>;
}

impl<T: Debug + Send> Lock<T> for Shut<T> {
    fn new(value: T) -> Shut<T> {
        Shut(Mutex::new(value))
    }

    fn lock(&self) -> impl DerefMut<Target = T> {
        self.0.lock().expect("no poison")
    }
}

type Follower = barrage::Follower<Shuttled>;

/// A table at one step.
#[derive(Clone)]
struct At {
    world: Arc<World>,
    rows: RowSet,
    step: i64,
}

impl At {
    fn new(world: &World, step: i64) -> At {
        At { world: Arc::new(world.clone()), rows: world.rows(), step }
    }
}

/// A table as a step's thread and those who read it share it.
struct Live {
    /// None while it is replaced.
    now: Mutex<Option<At>>,
    /// The last step that changed it.
    changed: Mutex<i64>,
}

impl Steps for Live {
    type View = At;
    type Error = Infallible;

    fn view(&self) -> Result<Option<(At, i64)>, Infallible> {
        Ok(self.now.lock().expect("no poison").clone().map(|at| {
            let step = at.step;
            (at, step)
        }))
    }

    fn rows(view: &At) -> &RowSet {
        &view.rows
    }

    fn changed(&self) -> Option<i64> {
        Some(*self.changed.lock().expect("no poison"))
    }
}

/// Wakes the one who sends; a call that comes early is kept.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    ring: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().expect("no poison") = true;
        self.ring.notify_one();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().expect("no poison");
        while !*rung {
            rung = self.ring.wait(rung).expect("no poison");
        }
        *rung = false;
    }
}

/// Lays a step's update down, as a listener does.
fn hear(
    follower: &Arc<Follower>,
    bell: &Bell,
    step: i64,
    news: Option<News>,
    merging: &mut Vec<thread::JoinHandle<()>>,
) {
    if follower.hear(step, news) {
        let follower = follower.clone();
        merging.push(thread::spawn(move || follower.merge()));
    }
    bell.ring();
}

/// The thread of the steps.
fn steps(live: &Live, follower: &Arc<Follower>, bell: &Bell, mut world: World, mut random: Rng) {
    let mut merging = Vec::new();
    // A listener that begins is told of the step that it begins at.
    hear(follower, bell, 1, None, &mut merging);
    for step in 2..=STEPS {
        let early = chance(&mut random, 2);
        *live.now.lock().expect("no poison") = None;
        let mut news = world.step(&mut random).map(News::Update);
        let changes = news.is_some();
        if changes && early {
            hear(follower, bell, step, news.take(), &mut merging);
        }
        if changes {
            *live.changed.lock().expect("no poison") = step;
        }
        *live.now.lock().expect("no poison") = Some(At::new(&world, step));
        if changes && !early {
            hear(follower, bell, step, news, &mut merging);
        }
    }
    merging.into_iter().for_each(|merging| merging.join().expect("a thread that merges"));
    bell.ring();
}

fn schedule() {
    let mut random = Rng::with_seed(shuttle::rand::thread_rng().r#gen());
    let world = World::new(&mut random);
    let (mut client, subscriber) = Client::new(&mut random, &world);
    let (follower, bell) = (Arc::new(Follower::new(subscriber)), Arc::new(Bell::default()));
    let live = Arc::new(Live { now: Mutex::new(Some(At::new(&world, 1))), changed: Mutex::new(1) });
    let over = Arc::new(Mutex::new(false));
    let stepping = {
        let (live, follower, bell, over) = (live.clone(), follower.clone(), bell.clone(), over.clone());
        let random = Rng::with_seed(random.u64(..));
        thread::spawn(move || {
            steps(&live, &follower, &bell, world, random);
            *over.lock().expect("no poison") = true;
            bell.ring();
        })
    };
    let asking = (!client.full && chance(&mut random, 2)).then(|| {
        let (follower, bell, mut random) = (follower.clone(), bell.clone(), Rng::with_seed(random.u64(..)));
        thread::spawn(move || {
            follower.request(&wanted(&mut random, 6, false)).expect("a viewport may change");
            bell.ring();
        })
    });
    let mut now = 0;
    loop {
        // What is over now has said all that it says.
        let ended = *over.lock().expect("no poison");
        match follower.next(now, &*live).expect("a table that can be read") {
            Next::Send((outgoing, at)) => client.take(outgoing, at.step, &at.world),
            Next::Soon => thread::yield_now(),
            Next::Idle(Some(due)) => now = due.max(now),
            Next::Idle(None) if ended => break,
            Next::Idle(None) => bell.wait(),
            Next::Failed(failure) => panic!("{failure:?}"),
        }
        now += random.u64(..40);
    }
    stepping.join().expect("the thread of the steps");
    if let Some(asking) = asking {
        asking.join().expect("the thread that asks");
    }
    while let Next::Send((outgoing, at)) = follower.next(u64::MAX, &*live).expect("a table that can be read") {
        client.take(outgoing, at.step, &at.world);
    }
    let (last, _) = live.view().expect("a table that can be read").expect("steps are over");
    client.compare(&last.world, &"the end");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

#[test]
fn a_client_is_the_table_of_one_step_whoever_goes_on() {
    if let Ok(given) = std::env::var("TICKFRAME_SCHEDULE") {
        limits::Scope::drawn(SIZES).enter(|| shuttle::replay(schedule, &given));
        return;
    }
    let seed = number("TICKFRAME_SEED").unwrap_or(0);
    let half = (number("TICKFRAME_SCHEDULES").unwrap_or(SCHEDULES) / 2).max(1) as usize;
    // Sizes at which merging begins; the threads of a schedule are one thread of the machine.
    limits::Scope::drawn(SIZES).enter(|| {
        Runner::new(RandomScheduler::new_from_seed(seed, half), Config::new()).run(schedule);
        Runner::new(PctScheduler::new_from_seed(seed, DEPTH, half), Config::new()).run(schedule);
    });
}
