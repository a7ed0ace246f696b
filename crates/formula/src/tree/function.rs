//! The closed list of functions of rows, and the name of each in Python.

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
    /// Before its argument.
    Prefix(&'static str),
    /// As a method of its first argument.
    Method(&'static str),
    /// As a function of the module.
    Free(&'static str),
}

const PLAIN: &[(Function, Written)] = {
    use Function::*;
    use Written::*;
    &[
        (Add, Infix("+")),
        (Subtract, Infix("-")),
        (Multiply, Infix("*")),
        (Divide, Infix("/")),
        (FloorDivide, Infix("//")),
        (Modulo, Infix("%")),
        (Power, Infix("**")),
        (Negate, Prefix("-")),
        (Equal, Infix("==")),
        (NotEqual, Infix("!=")),
        (Less, Infix("<")),
        (LessEqual, Infix("<=")),
        (Greater, Infix(">")),
        (GreaterEqual, Infix(">=")),
        (EqualMissing, Method("eq_missing")),
        (NotEqualMissing, Method("ne_missing")),
        (And, Infix("&")),
        (Or, Infix("|")),
        (Xor, Infix("^")),
        (Not, Prefix("~")),
        (ShiftLeft, Infix("<<")),
        (ShiftRight, Infix(">>")),
        (IsNull, Method("is_null")),
        (IsNotNull, Method("is_not_null")),
        (IsNan, Method("is_nan")),
        (IsNotNan, Method("is_not_nan")),
        (IsFinite, Method("is_finite")),
        (IsInfinite, Method("is_infinite")),
        (FillNull, Method("fill_null")),
        (FillNan, Method("fill_nan")),
        (Coalesce, Free("coalesce")),
        (Abs, Method("abs")),
        (Sign, Method("sign")),
        (Sqrt, Method("sqrt")),
        (Cbrt, Method("cbrt")),
        (Exp, Method("exp")),
        (Log, Method("log")),
        (Log10, Method("log10")),
        (Log1p, Method("log1p")),
        (Round, Method("round")),
        (Floor, Method("floor")),
        (Ceil, Method("ceil")),
        (Clip, Method("clip")),
        (Sin, Method("sin")),
        (Cos, Method("cos")),
        (Tan, Method("tan")),
        (Arcsin, Method("arcsin")),
        (Arccos, Method("arccos")),
        (Arctan, Method("arctan")),
        (Arctan2, Free("arctan2")),
        (Sinh, Method("sinh")),
        (Cosh, Method("cosh")),
        (Tanh, Method("tanh")),
        (Degrees, Method("degrees")),
        (Radians, Method("radians")),
        (MinHorizontal, Free("min_horizontal")),
        (MaxHorizontal, Free("max_horizontal")),
        (Bin { upper: false }, Method("lower_bin")),
        (Bin { upper: true }, Method("upper_bin")),
        (Position, Free("row_position")),
        (RowKey, Free("row_key")),
        (List(self::List::Len), Method("list.len")),
        (List(self::List::Get), Method("list.get")),
        (List(self::List::First), Method("list.first")),
        (List(self::List::Last), Method("list.last")),
        (List(self::List::Slice), Method("list.slice")),
        (List(self::List::Head), Method("list.head")),
        (List(self::List::Tail), Method("list.tail")),
        (List(self::List::Sum), Method("list.sum")),
        (List(self::List::Mean), Method("list.mean")),
        (List(self::List::Min), Method("list.min")),
        (List(self::List::Max), Method("list.max")),
        (List(self::List::Contains), Method("list.contains")),
        (List(self::List::Join), Method("list.join")),
        (List(self::List::Unique), Method("list.unique")),
        (List(self::List::Reverse), Method("list.reverse")),
        (List(self::List::DropNulls), Method("list.drop_nulls")),
        (List(self::List::Count), Method("list.count")),
        (List(self::List::AbsMean), Method("list.abs_mean")),
        (List(self::List::Product), Method("list.product")),
        (List(self::List::Median), Method("list.median")),
        (List(self::List::Quantile), Method("list.quantile")),
        (List(self::List::NUnique), Method("list.n_unique")),
        (List(self::List::CountDistinct), Method("list.count_distinct")),
        (List(self::List::ArgMin), Method("list.arg_min")),
        (List(self::List::ArgMax), Method("list.arg_max")),
        (Struct(self::Struct::Field), Method("struct.field")),
        (Struct(self::Struct::RenameFields), Method("struct.rename_fields")),
        (Bytes(self::Bytes::Size), Method("bin.size")),
        (Bytes(self::Bytes::Contains), Method("bin.contains")),
        (Bytes(self::Bytes::StartsWith), Method("bin.starts_with")),
        (Bytes(self::Bytes::EndsWith), Method("bin.ends_with")),
        (Text(self::Text::Split), Method("str.split")),
        (Text(self::Text::ExtractAll), Method("str.extract_all")),
        (Rows, Free("row_count")),
        (Element, Method("get")),
        (Array, Free("column_of")),
        (Now, Free("now")),
        (Variable, Free("variable")),
        (Text(self::Text::Format), Free("format")),
        (Text(self::Text::PadStart), Method("str.pad_start")),
        (Text(self::Text::PadEnd), Method("str.pad_end")),
        (Text(self::Text::Reverse), Method("str.reverse")),
        (Text(self::Text::ToTitlecase), Method("str.to_titlecase")),
        (Text(self::Text::IndexOf), Method("str.index_of")),
        (Text(self::Text::LenChars), Method("str.len_chars")),
        (Text(self::Text::LenBytes), Method("str.len_bytes")),
        (Text(self::Text::ToLowercase), Method("str.to_lowercase")),
        (Text(self::Text::ToUppercase), Method("str.to_uppercase")),
        (Text(self::Text::StartsWith), Method("str.starts_with")),
        (Text(self::Text::EndsWith), Method("str.ends_with")),
        (Text(self::Text::Slice), Method("str.slice")),
        (Text(self::Text::Head), Method("str.head")),
        (Text(self::Text::Tail), Method("str.tail")),
        (Text(self::Text::StripChars), Method("str.strip_chars")),
        (Text(self::Text::StripCharsStart), Method("str.strip_chars_start")),
        (Text(self::Text::StripCharsEnd), Method("str.strip_chars_end")),
        (Text(self::Text::StripPrefix), Method("str.strip_prefix")),
        (Text(self::Text::StripSuffix), Method("str.strip_suffix")),
        (Text(self::Text::Zfill), Method("str.zfill")),
        (Time(self::Time::Year), Method("dt.year")),
        (Time(self::Time::Quarter), Method("dt.quarter")),
        (Time(self::Time::Month), Method("dt.month")),
        (Time(self::Time::Week), Method("dt.week")),
        (Time(self::Time::Weekday), Method("dt.weekday")),
        (Time(self::Time::OrdinalDay), Method("dt.ordinal_day")),
        (Time(self::Time::Day), Method("dt.day")),
        (Time(self::Time::Hour), Method("dt.hour")),
        (Time(self::Time::Minute), Method("dt.minute")),
        (Time(self::Time::Second), Method("dt.second")),
        (Time(self::Time::Millisecond), Method("dt.millisecond")),
        (Time(self::Time::Microsecond), Method("dt.microsecond")),
        (Time(self::Time::Nanosecond), Method("dt.nanosecond")),
        (Time(self::Time::Date), Method("dt.date")),
        (Time(self::Time::Time), Method("dt.time")),
        (Time(self::Time::Truncate), Method("dt.truncate")),
        (Time(self::Time::Round), Method("dt.round")),
        (Time(self::Time::OffsetBy), Method("dt.offset_by")),
        (Time(self::Time::Strftime), Method("dt.strftime")),
        (Time(self::Time::TotalDays), Method("dt.total_days")),
        (Time(self::Time::TotalHours), Method("dt.total_hours")),
        (Time(self::Time::TotalMinutes), Method("dt.total_minutes")),
        (Time(self::Time::TotalSeconds), Method("dt.total_seconds")),
        (Time(self::Time::TotalMilliseconds), Method("dt.total_milliseconds")),
        (Time(self::Time::TotalMicroseconds), Method("dt.total_microseconds")),
        (Time(self::Time::TotalNanoseconds), Method("dt.total_nanoseconds")),
        (Time(self::Time::Epoch), Method("dt.epoch")),
        (Time(self::Time::ConvertTimeZone), Method("dt.convert_time_zone")),
        (Time(self::Time::ReplaceTimeZone), Method("dt.replace_time_zone")),
        (Time(self::Time::MonthStart), Method("dt.month_start")),
        (Time(self::Time::MonthEnd), Method("dt.month_end")),
    ]
};

impl Function {
    /// The function without options that Python calls `name`: `"+"`, `"is_null"`, `"str.len_chars"`, …
    ///
    /// Unary minus is `"neg"`. Functions with options (`is_in`, `is_between`, `str.contains`,
    /// `str.replace`, …) come back with the options' defaults.
    pub fn named(name: &str) -> Option<Function> {
        let with_options = match name {
            "neg" => Function::Negate,
            "is_in" => Function::IsIn { nulls_equal: false },
            "is_between" => Function::IsBetween { closed: Closed::Both },
            "str.contains" => Function::Text(Text::Contains { literal: false }),
            "str.replace" => Function::Text(Text::Replace { literal: false }),
            "str.replace_all" => Function::Text(Text::ReplaceAll { literal: false }),
            "str.find" => Function::Text(Text::Find { literal: false }),
            "str.count_matches" => Function::Text(Text::CountMatches { literal: false }),
            "str.extract" => Function::Text(Text::Extract { group: 1 }),
            "shift" => Function::Shift { by: 1 },
            "list.sort" => Function::List(List::Sort { descending: false, nulls_last: false }),
            "list.arg_sort" => Function::List(List::ArgSort { descending: false, nulls_last: false }),
            "random_float" => Function::Random { kind: Random::Float, seed: None },
            "random_int" => Function::Random { kind: Random::Int, seed: None },
            "random_bool" => Function::Random { kind: Random::Bool, seed: None },
            "random_gaussian" => Function::Random { kind: Random::Gaussian, seed: None },
            "list.std" => Function::List(List::Std { ddof: 1 }),
            "list.var" => Function::List(List::Var { ddof: 1 }),
            "str.to_date" => Function::Text(Text::ToDate { strict: true }),
            "str.to_datetime" => Function::Text(Text::ToDatetime { strict: true }),
            _ => {
                return PLAIN
                    .iter()
                    .find(|(function, written)| *function != Function::Negate && written.text() == name)
                    .map(|(function, _)| *function);
            }
        };
        Some(with_options)
    }

    /// The name under which Python knows it.
    pub fn name(&self) -> String {
        self.written().text().to_owned()
    }

    pub(crate) fn written(&self) -> Written {
        let with_options = match self {
            Function::IsIn { .. } => "is_in",
            Function::IsBetween { .. } => "is_between",
            Function::Text(Text::Contains { .. }) => "str.contains",
            Function::Text(Text::Replace { .. }) => "str.replace",
            Function::Text(Text::ReplaceAll { .. }) => "str.replace_all",
            Function::Random { kind: Random::Float, .. } => "random_float",
            Function::Random { kind: Random::Int, .. } => "random_int",
            Function::Random { kind: Random::Bool, .. } => "random_bool",
            Function::Random { kind: Random::Gaussian, .. } => "random_gaussian",
            Function::Shift { .. } => "shift",
            Function::List(List::Sort { .. }) => "list.sort",
            Function::List(List::ArgSort { .. }) => "list.arg_sort",
            Function::List(List::Std { .. }) => "list.std",
            Function::List(List::Var { .. }) => "list.var",
            Function::Text(Text::Find { .. }) => "str.find",
            Function::Text(Text::CountMatches { .. }) => "str.count_matches",
            Function::Text(Text::Extract { .. }) => "str.extract",
            Function::Text(Text::ToDate { .. }) => "str.to_date",
            Function::Text(Text::ToDatetime { .. }) => "str.to_datetime",
            plain => {
                let found = PLAIN.iter().find(|(function, _)| function == plain);
                return found.expect("every function without options is in the list; a test walks them").1;
            }
        };
        Written::Method(with_options)
    }

    /// Whether `a f b f c` is one call of three arguments.
    pub fn is_left_associative(&self) -> bool {
        use Function::*;
        matches!(self, Add | Subtract | Multiply | Divide | FloorDivide | Modulo | And | Or | Xor)
    }
}

impl Written {
    pub(crate) fn text(&self) -> &'static str {
        match self {
            Written::Infix(text) | Written::Prefix(text) | Written::Method(text) | Written::Free(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_functions() {
        for (function, written) in PLAIN {
            if *function != Function::Negate {
                assert_eq!(Function::named(written.text()), Some(*function));
            }
        }
        assert_eq!(Function::named("-"), Some(Function::Subtract));
        assert_eq!(Function::named("neg"), Some(Function::Negate));
        assert_eq!(Function::named("str.contains"), Some(Function::Text(Text::Contains { literal: false })));
        assert_eq!(Function::named("eval"), None);
    }
}
