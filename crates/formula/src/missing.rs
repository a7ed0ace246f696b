//! A name that is none of those there are: which one was probably meant, and the list of all.

use std::fmt;

/// Names that a message lists, at most.
const LISTED: usize = 30;
/// Names with more bytes than this are not compared: comparing takes the square of their length, and a name beyond any
/// that was meant has no neighbour.
const COMPARED_BYTES: usize = 256;

/// A name that no column has.
///
/// ```
/// let missing = formula::NoColumn::new("pirce", ["size", "price"]);
/// assert_eq!(missing.to_string(), r#"no column "pirce" (did you mean "price"?); the columns are "price", "size""#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoColumn {
    /// The name asked for.
    pub name: String,
    /// The columns there are, nearest name first.
    pub valid: Vec<String>,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

impl NoColumn {
    /// Of a name that is none of `valid`. Columns that an operation made for itself are nobody's to name.
    pub fn new<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> NoColumn {
        let shown = valid.into_iter().filter(|other| !crate::tree::name::is_hidden(other));
        let mut ranked: Vec<(usize, &str)> = shown.map(|other| (distance(name, other), other)).collect();
        ranked.sort_by_key(|(distance, _)| *distance);
        let close = tolerated(name);
        let nearest = ranked.first().filter(|(distance, _)| *distance <= close).map(|(_, other)| (*other).to_owned());
        NoColumn {
            name: name.to_owned(),
            valid: ranked.iter().map(|(_, other)| (*other).to_owned()).collect(),
            nearest,
        }
    }
}

impl fmt::Display for NoColumn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no column {:?}", self.name)?;
        if let Some(nearest) = &self.nearest {
            write!(out, " (did you mean {nearest:?}?)")?;
        }
        match self.valid.is_empty() {
            true => write!(out, "; there are no columns"),
            false => write!(out, "; the columns are {}", listed(&self.valid)),
        }
    }
}

/// Names in quotes, the first of many.
fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(", … ({} in all)", names.len()));
    }
    text
}

/// The one of `valid` that was probably meant.
pub(crate) fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> Option<String> {
    let ranked = valid.map(|other| (distance(name, other), other));
    let (distance, other) = ranked.min_by_key(|(distance, other)| (*distance, *other))?;
    (distance <= tolerated(name)).then(|| other.to_owned())
}

/// How many edits away a name may be and still be meant.
fn tolerated(name: &str) -> usize {
    let length = name.chars().count();
    (length / 3).max(1).min(length.saturating_sub(1))
}

/// Edits from one name to another (Damerau: two swapped letters are one edit); case does not count.
fn distance(from: &str, to: &str) -> usize {
    if from.len().max(to.len()) > COMPARED_BYTES {
        return usize::MAX;
    }
    let (from, to): (Vec<char>, Vec<char>) =
        (from.to_lowercase().chars().collect(), to.to_lowercase().chars().collect());
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1];
        for j in 0..to.len() {
            let replaced = old[j] + usize::from(from[i] != to[j]);
            let mut least = replaced.min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                least = least.min(older[j - 1] + 1);
            }
            row.push(least);
        }
        older = std::mem::replace(&mut old, row);
    }
    old[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_is_suggested() {
        let text = |name, valid: &[&str]| NoColumn::new(name, valid.iter().copied()).to_string();
        assert_eq!(
            text("prices", &["size", "Price", "Sym"]),
            "no column \"prices\" (did you mean \"Price\"?); the columns are \"Price\", \"size\", \"Sym\""
        );
        assert_eq!(text("far", &["size"]), "no column \"far\"; the columns are \"size\"");
        assert_eq!(text("x", &[]), "no column \"x\"; there are no columns");
        let many: Vec<String> = (0..40).map(|at| format!("column {at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(text("y", &many).ends_with("\"column 29\", … (40 in all)"));
    }

    #[test]
    fn a_name_beyond_any_that_was_meant_has_no_neighbour() {
        let long = "a".repeat(100_000);
        let missing = NoColumn::new(&long, ["a", &long[1..]]);
        assert_eq!((missing.nearest, missing.valid.len()), (None, 2));
    }
}
