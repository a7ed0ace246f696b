//! Functions of lists by their names in formulas.

use crate::tree::namespaces::List;

/// A function by its name: which argument is the list, and how many arguments it takes.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) list: usize,
    pub(crate) count: usize,
    pub(crate) means: Means,
}

pub(crate) enum Means {
    /// The function of lists of that meaning; whatever else is called so is none of a list.
    Only(List),
    /// The function of lists of that meaning; for values of other types the name means another function.
    Also(List),
    /// The elements from one place to before another.
    SubVector,
    /// The distinct elements that are not null.
    Distinct,
    /// The one distinct element that is not null; null if there are several.
    Unique,
    /// Whether it has no elements.
    IsEmpty,
}

pub(crate) const LISTS: &[Entry] = {
    use Means::{Also, Distinct, IsEmpty, Only, SubVector, Unique};
    const fn of(name: &'static str, means: Means) -> Entry {
        Entry { name, list: 0, count: 1, means }
    }
    &[
        of("sum", Only(List::Sum)),
        of("product", Only(List::Product)),
        of("avg", Only(List::Mean)),
        of("absAvg", Only(List::AbsMean)),
        of("median", Only(List::Median)),
        of("std", Only(List::Std { ddof: 1 })),
        of("var", Only(List::Var { ddof: 1 })),
        of("min", Also(List::Min)),
        of("max", Also(List::Max)),
        of("first", Only(List::First)),
        of("last", Only(List::Last)),
        of("count", Only(List::Count)),
        of("countDistinct", Only(List::CountDistinct)),
        of("indexOfMin", Only(List::ArgMin)),
        of("indexOfMax", Only(List::ArgMax)),
        of("distinct", Distinct),
        of("unique", Unique),
        of("sort", Only(List::Sort { descending: false, nulls_last: false })),
        of("sortDescending", Only(List::Sort { descending: true, nulls_last: false })),
        of("reverse", Also(List::Reverse)),
        of("size", Only(List::Len)),
        of("length", Also(List::Len)),
        of("len", Also(List::Len)),
        of("isEmpty", IsEmpty),
        Entry { name: "percentile", list: 1, count: 2, means: Only(List::Quantile) },
        Entry { name: "nth", list: 1, count: 2, means: Only(List::Get) },
        Entry { name: "contains", list: 0, count: 2, means: Also(List::Contains) },
        Entry { name: "subVector", list: 0, count: 3, means: SubVector },
    ]
};

/// Names of functions that are of lists alone.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    LISTS.iter().map(|entry| -> &'a str { entry.name })
}

/// How a function of lists is written in a formula, and whether the list is its last argument.
pub(crate) fn written(function: List) -> Option<(&'static str, bool)> {
    let means = |entry: &&Entry| matches!(entry.means, Means::Only(of) | Means::Also(of) if of == function);
    LISTS.iter().find(means).map(|entry| (entry.name, entry.list > 0))
}
