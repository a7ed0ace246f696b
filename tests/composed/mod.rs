//! Random graphs of 3 to 30 operations over two input tables, against the model.
//!
//! Everything comes from one tape: the operations and what they stand on, when each is attached, dropped and attached
//! again, how many threads there are and who runs next, whether cycles run by hand or by themselves, what the inputs
//! do. After each cycle every table there is equals the model's, and has told every change of it; snapshots of all
//! tables at once are taken between cycles and beside them, must be of one step, and must not change afterwards.

mod plan;
mod run;
mod struck;

use engine::testing::explore;

/// Graphs in a plain run; `make prove` asks for more.
const GRAPHS: u64 = 1_500;

#[test]
fn composed_graphs_equal_the_model() {
    explore(GRAPHS, |tape| {
        let plan = plan::Plan::draw(tape);
        run::run(tape, &plan, None).map(|_| ())
    });
}

/// Row keys and cells of every table after every step.
#[test]
fn the_number_of_threads_changes_nothing() {
    explore(60, |tape| {
        let plan = plan::Plan::draw(tape);
        let start = tape.clone();
        let mut digest = None;
        for threads in [1, 2, 4, 8] {
            *tape = start.clone();
            let found = run::run(tape, &plan, Some(threads))?;
            if *digest.get_or_insert(found) != found {
                return Err(format!("{threads} threads make other tables than one"));
            }
        }
        Ok(())
    });
}
