//! The options of aggregates: their names, and what they may be.

use std::fmt::{Display, Formatter};

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// One of a few words.
    Word(String),
}

impl Display for Given {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Whole(number) => write!(out, "{number}"),
            Given::Number(number) => write!(out, "{number}"),
            Given::Flag(true) => write!(out, "True"),
            Given::Flag(false) => write!(out, "False"),
            Given::Word(word) => write!(out, "{word:?}"),
        }
    }
}

/// What an option may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    /// A whole number up to this one.
    Whole(u64),
    /// A number from 0 to 1.
    Part,
    /// Yes or no.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// An option of aggregates.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What Python calls it.
    pub name: &'static str,
    /// What it may be.
    pub kind: SettingKind,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it is given by its name.
    pub named: bool,
}

impl Setting {
    /// An option that may be left out and is given by its name.
    pub(crate) const fn new(name: &'static str, kind: SettingKind) -> Setting {
        Setting { name, kind, required: false, named: true }
    }

    /// Why an aggregate does not take a value that is shown so.
    pub fn refused(&self, aggregate: &str, shown: &str) -> String {
        match self.kind {
            SettingKind::Whole(most) => {
                format!("{aggregate}: {} is a whole number from 0 to {most}, not {shown}", self.name)
            }
            SettingKind::Part => format!("{} is from 0 to 1, not {shown}", self.name),
            SettingKind::Flag => format!("{aggregate}: {} is True or False, not {shown}", self.name),
            SettingKind::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let (last, first) = quoted.split_last().expect("there are words to choose from");
                format!("{} must be {} or {last}, not {shown}", self.name, first.join(", "))
            }
        }
    }
}
