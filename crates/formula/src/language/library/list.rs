//! Functions of lists by their names in formulas.

use crate::eval::functions::declared::OfList;
use crate::eval::functions::formula_names;
use crate::tree::function::Function;

/// A function of lists by its name: which argument is the list, and how many arguments it takes.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) list: usize,
    pub(crate) count: usize,
    /// Whether the name means another function of values that are no lists.
    pub(crate) also: bool,
    pub(crate) means: Means,
}

#[derive(Clone, Copy)]
pub(crate) enum Means {
    /// A declared function.
    Function(Function),
    /// The elements from one place to before another.
    SubVector,
    /// The distinct elements that are not null.
    Distinct,
    /// The one distinct element that is not null; null if there are several.
    Unique,
    /// Whether it has no elements.
    IsEmpty,
}

/// Functions that are written out: name, example and what they give (nothing where another function of that name is told
/// of), how many arguments they take, what they mean.
const WRITTEN: &[(&str, &str, &str, usize, Means)] = &[
    ("distinct", "distinct(v)", "the distinct elements", 1, Means::Distinct),
    ("unique", "unique(v)", "the one distinct element, null if there are several", 1, Means::Unique),
    ("isEmpty", "", "", 1, Means::IsEmpty),
    ("subVector", "subVector(v, 0, 2)", "from one position to before another", 3, Means::SubVector),
];

/// The function of lists called `name`.
pub(crate) fn function(name: &str) -> Option<Entry> {
    let declared = formula_names().filter(|(_, _, known)| known.name == name).find_map(|(_, spec, known)| {
        let OfList { at, also } = known.of_list?;
        let means = Means::Function(known.function(spec));
        Some(Entry { list: at, count: known.arity(spec).0, also, means })
    });
    declared.or_else(|| {
        let (.., count, means) = WRITTEN.iter().find(|(known, ..)| *known == name)?;
        Some(Entry { list: 0, count: *count, also: matches!(means, Means::IsEmpty), means: *means })
    })
}

/// The names that are of lists alone, each with an example, and what it gives.
pub(super) fn functions() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let declared = formula_names().filter(|(_, _, name)| name.of_list.is_some());
    declared
        .map(|(_, _, name)| (name.name, name.example, name.gives))
        .chain(WRITTEN.iter().map(|(name, example, gives, ..)| (*name, *example, *gives)))
}
