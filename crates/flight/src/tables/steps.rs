//! The steps of a batch before any of them runs: their order, which are equal, and of which a table is made.

use std::collections::{BTreeSet, HashMap, HashSet};

use prost::Message as _;
use tonic::Status;

use super::messages::{Operation, Request};

/// Steps of one plan at most: what is looked for in a plan costs more than its length.
const PLAN: usize = 128;

/// The steps of a batch.
pub(super) struct Steps {
    pub(super) operations: Vec<Operation>,
    /// Their places, each behind those that it stands on.
    pub(super) order: Vec<usize>,
    /// For each step its place in the order.
    rank: Vec<usize>,
    /// For each step the first that is equal to it: what that makes, all of them have.
    pub(super) same: Vec<usize>,
    /// Whether somebody can ask for what a step makes when the batch is over: by its number, or that of one on it.
    pub(super) asked: Vec<bool>,
    /// Whether a table is made of a step. The others are drawn: they are parts of the plans of those that stand on them.
    pub(super) made: Vec<bool>,
}

/// Whether an operation is one of plans: it says no more than what is computed of which tables.
fn is_plain(operation: &Operation) -> bool {
    use Operation as O;
    let others = matches!(
        operation,
        O::Empty(_) | O::Time(_) | O::InputTable(_) | O::Snapshot(_) | O::Meta(_) | O::Statistics(_) | O::Downsample(_)
    );
    !others && !is_other_name(operation)
}

/// Whether its result is what it stands on.
fn is_other_name(operation: &Operation) -> bool {
    matches!(operation, Operation::Fetch(_) | Operation::Preview(_))
}

impl Steps {
    /// The steps of these operations. `alone`: those that are like no others, whatever they ask for.
    pub(super) fn new(operations: Vec<Operation>, alone: &[bool]) -> Result<Steps, Status> {
        let order = in_order(&operations)?;
        let same = same(&operations, &order, alone);
        let asked = asked_for(&operations, &order, &same);
        let made = tables(&operations, &order, &same, &asked);
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(rank_of, at)| rank[*at] = rank_of);
        Ok(Steps { operations, order, rank, same, asked, made })
    }

    /// The steps that are reached from a step by `next`, in order.
    pub(super) fn all_below(&self, at: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
        let mut found: HashSet<usize> = HashSet::new();
        let mut waiting = next(at);
        while let Some(at) = waiting.pop() {
            if found.insert(at) {
                waiting.extend(next(at));
            }
        }
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable_by_key(|at| self.rank[*at]);
        found
    }

    /// The steps that a step stands on, by the first of their equals.
    pub(super) fn below(&self, at: usize) -> impl Iterator<Item = usize> {
        self.operations[at].places().map(|place| self.same[place as usize])
    }
}

/// The places of the operations, each behind those that it stands on.
fn in_order(operations: &[Operation]) -> Result<Vec<usize>, Status> {
    let mut needs: Vec<usize> = vec![0; operations.len()];
    let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (at, operation) in operations.iter().enumerate() {
        for place in operation.places() {
            let other = usize::try_from(place).ok().filter(|place| *place < operations.len()).ok_or_else(|| {
                Status::invalid_argument(format!("operation {at} stands on operation {place}, which is none"))
            })?;
            needs[at] += 1;
            wanted[other].push(at);
        }
    }
    let mut ready: BTreeSet<usize> = (0..operations.len()).filter(|at| needs[*at] == 0).collect();
    let mut order = Vec::with_capacity(operations.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for other in &wanted[at] {
            needs[*other] -= 1;
            if needs[*other] == 0 {
                ready.insert(*other);
            }
        }
    }
    if order.len() < operations.len() {
        return Err(Status::invalid_argument("operations of the batch stand on each other in a circle"));
    }
    Ok(order)
}

/// For each operation the first that is equal to it, over equal ones.
fn same(operations: &[Operation], order: &[usize], alone: &[bool]) -> Vec<usize> {
    let mut same: Vec<usize> = (0..operations.len()).collect();
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    for at in order.iter().copied().filter(|at| !alone[*at]) {
        let operation = &operations[at];
        if is_other_name(operation) {
            if let Some(place) = operation.places().next() {
                same[at] = same[place as usize];
            }
        } else if is_plain(operation) {
            let asked = operation.over(|place| same[place as usize] as i32);
            same[at] = *known.entry(Request { operation: Some(asked) }.encode_to_vec()).or_insert(at);
        }
    }
    same
}

/// Whether somebody can ask for what an operation makes: by its number, or that of one on it.
fn asked_for(operations: &[Operation], order: &[usize], same: &[usize]) -> Vec<bool> {
    let mut asked = vec![false; operations.len()];
    for at in order.iter().copied().rev() {
        asked[same[at]] |= operations[at].ends().0.is_some();
        asked[at] |= operations[at].ends().0.is_some();
        if asked[at] {
            operations[at].places().for_each(|place| {
                asked[place as usize] = true;
                asked[same[place as usize]] = true;
            });
        }
    }
    asked
}

/// Of which operations a table is made: of those that have a number, that several stand on, and whose rows another looks at; and
/// of those on which a plan would be too long.
fn tables(operations: &[Operation], order: &[usize], same: &[usize], asked: &[bool]) -> Vec<bool> {
    let mut made: Vec<bool> = operations.iter().map(|operation| !is_plain(operation)).collect();
    let mut uses = vec![0_u32; operations.len()];
    // How many steps are in the plan of each.
    let mut steps = vec![1_usize; operations.len()];
    for at in order.iter().copied() {
        let operation = &operations[at];
        made[same[at]] |= operation.ends().0.is_some();
        if same[at] != at {
            continue;
        }
        let below: BTreeSet<usize> = operation.places().map(|place| same[place as usize]).collect();
        let in_plan = below.iter().filter(|below| !made[**below]).map(|below| steps[*below]).sum::<usize>();
        let is_long = asked[at] && in_plan >= PLAN;
        steps[at] = if is_long { 1 } else { 1 + in_plan };
        for below in below {
            uses[below] += u32::from(asked[at]);
            made[below] |= uses[below] > 1 || !is_plain(operation) || is_long;
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::super::messages::{Empty, Fetch, Merge, OfRows, Plain, TableReference};
    use super::*;
    use crate::proto::Ticket;

    fn on(place: i32) -> Option<TableReference> {
        Some(TableReference { reference: Some(super::super::messages::Reference::Place(place)) })
    }

    fn head_of(place: i32) -> Operation {
        Operation::Head(OfRows { source: on(place), ..OfRows::default() })
    }

    fn tail_of(place: i32) -> Operation {
        Operation::Tail(OfRows { source: on(place), ..OfRows::default() })
    }

    fn numbered(operation: Operation) -> Operation {
        let result = Some(Ticket::default());
        match operation {
            Operation::Head(of) => Operation::Head(OfRows { result, ..of }),
            Operation::Tail(of) => Operation::Tail(OfRows { result, ..of }),
            other => other,
        }
    }

    fn empty() -> Operation {
        Operation::Empty(Empty::default())
    }

    fn steps(operations: Vec<Operation>) -> Steps {
        let alone = vec![false; operations.len()];
        Steps::new(operations, &alone).expect("they have an order")
    }

    #[test]
    fn operations_run_behind_what_they_stand_on() {
        assert_eq!(in_order(&[head_of(1), head_of(2), empty()]).ok(), Some(vec![2, 1, 0]));
        assert_eq!(in_order(&[empty(), head_of(0), empty()]).ok(), Some(vec![0, 1, 2]));
        for wrong in [vec![head_of(0)], vec![head_of(1), head_of(0)], vec![head_of(-1)], vec![head_of(1)]] {
            let refused = in_order(&wrong).expect_err("it has no order");
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
    }

    #[test]
    fn what_has_no_number_is_asked_for_by_what_stands_on_it() {
        let of = steps(vec![empty(), head_of(0), numbered(tail_of(1)), empty(), head_of(3), tail_of(4)]);
        assert_eq!(of.asked, [true, true, true, false, false, false]);
        // A table is made of what has a number, and of what is no operation of plans.
        assert_eq!(of.made, [true, false, true, true, false, false]);
    }

    #[test]
    fn equal_operations_over_equal_ones_are_one() {
        let of = steps(vec![empty(), head_of(0), head_of(0), numbered(tail_of(1)), numbered(tail_of(2)), head_of(2)]);
        assert_eq!(of.same, [0, 1, 1, 3, 3, 5]);
        assert_eq!(of.made, [true, false, false, true, false, false]);
        assert_eq!(of.below(4).collect::<Vec<_>>(), [1]);
        // Two of one kind that begin anew are two.
        assert_eq!(steps(vec![empty(), empty()]).same, [0, 1]);
        let alone = Steps::new(vec![empty(), head_of(0), head_of(0)], &[false, true, false]).expect("an order");
        assert_eq!(alone.same, [0, 1, 2]);
    }

    #[test]
    fn what_several_stand_on_is_a_table() {
        let of = steps(vec![empty(), head_of(0), numbered(head_of(1)), numbered(tail_of(1)), tail_of(0)]);
        assert_eq!(of.made, [true, true, true, true, false]);
        let still = Operation::Snapshot(Plain { source: on(1), ..Plain::default() });
        assert_eq!(steps(vec![empty(), head_of(0), still]).made, [true, true, true]);
    }

    #[test]
    fn a_plan_has_an_end() {
        let last = 3 * PLAN as i32;
        let chain = (0..last).map(|at| if at == 0 { empty() } else { head_of(at - 1) });
        let made = steps(chain.chain([numbered(head_of(last - 1))]).collect()).made;
        let places: Vec<usize> = made.iter().enumerate().filter(|(_, made)| **made).map(|(at, _)| at).collect();
        assert_eq!(places, [0, PLAN, 2 * PLAN, 3 * PLAN]);
        let wide: Vec<Operation> = (0..200).map(|rows| Operation::Head(OfRows { rows, ..OfRows::default() })).collect();
        let sources = (0..200).filter_map(on).collect();
        let merged = Operation::Merge(Merge { sources, result: Some(Ticket::default()), ..Merge::default() });
        assert!(steps(wide.into_iter().chain([merged]).collect()).made.iter().all(|made| *made));
    }

    #[test]
    fn another_name_is_no_step() {
        let fetch = |place| Operation::Fetch(Fetch { source: on(place), result: Some(Ticket::default()) });
        let of = steps(vec![empty(), head_of(0), fetch(1)]);
        assert_eq!((of.same, of.made[1]), (vec![0, 1, 1], true));
    }
}
