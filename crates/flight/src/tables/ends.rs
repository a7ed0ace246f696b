//! What an operation stands on, and where its result goes.

use super::messages::{Operation, Reference, TableReference};
use crate::proto::Ticket;

/// The ends of an operation, shared or to be changed.
macro_rules! ends {
    ($of:expr, $result:ident, $as:ident, $each:ident) => {
        match $of {
            Empty(of) => (of.result.$result(), vec![]),
            Time(of) => (of.result.$result(), vec![]),
            Drop(of) | Update(of) | LazyUpdate(of) | View(of) | UpdateView(of) | Select(of) | SelectDistinct(of)
            | Where(of) => (of.result.$result(), vec![of.source.$as()]),
            Filter(of) => (of.result.$result(), vec![of.source.$as()]),
            Sort(of) => (of.result.$result(), vec![of.source.$as()]),
            Head(of) | Tail(of) | HeadBy(of) | TailBy(of) => (of.result.$result(), vec![of.source.$as()]),
            Ungroup(of) => (of.result.$result(), vec![of.source.$as()]),
            Merge(of) => (of.result.$result(), of.sources.$each().map(Some).collect()),
            Flatten(of) | Snapshot(of) | Meta(of) | Downsample(of) => (of.result.$result(), vec![of.source.$as()]),
            ComboAggregate(of) => (of.result.$result(), vec![of.source.$as()]),
            Statistics(of) => (of.result.$result(), vec![of.source.$as()]),
            CrossJoin(of) | NaturalJoin(of) | ExactJoin(of) | LeftJoin(of) | AsOfJoin(of) => {
                (of.result.$result(), vec![of.left.$as(), of.right.$as()])
            }
            Fetch(of) | Preview(of) => (of.result.$result(), vec![of.source.$as()]),
            InputTable(of) => (of.result.$result(), of.source.$each().map(Some).collect()),
            UpdateBy(of) => (of.result.$result(), vec![of.source.$as()]),
            WhereIn(of) => (of.result.$result(), vec![of.left.$as(), of.right.$as()]),
            AggregateAll(of) => (of.result.$result(), vec![of.source.$as()]),
            Aggregate(of) => {
                (of.result.$result(), std::iter::once(of.source.$as()).chain(of.initial.$each().map(Some)).collect())
            }
            SnapshotWhen(of) => (of.result.$result(), vec![of.base.$as(), of.trigger.$as()]),
            RangeJoin(of) => (of.result.$result(), vec![of.left.$as(), of.right.$as()]),
            Aj(of) | Raj(of) => (of.result.$result(), vec![of.left.$as(), of.right.$as()]),
            MultiJoin(of) => (of.result.$result(), of.inputs.$each().map(|input| input.source.$as()).collect()),
            Slice(of) => (of.result.$result(), vec![of.source.$as()]),
        }
    };
}

impl Operation {
    /// Where its result goes, and what it stands on.
    pub(crate) fn ends(&self) -> (Option<&Ticket>, Vec<Option<&TableReference>>) {
        use Operation::*;
        ends!(self, as_ref, as_ref, iter)
    }

    /// The places in its batch that it stands on.
    pub(super) fn places(&self) -> impl Iterator<Item = i32> {
        self.ends().1.into_iter().flatten().filter_map(|source| match source.reference {
            Some(Reference::Place(place)) => Some(place),
            _ => None,
        })
    }

    /// What is asked for: the operation without a place for its result, over these places instead of its own.
    pub(super) fn over(&self, other: impl Fn(i32) -> i32) -> Operation {
        use Operation::*;
        let mut of = self.clone();
        let (_, sources): (_, Vec<Option<&mut TableReference>>) = ends!(&mut of, take, as_mut, iter_mut);
        for source in sources.into_iter().flatten() {
            if let Some(Reference::Place(place)) = &mut source.reference {
                *place = other(*place);
            }
        }
        of
    }
}
