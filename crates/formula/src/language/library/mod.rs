//! The functions, constants and types that formulas know by name: a closed list.
//!
//! `x.f(a)` is `f(x, a)`. A function either is one of [`Function`], or is written out in terms of them.

mod number;
pub(crate) mod random;
mod text;
mod time;

use arrow_schema::DataType;

use crate::tree::expr::Expr;
use crate::tree::function::Function;
use crate::tree::list_names;

/// All functions, by subject.
const ENTRIES: [&[Entry]; 3] = [number::ENTRIES, text::ENTRIES, time::ENTRIES];

/// A function by its name, with the least and the greatest number of its arguments.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    make: Make,
}

enum Make {
    Call(Function),
    Write(fn(Vec<Expr>) -> Result<Expr, String>),
}

const MANY: usize = usize::MAX;

const fn entry(name: &'static str, least: usize, most: usize, make: Make) -> Entry {
    Entry { name, least, most, make }
}

/// A function of the tree under another name, of so many arguments.
const fn same(name: &'static str, count: usize, function: Function) -> Entry {
    entry(name, count, count, Make::Call(function))
}

impl Entry {
    /// The call with these arguments, or what is wrong with them.
    pub(crate) fn make(&self, args: Vec<Expr>) -> Result<Expr, String> {
        if args.len() < self.least || args.len() > self.most {
            return Err(format!("{} takes {}, not {}", self.name, self.takes(), args.len()));
        }
        match self.make {
            Make::Call(function) => Ok(call(function, args)),
            Make::Write(write) => write(args),
        }
    }

    fn takes(&self) -> String {
        let arguments = |count: usize| if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        match (self.least, self.most) {
            (least, most) if least == most => arguments(least),
            (least, MANY) => format!("at least {}", arguments(least)),
            (least, most) => format!("{least} to {}", arguments(most)),
        }
    }
}

/// The function called `name`.
pub(crate) fn function(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().copied().flatten().find(|entry| entry.name == name)
}

/// All names of functions that formulas know.
pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    ENTRIES
        .iter()
        .copied()
        .flatten()
        .map(|entry| -> &'a str { entry.name })
        .chain(list_names::names())
        .chain(random::names())
        .chain(["cast", "col", "nullValueFor"])
}

fn call(function: Function, args: Vec<Expr>) -> Expr {
    Expr::Call { function, args }
}

fn one(function: Function, arg: Expr) -> Expr {
    call(function, vec![arg])
}

fn two(function: Function, a: Expr, b: Expr) -> Expr {
    Expr::joined(function, vec![a, b])
}

fn int(value: i64) -> Expr {
    Expr::literal(value)
}

fn cast(input: Expr, to: DataType) -> Expr {
    Expr::Cast { input: std::sync::Arc::new(input), to, strict: true }
}

fn choice(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    Expr::When { branches: vec![(condition, then)], otherwise: Some(std::sync::Arc::new(otherwise)) }
}

fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into().unwrap_or_else(|_| unreachable!("the number of arguments was checked"))
}

fn with<const N: usize>(args: Vec<Expr>, write: impl FnOnce([Expr; N]) -> Expr) -> Result<Expr, String> {
    Ok(write(take(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_take_their_own_arguments() {
        let all: Vec<&Entry> = ENTRIES.iter().copied().flatten().collect();
        for (index, entry) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other.name != entry.name), "{} stands twice", entry.name);
            for count in entry.least..=entry.most.min(entry.least + 2) {
                let args = vec![Expr::literal("UTC"); count];
                assert!(entry.make(args).is_ok(), "{} of {count}", entry.name);
            }
            let many = entry.most.saturating_add(1).min(entry.least + 9);
            let wrong = if entry.least > 0 { 0 } else { many };
            let message = entry.make(vec![Expr::literal("x"); wrong]).unwrap_err();
            assert!(message.contains(entry.name) && message.contains(&format!("not {wrong}")), "{message}");
        }
    }
}
