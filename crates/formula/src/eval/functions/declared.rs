//! The declaration of a function: what it is called, what it takes and gives, and how it is bound.
//!
//! A declaration stands at the head of the file that has the kernel. Whatever else knows functions (names in Python and in
//! formulas, numbers of arguments, options and their defaults, the pages of the documentation) is read from it.

use crate::error::Error;
use crate::eval::bind::{Binder, Call, Term};
use crate::tree::family::{Family, Gives};
use crate::tree::function::{Function, Written};

/// No limit to the number of arguments.
pub(crate) const ANY: usize = usize::MAX;

/// How many arguments a function takes, at least and at most, and what they are in words.
pub(crate) type Takes = (usize, usize, &'static str);

/// Checks the types of a call's arguments, and makes the node that computes it.
pub(crate) type Bind = fn(&mut Binder<'_>, &Call<'_>) -> Result<Term, Error>;

/// A function as it is declared.
#[derive(Clone, Copy)]
pub struct FunctionSpec {
    /// The function, its options at their defaults.
    pub(crate) function: Function,
    pub(crate) written: Written,
    pub(crate) takes: Takes,
    pub(crate) bind: Bind,
    pub(crate) gives: Gives,
    /// Whether its value depends on how its arguments compare.
    pub(crate) compares: bool,
    /// Its names in formulas.
    pub(crate) formulas: &'static [FormulaName],
    example: &'static str,
}

impl FunctionSpec {
    pub(crate) const fn new(function: Function, written: Written, takes: Takes, bind: Bind) -> FunctionSpec {
        let gives = Gives::Always(Family::Other);
        FunctionSpec { function, written, takes, bind, gives, compares: false, formulas: &[], example: "" }
    }

    /// What is known of its value's type before it is bound; without this, nothing that matters.
    pub(crate) const fn gives(mut self, gives: Gives) -> FunctionSpec {
        self.gives = gives;
        self
    }

    pub(crate) const fn always(self, family: Family) -> FunctionSpec {
        self.gives(Gives::Always(family))
    }

    /// Its value depends on how its arguments compare.
    pub(crate) const fn compares(mut self) -> FunctionSpec {
        self.compares = true;
        self
    }

    /// Its names in formulas.
    pub(crate) const fn in_formulas(mut self, formulas: &'static [FormulaName]) -> FunctionSpec {
        self.formulas = formulas;
        self
    }

    /// An example for its page, where a method of a column without arguments is none.
    pub(crate) const fn shown_by(mut self, example: &'static str) -> FunctionSpec {
        self.example = example;
        self
    }

    /// The name by which Python finds it: `"+"`, `"neg"`, `"is_null"`, `"str.len_chars"`.
    pub fn name(&self) -> &'static str {
        match self.written {
            Written::Prefix(_, name) => name,
            other => other.text(),
        }
    }

    /// What it is in Python: an operator, a method of expressions or of one of their name spaces, a function of the
    /// module, or nothing but what a formula says.
    pub fn kind(&self) -> &'static str {
        match self.written {
            Written::Infix(_) | Written::Prefix(..) => "operator",
            Written::Method(_) => "method",
            Written::Free(_) => "function",
            Written::Formula(_) => "formula",
        }
    }

    /// The least number of its arguments.
    pub fn least(&self) -> usize {
        self.takes.0
    }

    /// The greatest number of its arguments; none where there is no limit.
    pub fn most(&self) -> Option<usize> {
        Some(self.takes.1).filter(|most| *most != ANY)
    }

    /// Its arguments in words.
    pub fn takes(&self) -> &'static str {
        self.takes.2
    }

    /// The function, its options at their defaults.
    pub fn function(&self) -> Function {
        self.function
    }

    /// Its names in formulas.
    pub fn formulas(&self) -> &'static [FormulaName] {
        self.formulas
    }

    /// An expression with it in Python, over the columns of the documentation's example.
    pub fn example(&self) -> String {
        if !self.example.is_empty() {
            return self.example.to_owned();
        }
        let name = self.name();
        match self.written {
            Written::Infix(sign) => format!("col(\"n\") {sign} 2"),
            Written::Prefix(sign, _) => format!("{sign}col(\"n\")"),
            Written::Free(_) | Written::Formula(_) => format!("tf.{name}()"),
            Written::Method(_) => {
                let column = match name.split_once('.') {
                    Some(("str", _)) => "s",
                    Some(("dt", _)) => "t",
                    Some(("list", _)) => "v",
                    Some(("bin", _)) => "y",
                    _ => "x",
                };
                format!("col(\"{column}\").{name}()")
            }
        }
    }
}

/// A function between its arguments.
pub(crate) const fn infix(function: Function, sign: &'static str, takes: Takes, bind: Bind) -> FunctionSpec {
    FunctionSpec::new(function, Written::Infix(sign), takes, bind)
}

/// A method of its first argument.
pub(crate) const fn method(function: Function, name: &'static str, takes: Takes, bind: Bind) -> FunctionSpec {
    FunctionSpec::new(function, Written::Method(name), takes, bind)
}

/// A function of the module.
pub(crate) const fn free(function: Function, name: &'static str, takes: Takes, bind: Bind) -> FunctionSpec {
    FunctionSpec::new(function, Written::Free(name), takes, bind)
}

/// What only a formula says: Python has it as a text.
pub(crate) const fn in_text(function: Function, name: &'static str, takes: Takes, bind: Bind) -> FunctionSpec {
    FunctionSpec::new(function, Written::Formula(name), takes, bind)
}

/// The part of the documentation that tells of a function of formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Numbers.
    Numbers,
    /// Conditions, null and NaN.
    Conditions,
    /// Text.
    Text,
    /// Time.
    Time,
    /// Lists and whole columns.
    Lists,
    /// Random numbers.
    Random,
}

impl Subject {
    /// The name of that part.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Numbers => "numbers",
            Subject::Conditions => "conditions",
            Subject::Text => "text",
            Subject::Time => "time",
            Subject::Lists => "lists",
            Subject::Random => "random",
        }
    }
}

/// Which argument of a formula's function is the list, and what the name means of other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfList {
    /// The place of the list among the arguments.
    pub(crate) at: usize,
    /// Whether the name means another function of values that are no lists.
    pub(crate) also: bool,
}

/// A name of a function in formulas.
#[derive(Clone, Copy, Debug)]
pub struct FormulaName {
    /// The name.
    pub name: &'static str,
    /// A formula with it, over the row of the documentation's example; empty where the page tells of it elsewhere.
    pub example: &'static str,
    /// What it gives, in words.
    pub gives: &'static str,
    /// How many arguments it takes there, if not as many as the function.
    pub(crate) takes: Option<(usize, usize)>,
    /// The function that is meant, if not the one with its options at their defaults.
    pub(crate) means: Option<Function>,
    pub(crate) of_list: Option<OfList>,
}

/// A name in formulas, with an example, and what it gives.
pub(crate) const fn named(name: &'static str, example: &'static str, gives: &'static str) -> FormulaName {
    FormulaName { name, example, gives, takes: None, means: None, of_list: None }
}

/// A name of a function of lists alone, of which the first argument is the list.
pub(crate) const fn of_list(name: &'static str, example: &'static str, gives: &'static str) -> FormulaName {
    FormulaName { of_list: Some(OfList { at: 0, also: false }), ..named(name, example, gives) }
}

/// A name that means this function of a list, and another function of other values, where the page tells of both.
pub(crate) const fn also_of_list(name: &'static str) -> FormulaName {
    FormulaName { of_list: Some(OfList { at: 0, also: true }), ..named(name, "", "") }
}

impl FormulaName {
    /// It takes so many arguments, at least and at most.
    pub(crate) const fn taking(mut self, least: usize, most: usize) -> FormulaName {
        self.takes = Some((least, most));
        self
    }

    /// It means the function with these options.
    pub(crate) const fn meaning(mut self, function: Function) -> FormulaName {
        self.means = Some(function);
        self
    }

    /// The list is its second argument.
    pub(crate) const fn behind(mut self) -> FormulaName {
        self.of_list = Some(OfList { at: 1, also: false });
        self
    }

    /// The least and the greatest number of arguments.
    pub(crate) fn arity(&self, spec: &FunctionSpec) -> (usize, usize) {
        self.takes.unwrap_or((spec.takes.0, spec.takes.1))
    }

    /// The function that is called.
    pub(crate) fn function(&self, spec: &FunctionSpec) -> Function {
        self.means.unwrap_or(spec.function)
    }
}
