//! Runs a plan: inputs that change, tables that come and go, cycles by hand or by themselves.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use engine::failpoints::TEXT;
use engine::sources::Token;
use engine::testing::{Case, Plain, RawStep, Source, Tape, Watch, count_step};
use engine::{Error, Table, snapshot};
use graph::{Schedule, Settings, UpdateGraph};
use model::{Fault, differences};

use super::plan::{INPUTS, Plan};
use super::struck::{Struck, stands_on};
use crate::oracle::to_model;
use engine::failpoints::amid;

/// A machine that hangs is told from a slow one after so long.
const PATIENCE: Duration = Duration::from_secs(60);

type Verdict = Result<(), String>;

struct Feed {
    source: Arc<Source>,
    case: Case,
}

/// What has become of an operation's table.
enum Standing {
    /// Not attached, or dropped.
    Absent,
    Here(Table, Watch),
    /// Failed, as the model said it would; so has all that stands on it.
    Failed,
}

struct Run<'a> {
    plan: &'a Plan,
    graph: UpdateGraph,
    feeds: Vec<Feed>,
    inputs: Vec<(Table, Watch)>,
    places: Vec<Standing>,
    /// Snapshots that were taken, with what was in them.
    held: Vec<(Table, Plain)>,
    by_itself: bool,
    /// Several steps may have settled since the last judgement: a failure may have come and its cause gone again.
    unseen: bool,
    digest: DefaultHasher,
    /// Whether somebody asks for it.
    keeps_digest: bool,
    /// Tables that are to fail, and those below them, each with the failures it was told of.
    struck: Vec<Struck>,
}

/// One graph from its first row to its last step; a digest of all that was in its tables. `threads` stands in for what
/// the tape says of threads and schedule, and then cycles run by hand.
pub fn run(tape: &mut Tape, plan: &Plan, threads: Option<usize>) -> Result<u64, String> {
    let mut run = Run::new(tape, plan, threads)?;
    run.change(tape)?;
    let steps = tape.between(3, 20);
    for _ in 0..steps {
        if run.by_itself {
            run.turn_by_itself(tape)?
        } else {
            run.turn_by_hand(tape)?
        }
        run.judge()?;
    }
    run.graph.stop();
    run.check_held()?;
    Ok(run.digest.finish())
}

impl Run<'_> {
    fn new<'a>(tape: &mut Tape, plan: &'a Plan, fixed: Option<usize>) -> Result<Run<'a>, String> {
        let (drawn, init) = (*tape.choose(&[1, 1, 2, 4]), *tape.choose(&[1, 1, 2, 4]));
        let threads = Some(fixed.unwrap_or(drawn));
        let settings = Settings { period: Duration::ZERO, threads, init_threads: Some(fixed.unwrap_or(init)) };
        let graph = UpdateGraph::new(settings);
        let schedule = match tape.below(4) {
            0 | 1 => Schedule::Inline { seed: u64::from(tape.byte()) },
            2 => Schedule::Eager,
            _ => Schedule::Pool,
        };
        graph.set_schedule(if fixed.is_some() { Schedule::Eager } else { schedule });
        let (mut feeds, mut inputs) = (Vec::new(), Vec::new());
        let [left, right] = plan.types.specs();
        for spec in [left, right.rows(20)] {
            let (source, case) = Source::draw_any(&graph, &spec, tape).map_err(harness)?;
            let watch = Watch::attach(source.table()).map_err(harness)?;
            inputs.push((source.table().clone(), watch));
            feeds.push(Feed { source: Arc::new(source), case });
        }
        let places = plan.places.iter().map(|_| Standing::Absent).collect();
        let by_itself = tape.chance(50) && fixed.is_none();
        if by_itself {
            graph.start();
        }
        Ok(Run {
            plan,
            graph,
            feeds,
            inputs,
            places,
            held: Vec::new(),
            by_itself,
            unseen: by_itself,
            digest: DefaultHasher::new(),
            keeps_digest: fixed.is_some(),
            struck: Vec::new(),
        })
    }

    /// The table at a place of the plan, if it is there.
    fn table(&self, at: usize) -> Option<&Table> {
        match at.checked_sub(INPUTS).map(|place| &self.places[place]) {
            None => Some(&self.inputs[at].0),
            Some(Standing::Here(table, _)) => Some(table),
            Some(Standing::Absent | Standing::Failed) => None,
        }
    }

    /// Queues steps of the inputs.
    fn feed(&mut self, tape: &mut Tape) -> Result<Vec<Token>, String> {
        let mut tokens = Vec::new();
        for feed in &mut self.feeds {
            for _ in 0..*tape.choose(&[1, 1, 0, 2]) {
                let step = feed.case.step(tape);
                if step.is_empty() {
                    continue;
                }
                count_step();
                let token = feed.source.apply(&step, &feed.case.mirror.schema);
                tokens.push(token.map_err(|error| format!("a lawful step was refused: {error}"))?);
            }
        }
        Ok(tokens)
    }

    /// Attaches what can be attached, or drops something, a few times.
    fn change(&mut self, tape: &mut Tape) -> Verdict {
        for _ in 0..1 + tape.below(4) {
            let at = tape.below(self.places.len() as u64) as usize;
            if tape.chance(50) {
                self.places[at] = match std::mem::replace(&mut self.places[at], Standing::Absent) {
                    Standing::Failed => Standing::Failed,
                    Standing::Absent | Standing::Here(..) => Standing::Absent,
                };
            }
            // From there on upwards, what stands on something that is there.
            let many = 1 + tape.below(4);
            let absent = (at..self.places.len()).filter(|&place| matches!(self.places[place], Standing::Absent));
            for place in absent.take(many as usize).collect::<Vec<_>>() {
                self.attach(INPUTS + place)?;
            }
        }
        Ok(())
    }

    /// Attaches something while cycles run between its reading and its joining.
    fn attach_amid_steps(&mut self, tape: &mut Tape) -> Verdict {
        let absent = (0..self.places.len()).filter(|&place| matches!(self.places[place], Standing::Absent));
        let absent: Vec<usize> = absent.collect();
        if absent.is_empty() {
            return Ok(());
        }
        // Drawn beforehand, so that the tape is read in one order; the first is taken first.
        let mut coming: Vec<(usize, RawStep)> = Vec::new();
        for _ in 0..1 + tape.below(5) {
            let at = tape.below(INPUTS as u64) as usize;
            let step = self.feeds[at].case.step(tape);
            if !step.is_empty() {
                count_step();
                coming.push((at, step));
            }
        }
        coming.reverse();
        let coming = Rc::new(RefCell::new(coming));
        let at_once = 1 + tape.below(2);
        let happening = {
            let (graph, coming) = (self.graph.clone(), coming.clone());
            let sources: Vec<_> =
                self.feeds.iter().map(|feed| (feed.source.clone(), feed.case.mirror.schema.clone())).collect();
            move || {
                for _ in 0..at_once {
                    let Some((at, step)) = coming.borrow_mut().pop() else { return };
                    let (source, schema) = &sources[at];
                    source.apply(&step, schema).expect("a lawful step");
                    // In the last round the driver keeps cycles away; what was queued is taken later.
                    let _ = graph.step();
                }
            }
        };
        self.unseen = true;
        let place = *tape.choose(&absent);
        amid(happening, || self.attach(INPUTS + place))?;
        for (at, step) in coming.take().into_iter().rev() {
            let feed = &self.feeds[at];
            feed.source.apply(&step, &feed.case.mirror.schema).map_err(|error| format!("a lawful step: {error}"))?;
        }
        self.graph.step().map_err(|error| format!("the cycle itself: {error}"))?;
        self.judge()?;
        self.unseen = self.by_itself;
        Ok(())
    }

    fn attach(&mut self, at: usize) -> Verdict {
        let place = &self.plan.places[at - INPUTS];
        let (Some(main), Some(other)) = (self.table(place.main), self.table(place.other)) else { return Ok(()) };
        let made = place.stage.engine(main, other).and_then(|table| Ok((Watch::attach(&table)?, table)));
        match made {
            Ok((watch, table)) => self.places[at - INPUTS] = Standing::Here(table, watch),
            // Cycles that run meanwhile may have brought what it fails on, and taken it away again.
            Err(Error::Match { .. } | Error::TableFailed(_)) if self.unseen => {
                self.places[at - INPUTS] = Standing::Failed;
            }
            Err(error) => {
                let models = self.models();
                if models[at].is_ok() {
                    return Err(format!("{:?} was refused: {error}", place.stage));
                }
                self.places[at - INPUTS] = Standing::Failed;
            }
        }
        Ok(())
    }

    fn turn_by_hand(&mut self, tape: &mut Tape) -> Verdict {
        if tape.chance(100) {
            self.change(tape)?;
            self.judge()?;
        }
        if tape.chance(60) {
            self.take_snapshot()?;
        }
        if tape.chance(50) {
            self.attach_amid_steps(tape)?;
        }
        if tape.chance(10) && self.struck.is_empty() {
            self.strike(tape)?;
        }
        self.feed(tape)?;
        if !tape.chance(24) {
            return self.graph.step().map(|_| ()).map_err(|error| format!("the cycle itself: {error}"));
        }
        // A reader beside the cycle, and what it finds must be of one step.
        let tables = self.here();
        let copies = std::thread::scope(|scope| {
            let reader = scope.spawn(|| snapshot(&tables.iter().map(|(_, table)| table.clone()).collect::<Vec<_>>()));
            let stepped = self.graph.step();
            (reader.join(), stepped)
        });
        let (Ok(found), Ok(_)) = copies else { return Err("the reader or the cycle panicked".into()) };
        self.judge_snapshot(&tables, found)
    }

    /// Cycles run as soon as something is queued: tables are attached, dropped and read while they do.
    fn turn_by_itself(&mut self, tape: &mut Tape) -> Verdict {
        let mut tokens = self.feed(tape)?;
        for _ in 0..tape.below(4) {
            match tape.below(3) {
                0 => self.change(tape)?,
                1 => tokens.extend(self.feed(tape)?),
                _ => self.take_snapshot()?,
            }
        }
        for token in tokens {
            token.wait(Some(PATIENCE), &mut || true).map_err(|error| format!("a wait: {error}"))?;
        }
        Ok(())
    }

    /// Something in the graph is to fail at its next update, and all below it with it.
    fn strike(&mut self, tape: &mut Tape) -> Verdict {
        // What stands on static tables alone never changes, and so never fails.
        let live = |at: &usize| self.table(*at).is_some_and(Table::is_live);
        let here: Vec<usize> = (INPUTS..INPUTS + self.places.len()).filter(live).collect();
        if here.is_empty() {
            return Ok(());
        }
        let chosen = self.table(*tape.choose(&here)).expect("it is here").clone();
        // A source's own table may stand at a place, where an operation gives back what it was given.
        if self.inputs.iter().any(|(input, _)| input.same(&chosen)) {
            return Ok(());
        }
        let below = here.iter().filter_map(|at| self.table(*at)).filter(|table| stands_on(table, &chosen));
        let below: Vec<Table> = below.cloned().collect();
        self.struck.push(Struck::new(tape, chosen, below).map_err(harness)?);
        Ok(())
    }

    /// What was struck has failed with all that stood on it.
    fn check_struck(&mut self) -> Verdict {
        self.struck.iter().try_for_each(Struck::check)?;
        let failed = |table: &Table| {
            let failure = table.failure();
            failure.is_some_and(|failure| failure.cause.to_string().contains(TEXT))
        };
        for place in &mut self.places {
            if matches!(place, Standing::Here(table, _) if failed(table)) {
                *place = Standing::Failed;
            }
        }
        Ok(())
    }

    fn here(&self) -> Vec<(usize, Table)> {
        (0..INPUTS + self.places.len()).filter_map(|at| Some((at, self.table(at)?.clone()))).collect()
    }

    /// All tables there are at one moment: the operations' must be the model's over the inputs'.
    fn take_snapshot(&mut self) -> Verdict {
        let tables = self.here();
        let found = snapshot(&tables.iter().map(|(_, table)| table.clone()).collect::<Vec<_>>());
        self.judge_snapshot(&tables, found)
    }

    fn judge_snapshot(&mut self, tables: &[(usize, Table)], found: Result<Vec<Table>, Error>) -> Verdict {
        let copies = match found {
            Ok(copies) => copies,
            // A table failed in the step that has just settled; the next judgement says whether it should have.
            Err(_) if tables.iter().any(|(_, table)| table.failure().is_some()) => return Ok(()),
            Err(error) => return Err(format!("a snapshot was refused: {error}")),
        };
        let plains: Vec<Plain> = copies.iter().map(plain).collect::<Result<_, String>>()?;
        let models = self.models_of([to_model(&plains[0]), to_model(&plains[1])]);
        for ((at, _), plain) in tables.iter().zip(&plains) {
            let Ok(wanted) = &models[*at] else { continue };
            if let Some(text) = differences(wanted, &to_model(plain), &self.plan.compare(*at)) {
                return Err(self.about(*at, &format!("in a snapshot of all: {text}\n  found {plain}")));
            }
        }
        if self.held.len() < 40 {
            self.held.extend(copies.into_iter().zip(plains));
        }
        Ok(())
    }

    /// What was read once is the same for ever.
    fn check_held(&self) -> Verdict {
        for (table, then) in &self.held {
            if let Some(text) = then.first_difference(&plain(table)?) {
                return Err(format!("a held snapshot changed: {text}"));
            }
        }
        Ok(())
    }

    fn models(&self) -> Vec<Result<model::Table, Fault>> {
        let input = |at: usize| to_model(&self.feeds[at].case.mirror.plain());
        self.models_of([input(0), input(1)])
    }

    fn models_of(&self, inputs: [model::Table; INPUTS]) -> Vec<Result<model::Table, Fault>> {
        let mut models: Vec<Result<model::Table, Fault>> = inputs.into_iter().map(Ok).collect();
        for (place, standing) in self.plan.places.iter().zip(&self.places) {
            let made = match (&models[place.main], &models[place.other], standing) {
                (_, _, Standing::Failed) => Err(Fault("it failed before".into())),
                (Ok(main), Ok(other), _) => place.stage.model(main, other),
                (Err(fault), ..) | (_, Err(fault), _) => Err(fault.clone()),
            };
            models.push(made);
        }
        models
    }

    /// Every table against its model, and every update of it against the law of updates.
    fn judge(&mut self) -> Verdict {
        self.check_struck()?;
        for (feed, (table, watch)) in self.feeds.iter().zip(&self.inputs) {
            let difference = watch.with_now(|now| feed.case.first_difference(now));
            if let Some(text) =
                watch.fault().or(difference).or(table.failure().map(|failure| failure.cause.to_string()))
            {
                return Err(format!("an input table: {text}"));
            }
        }
        let models = self.models();
        for (at, model) in models.iter().enumerate().skip(INPUTS) {
            let Standing::Here(table, watch) = &self.places[at - INPUTS] else { continue };
            let (failure, fault) = (table.failure(), watch.fault());
            match (model, failure, fault) {
                (Err(_), Some(_), _) => self.places[at - INPUTS] = Standing::Failed,
                (Err(fault), None, _) => {
                    // By itself, several steps may pass between two looks: the model sees only the last.
                    return Err(self.about(at, &format!("it should have failed: {fault}")));
                }
                (Ok(_), Some(_), _) if self.unseen => self.places[at - INPUTS] = Standing::Failed,
                (Ok(_), Some(failure), _) => {
                    return Err(self.about(at, &format!("it failed: {}: {}", failure.culprit, failure.cause)));
                }
                (Ok(_), None, Some(fault)) => return Err(self.about(at, &fault)),
                (Ok(wanted), None, None) => {
                    if self.keeps_digest {
                        (at, watch.now().to_string()).hash(&mut self.digest);
                    }
                    let difference = watch.with_now(|now| differences(wanted, &to_model(now), &self.plan.compare(at)));
                    if let Some(text) = difference {
                        return Err(self.about(at, &format!("{text}\n  found {}", watch.now())));
                    }
                }
            }
        }
        Ok(())
    }

    /// A fault with the operations that lead to it.
    fn about(&self, at: usize, text: &str) -> String {
        let mut wanted = vec![at];
        let mut lines = Vec::new();
        for table in (INPUTS..=at).rev() {
            if wanted.contains(&table) {
                let parents = self.plan.parents(table);
                lines.push(format!("\n  table {table} = {:?} of {parents:?}", self.plan.places[table - INPUTS].stage));
                wanted.extend(parents);
            }
        }
        let inputs: Vec<String> =
            self.feeds.iter().map(|feed| format!("\n  input {}", feed.case.mirror.plain())).collect();
        lines.reverse();
        format!("table {at}: {text}{}{}", lines.join(""), inputs.join(""))
    }
}

fn harness(error: Error) -> String {
    format!("the harness itself: {error}")
}

/// All cells of a static table.
fn plain(table: &Table) -> Result<Plain, String> {
    Ok(Watch::attach(table).map_err(harness)?.now())
}
