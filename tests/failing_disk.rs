//! Durable tables over a disk that fails and loses power: what was acknowledged is there after any crash, a step and a
//! checkpoint are there whole or not at all, and a checkpoint that failed is made good by the next.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durable::{Asked, Durable, Report, restore_on};
use engine::sources::Token;
use engine::testing::{Case, Plain, Source, Tape, any_table, count_step, explore};
use fastrand::Rng;
use graph::UpdateGraph;
use log::testing::{Faults, Simulated, State};

use crate::restoring::{Opened, plain, still_graph, tables_of};

const FOLDER: &str = "/deep/graph";
/// How long a wait may take on a machine that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A table that runs on, and the same table in a graph whose disk fails.
struct Twins {
    name: String,
    case: Case,
    durable: bool,
    runs_on: Source,
    kept: Source,
}

/// The tables of one kind, durable or not, at one moment: none if a folder does not have them yet.
type Together = Vec<Option<Plain>>;

struct Run {
    dice: Rng,
    disk: Simulated,
    faults: Faults,
    twin_graph: UpdateGraph,
    opened: Opened,
    twins: Vec<Twins>,
    tokens: Vec<Token>,
    /// What the durable tables were after each step, and from which one on a crash may lead there.
    history: Vec<Together>,
    acknowledged: usize,
    /// What the others were, and from which one on a crash may leave them so: the last checkpoint, or one behind it that failed
    /// or that the log asked for.
    others: Vec<Together>,
    saved: usize,
}

fn opened(disk: &Simulated) -> Result<Opened, String> {
    let graph = still_graph();
    let durable =
        Durable::open_on(Arc::new(disk.clone()), Path::new(FOLDER), &graph).map_err(|error| error.to_string())?;
    Ok(Opened { graph, durable })
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Run {
    fn new(tape: &mut Tape) -> Result<Run, String> {
        let seed = tape.below(1 << 30);
        let disk = Simulated::new(State::new(), seed);
        let faults = if tape.chance(40) { Faults::None } else { Faults::OneIn(2 + tape.below(30)) };
        let (twin_graph, opened) = (still_graph(), opened(&disk)?);
        let mut twins = Vec::new();
        for at in 0..1 + tape.below(3) {
            let (runs_on, case) = Source::draw(&twin_graph, &any_table(), tape).map_err(text)?;
            let (name, durable) = (format!("t{at}"), !tape.chance(100));
            let kept = opened.source(&name, &case, durable)?;
            twins.push(Twins { name, case, durable, runs_on, kept });
        }
        let mut run = Run {
            dice: Rng::with_seed(seed),
            disk,
            faults,
            twin_graph,
            opened,
            twins,
            tokens: Vec::new(),
            history: Vec::new(),
            acknowledged: 0,
            others: Vec::new(),
            saved: 0,
        };
        run.history = vec![run.together(true)];
        let nothing = run.twins.iter().filter(|twins| !twins.durable).map(|_| None).collect();
        run.others = vec![nothing, run.together(false)];
        Ok(run)
    }

    /// The tables that are durable, or those that are not, as they are.
    fn together(&self, durable: bool) -> Together {
        let of_kind = self.twins.iter().filter(|twins| twins.durable == durable);
        of_kind.map(|twins| Some(plain(twins.runs_on.table()))).collect()
    }

    /// Whether a folder has these tables.
    fn has(&self, contents: &[(String, Plain)], durable: bool, wanted: &Together) -> bool {
        let names = self.twins.iter().filter(|twins| twins.durable == durable).map(|twins| &twins.name);
        names.zip(wanted).all(|(name, wanted)| {
            let found = contents.iter().find(|(found, _)| found == name).map(|(_, found)| found);
            match (wanted, found) {
                (Some(wanted), Some(found)) => wanted.first_difference(found).is_none(),
                (None, Some(found)) => found.rows.is_empty(),
                (wanted, None) => wanted.is_none(),
            }
        })
    }

    /// What a loss of power at some of these moments leaves is what it may leave.
    fn crash(&mut self, moments: &[State], (acknowledged, saved): (usize, usize)) -> Result<(), String> {
        for _ in 0..3 {
            let at = self.dice.u64(..moments.len() as u64) as usize;
            let image = Simulated::new(moments[at].crashed(&mut self.dice), 0);
            let contents = restore_on(Arc::new(image), Path::new(FOLDER)).map_err(text)?;
            let contents = tables_of(&contents);
            let last = self.history.len() - 1;
            if !self.history[acknowledged..].iter().any(|state| self.has(&contents, true, state)) {
                let shown = |(name, table): &(String, Plain)| format!("{name}: {table}");
                let found = contents.iter().map(shown).collect::<Vec<_>>().join("\n");
                return Err(format!("a crash leaves no step from {acknowledged} to {last}: {found}"));
            }
            if !self.others[saved..].iter().any(|state| self.has(&contents, false, state)) {
                let shown = |(name, table): &(String, Plain)| format!("{name}: {table}");
                let (found, states) =
                    (contents.iter().map(shown).collect::<Vec<_>>().join("\n"), &self.others[saved..]);
                return Err(format!("a crash leaves no checkpoint from {saved} on: {found}\nbut one of {states:#?}"));
            }
        }
        Ok(())
    }

    /// Does something while the disk fails, and gives what was on the disk meanwhile.
    fn with<R>(&mut self, run: impl FnOnce(&mut Run) -> R) -> (R, Vec<State>) {
        self.disk.record();
        self.disk.set_faults(self.faults);
        let answer = run(self);
        self.disk.set_faults(Faults::None);
        (answer, self.disk.recorded())
    }

    /// Calls until the disk, which works now, has taken what it did not take before.
    fn patiently<R>(&self, mut call: impl FnMut() -> Result<R, String>) -> Result<R, String> {
        self.disk.set_faults(Faults::None);
        let deadline = Instant::now() + PATIENCE;
        loop {
            match call() {
                Err(_) if Instant::now() < deadline => std::thread::yield_now(),
                answer => return answer,
            }
        }
    }

    /// A step, and perhaps a wait for it.
    fn step(&mut self, tape: &mut Tape) -> Result<(), String> {
        let mut steps = Vec::new();
        for twins in &mut self.twins {
            let schema = twins.case.mirror.schema.clone();
            let step = if tape.chance(60) { None } else { Some(twins.case.step(tape)) };
            let step = step.filter(|step| !step.is_empty() || step.keyed.is_some());
            if let Some(step) = &step {
                let _ = twins.runs_on.apply(step, &schema).map_err(text)?;
            }
            steps.push(step.map(|step| (step, schema)));
        }
        self.twin_graph.step().map_err(text)?;
        let waits = tape.chance(128);
        let (done, moments) = self.with(|run| {
            for (twins, step) in run.twins.iter().zip(&steps) {
                let Some((step, schema)) = step else { continue };
                let token = match twins.kept.apply(step, schema) {
                    Err(engine::Error::Storage { .. }) => {
                        run.patiently(|| twins.kept.apply(step, schema).map_err(text))?
                    }
                    answer => answer.map_err(text)?,
                };
                run.tokens.push(token);
            }
            run.opened.graph.step().map_err(text)?;
            let mut all = waits;
            for token in run.tokens.iter().filter(|_| waits) {
                match token.wait(Some(PATIENCE), &mut || true) {
                    Ok(_) => {}
                    Err(engine::Error::Storage { .. }) => all = false,
                    Err(error) => return Err(text(error)),
                }
            }
            Ok(all)
        });
        let is_acknowledged = done?;
        self.history.push(self.together(true));
        self.others.push(self.together(false));
        self.crash(&moments, (self.acknowledged, self.saved))?;
        if is_acknowledged {
            self.acknowledge();
        }
        Ok(())
    }

    fn acknowledge(&mut self) {
        self.tokens.clear();
        self.acknowledged = self.history.len() - 1;
    }

    fn checkpoint(&mut self) -> Result<(), String> {
        let (report, moments) = self.with(|run| run.opened.durable.checkpoint(&Asked::default()));
        self.crash(&moments, (self.acknowledged, self.saved))?;
        match report {
            Ok(report) => self.is_saved(&report),
            Err(error) => {
                let of_storage = matches!(&error, durable::Error::Engine(engine::Error::Storage { .. }));
                if !of_storage && !error.is_of_disk() {
                    return Err(format!("a disk that fails is told as {error}"));
                }
                Ok(())
            }
        }
    }

    /// What a checkpoint saved stays.
    fn is_saved(&mut self, report: &Report) -> Result<(), String> {
        self.saved = self.others.len() - 1;
        self.acknowledge();
        let now = self.disk.state();
        self.crash(&[now], (self.acknowledged, self.saved)).map_err(|what| format!("after {report:?}: {what}"))
    }

    /// The next checkpoint, on a disk that works, makes good what failed.
    fn make_good(&mut self) -> Result<(), String> {
        let durable = self.opened.durable.clone();
        let report = self.patiently(|| durable.checkpoint(&Asked::default()).map_err(text))?;
        self.is_saved(&report)
    }

    /// The process ends, or the power goes; the folder is opened anew. Tables without a journal begin anew, so they are left
    /// out from here on.
    fn open_anew(&mut self, tape: &mut Tape) -> Result<(), String> {
        self.make_good()?;
        let mut state = self.disk.state();
        if tape.chance(128) {
            state = state.crashed(&mut self.dice);
        }
        self.disk = Simulated::new(state, self.dice.u64(..1 << 30));
        self.opened = opened(&self.disk)?;
        self.twins.retain(|twins| twins.durable);
        for twins in &mut self.twins {
            twins.kept = self.opened.source(&twins.name, &twins.case, true)?;
            if let Some(what) = plain(twins.runs_on.table()).first_difference(&plain(twins.kept.table())) {
                return Err(format!("opened anew, table {}: {what}", twins.name));
            }
        }
        (self.history, self.acknowledged) = (vec![self.together(true)], 0);
        (self.others, self.saved) = (vec![Vec::new()], 0);
        Ok(())
    }
}

fn run(tape: &mut Tape) -> Result<(), String> {
    let mut run = Run::new(tape)?;
    for _ in 0..1 + tape.below(8) {
        count_step();
        run.step(tape)?;
        match tape.below(6) {
            0 | 1 => run.checkpoint()?,
            2 => run.make_good()?,
            3 => run.open_anew(tape)?,
            _ => {}
        }
    }
    run.make_good()?;
    run.opened.durable.close().map_err(text)
}

#[test]
fn what_was_acknowledged_outlives_a_disk_that_fails() {
    explore(80, run);
}
