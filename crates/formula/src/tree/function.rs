//! The closed list of functions of rows, and the options of those that have some.
//!
//! Their names, arguments, types and kernels are declared in `eval/functions`.

use serde::{Deserialize, Serialize};

pub use crate::tree::namespaces::{Bytes, List, Random, Struct, Text, Time};

/// Which ends of a range belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Closed {
    /// Both ends.
    Both,
    /// The lower end only.
    Left,
    /// The upper end only.
    Right,
    /// Neither end.
    None,
}

impl Closed {
    const NAMES: [(Closed, &str); 4] =
        [(Closed::Both, "both"), (Closed::Left, "left"), (Closed::Right, "right"), (Closed::None, "none")];

    /// Which ends Python calls `name`.
    pub fn named(name: &str) -> Option<Closed> {
        Closed::NAMES.iter().find(|(_, known)| *known == name).map(|(closed, _)| *closed)
    }

    /// The name in Python.
    pub fn name(self) -> &'static str {
        Closed::NAMES.iter().find(|(closed, _)| *closed == self).map_or("", |(_, name)| name)
    }
}

/// A function of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method or operator it is")]
pub enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Negate,
    /// How much the first is more than the second: of unsigned numbers with a sign.
    Difference,
    /// By which part the first is more than the second, of whole numbers as a double.
    RelativeChange,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    EqualMissing,
    NotEqualMissing,
    /// Kleene on booleans, bit by bit on integers; so too `Or`, `Xor`, `Not`.
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    IsNull,
    IsNotNull,
    IsNan,
    IsNotNan,
    IsFinite,
    IsInfinite,
    FillNull,
    FillNan,
    Coalesce,
    IsIn {
        nulls_equal: bool,
    },
    IsBetween {
        closed: Closed,
    },
    Abs,
    Sign,
    Sqrt,
    Cbrt,
    Exp,
    /// The natural logarithm, or with a second argument the logarithm to that base.
    Log,
    Log10,
    Log1p,
    /// To so many decimals (second argument, 0 without it); halves go to the even neighbour.
    Round,
    Floor,
    Ceil,
    /// Value, lower bound, upper bound; a null bound does not bind.
    Clip,
    Sin,
    Cos,
    Tan,
    Arcsin,
    Arccos,
    Arctan,
    Arctan2,
    Sinh,
    Cosh,
    Tanh,
    Arcsinh,
    Arccosh,
    Arctanh,
    Degrees,
    Radians,
    /// The least of the arguments that are neither null nor NaN.
    MinHorizontal,
    /// The greatest of the arguments that are neither null nor NaN.
    MaxHorizontal,
    /// The start (or the end) of the bin of this width, from an offset, in which the value lies.
    Bin {
        upper: bool,
    },
    /// The value so many rows earlier; negative, later.
    Shift {
        by: i64,
    },
    /// The position of the row.
    Position,
    /// The key of the row.
    RowKey,
    /// How many rows the table has.
    Rows,
    /// The cell of a column at a position of the table.
    Element,
    /// All cells of a column, as a list.
    Array,
    /// An element of a list, in what is computed of elements.
    Item,
    /// The start of the step.
    Now,
    /// A number drawn when the row is computed; with a seed the same for a row whenever it is.
    Random {
        kind: Random,
        seed: Option<i64>,
    },
    /// A column, or where the table has none of that name the value that the name had for the caller.
    Variable,
    Text(Text),
    Time(Time),
    List(List),
    Struct(Struct),
    Bytes(Bytes),
}

/// How a function is written in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Between its arguments.
    Infix(&'static str),
    /// Before its argument: the sign, and the name by which it is found.
    Prefix(&'static str, &'static str),
    /// As a method of its first argument.
    Method(&'static str),
    /// As a function of the module.
    Free(&'static str),
    /// In a formula, and nowhere else.
    Formula(&'static str),
}

impl Written {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Written::Infix(text) | Written::Prefix(text, _) | Written::Method(text) => text,
            Written::Free(text) | Written::Formula(text) => text,
        }
    }
}

/// The place of an option's value within a function: it is read there, and set.
#[derive(Debug, PartialEq)]
pub enum OptionValue<'a> {
    /// Yes or no.
    Flag(&'a mut bool),
    /// A small number.
    Small(&'a mut u8),
    /// A number.
    Number(&'a mut u32),
    /// A number of rows, of either sign.
    Rows(&'a mut i64),
    /// The seed of random numbers, if there is one.
    Seed(&'a mut Option<i64>),
    /// Ends that belong to a range.
    Ends(&'a mut Closed),
}

impl OptionValue<'_> {
    /// The value as Python writes it.
    pub fn to_python(&self) -> String {
        match self {
            OptionValue::Flag(true) => "True".to_owned(),
            OptionValue::Flag(false) => "False".to_owned(),
            OptionValue::Small(number) => number.to_string(),
            OptionValue::Number(number) => number.to_string(),
            OptionValue::Rows(number) => number.to_string(),
            OptionValue::Seed(seed) => seed.map_or_else(|| "None".to_owned(), |seed| seed.to_string()),
            OptionValue::Ends(closed) => format!("\"{}\"", closed.name()),
        }
    }

    /// Sets the value that stands for all others where functions are told apart without their options.
    fn clear(&mut self) {
        match self {
            OptionValue::Flag(flag) => **flag = false,
            OptionValue::Small(number) => **number = 0,
            OptionValue::Number(number) => **number = 0,
            OptionValue::Rows(number) => **number = 0,
            OptionValue::Seed(seed) => **seed = None,
            OptionValue::Ends(closed) => **closed = Closed::Both,
        }
    }
}

impl Function {
    /// Its options, each by its name in Python.
    pub fn options(&mut self) -> Vec<(&'static str, OptionValue<'_>)> {
        use OptionValue::{Ends, Flag, Rows, Seed};
        match self {
            Function::IsIn { nulls_equal } => vec![("nulls_equal", Flag(nulls_equal))],
            Function::IsBetween { closed } => vec![("closed", Ends(closed))],
            Function::Shift { by } => vec![("n", Rows(by))],
            Function::Random { seed, .. } => vec![("seed", Seed(seed))],
            Function::Text(text) => text.options(),
            Function::List(list) => list.options(),
            Function::Bytes(bytes) => bytes.options(),
            _ => vec![],
        }
    }

    /// The function whatever its options are: equal of two that differ in these alone.
    pub(crate) fn without_options(mut self) -> Function {
        self.options().iter_mut().for_each(|(_, value)| value.clear());
        self
    }

    /// Whether `a f b f c` is one call of three arguments.
    pub fn is_left_associative(&self) -> bool {
        use Function::*;
        matches!(self, Add | Subtract | Multiply | Divide | FloorDivide | Modulo | And | Or | Xor)
    }
}
