//! The functions of rows, each declared once, and their kernels over whole chunks.
//!
//! The kernels of functions that lanes of fixed width compute stand in `eval/lanes`.

mod built;
pub(crate) mod bytes;
pub(crate) mod cast;
pub(crate) mod civil;
pub(crate) mod coded;
pub(crate) mod contains;
pub(crate) mod context;
pub(crate) mod decimal;
pub(crate) mod declared;
pub(crate) mod elementwise;
pub(crate) mod format;
pub(crate) mod instants;
pub(crate) mod list;
pub(crate) mod list_eval;
pub(crate) mod list_made;
pub(crate) mod list_order;
pub(crate) mod list_pairs;
pub(crate) mod list_running;
pub(crate) mod logic;
pub(crate) mod member;
pub(crate) mod number;
pub(crate) mod order;
pub(crate) mod pad;
pub(crate) mod parse;
pub(crate) mod period;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod search;
mod shape;
pub(crate) mod strip;
pub(crate) mod structs;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod windows;
pub(crate) mod zone;

use std::collections::HashMap;
use std::sync::LazyLock;

use declared::{FormulaName, FunctionSpec, Subject};
use foldhash::fast::RandomState;

use crate::tree::family::Gives;
use crate::tree::function::{Function, Written};

/// All functions, by the part of the documentation that tells of them.
const FUNCTIONS: &[(Subject, &[FunctionSpec])] = &[
    (Subject::Numbers, number::FUNCTIONS),
    (Subject::Conditions, logic::FUNCTIONS),
    (Subject::Text, text::FUNCTIONS),
    (Subject::Text, contains::FUNCTIONS),
    (Subject::Text, strip::FUNCTIONS),
    (Subject::Text, pad::FUNCTIONS),
    (Subject::Text, search::FUNCTIONS),
    (Subject::Text, format::FUNCTIONS),
    (Subject::Text, parse::FUNCTIONS),
    (Subject::Text, coded::FUNCTIONS),
    (Subject::Time, instants::FUNCTIONS),
    (Subject::Time, windows::FUNCTIONS),
    (Subject::Lists, list::FUNCTIONS),
    (Subject::Lists, reduce::FUNCTIONS),
    (Subject::Lists, shape::FUNCTIONS),
    (Subject::Lists, list_order::FUNCTIONS),
    (Subject::Lists, list_pairs::FUNCTIONS),
    (Subject::Lists, list_running::FUNCTIONS),
    (Subject::Lists, list_made::FUNCTIONS),
    (Subject::Lists, structs::FUNCTIONS),
    (Subject::Lists, bytes::FUNCTIONS),
    (Subject::Random, random::FUNCTIONS),
    (Subject::Lists, context::FUNCTIONS),
];

static BY_FUNCTION: LazyLock<HashMap<Function, &FunctionSpec, RandomState>> =
    LazyLock::new(|| functions().map(|spec| (spec.function.without_options(), spec)).collect());
static BY_NAME: LazyLock<HashMap<&str, &FunctionSpec, RandomState>> =
    LazyLock::new(|| functions().map(|spec| (spec.name(), spec)).collect());

/// All functions of rows, as they are declared.
pub fn functions() -> impl Iterator<Item = &'static FunctionSpec> {
    FUNCTIONS.iter().flat_map(|(_, declared)| *declared)
}

/// All names of declared functions in formulas, each with its function.
pub(crate) fn formula_names() -> impl Iterator<Item = (Subject, &'static FunctionSpec, &'static FormulaName)> {
    FUNCTIONS.iter().flat_map(|(subject, declared)| {
        declared.iter().flat_map(move |spec| spec.formulas.iter().map(move |name| (*subject, spec, name)))
    })
}

impl Function {
    /// The function that Python calls `name`, its options at their defaults: `"+"`, `"is_null"`, `"str.len_chars"`, …
    ///
    /// Unary minus is `"neg"`.
    pub fn named(name: &str) -> Option<Function> {
        BY_NAME.get(name).map(|spec| spec.function)
    }

    /// The name under which Python knows it.
    pub fn name(&self) -> String {
        self.written().text().to_owned()
    }

    pub(crate) fn declared(&self) -> &'static FunctionSpec {
        BY_FUNCTION.get(&self.without_options()).expect("a function that can be made is declared; a test walks them")
    }

    pub(crate) fn written(&self) -> Written {
        self.declared().written
    }

    /// What is known of its value's type before it is bound.
    pub(crate) fn gives(&self) -> Gives {
        self.declared().gives
    }

    /// How a function of lists is written in a formula, and whether the list is its last argument.
    pub(crate) fn written_of_list(&self) -> Option<(&'static str, bool)> {
        let declared = self.declared();
        let mut names = declared.formulas.iter().filter(|name| name.function(declared) == *self);
        names.find_map(|name| name.of_list.map(|of| (name.name, of.at > 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::function::{Bytes, Closed, List, Random, Struct, Text, Time};

    #[test]
    fn names_lead_to_their_functions() {
        let mut known = std::collections::HashSet::new();
        for spec in functions() {
            assert!(known.insert(spec.name()), "{} is declared twice", spec.name());
            assert_eq!(Function::named(spec.name()), Some(spec.function));
            assert_eq!(spec.function.declared().name(), spec.name());
            assert!(spec.takes.0 <= spec.takes.1 && !spec.takes.2.is_empty(), "{}", spec.name());
        }
        assert_eq!(Function::named("-"), Some(Function::Subtract));
        assert_eq!(Function::named("neg"), Some(Function::Negate));
        assert_eq!(Function::named("str.contains"), Some(Function::Text(Text::Contains { literal: false })));
        assert_eq!(Function::named("eval"), None);
    }

    /// Options tell no functions apart: each finds its declaration whatever they are.
    #[test]
    fn functions_with_options_are_declared_once() {
        for (function, name) in [
            (Function::IsIn { nulls_equal: true }, "is_in"),
            (Function::IsBetween { closed: Closed::None }, "is_between"),
            (Function::Shift { by: -3 }, "shift"),
            (Function::Random { kind: Random::Int, seed: Some(7) }, "random_int"),
            (Function::List(List::Sort { descending: true, nulls_last: true }), "list.sort"),
            (Function::List(List::Var { ddof: 9 }), "list.var"),
            (Function::Text(Text::Extract { group: 4 }), "str.extract"),
            (Function::Text(Text::ToDate { strict: false }), "str.to_date"),
            (Function::Bin { upper: true }, "upper_bin"),
            (Function::Time(Time::MonthEnd), "dt.month_end"),
            (Function::Struct(Struct::RenameFields), "struct.rename_fields"),
            (Function::Bytes(Bytes::EndsWith), "bin.ends_with"),
            (Function::Bytes(Bytes::Decode { strict: false }), "bin.decode"),
        ] {
            assert_eq!(function.name(), name);
        }
    }

    #[test]
    fn names_in_formulas_have_an_example_and_what_they_give() {
        for (_, _, name) in formula_names() {
            let also = name.of_list.is_some_and(|of| of.also);
            assert_eq!(name.example.is_empty(), also, "{}", name.name);
            assert!(also || name.example.contains(&format!("{}(", name.name)), "{}", name.name);
            assert_eq!(name.gives.is_empty(), also, "{}", name.name);
        }
    }
}
