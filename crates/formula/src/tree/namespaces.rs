//! The functions of name spaces: `.str`, `.dt`, `.list`, `.struct`, `.bin`.

use serde::{Deserialize, Serialize};

use crate::tree::function::OptionValue;

/// Functions of lists, as in the name space `.list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method it is")]
pub enum List {
    Len,
    /// The element at a place, from the end if negative; null outside.
    Get,
    /// The elements at the places of another list; null outside.
    Gather,
    First,
    Last,
    Slice,
    Head,
    Tail,
    Sum,
    Mean,
    Min,
    Max,
    Contains,
    Join,
    Sort {
        descending: bool,
        nulls_last: bool,
    },
    /// The places of the elements in order.
    ArgSort {
        descending: bool,
        nulls_last: bool,
    },
    Unique,
    Reverse,
    /// The elements that are not null.
    DropNulls,
    /// How many elements are not null.
    Count,
    CountPositive,
    CountNegative,
    CountZero,
    /// The standard error of the mean.
    Sem,
    /// The mean in standard errors.
    TStat,
    WeightedMean,
    WeightedSum,
    WeightedVar,
    WeightedStd,
    WeightedSem,
    WeightedTStat,
    Cov,
    Corr,
    CumSum,
    CumProd,
    CumMin,
    CumMax,
    Diff,
    ForwardFill,
    Rank,
    IndexOf,
    /// The place in an ascending list, or where it would stand.
    BinSearch,
    /// The mean of the elements without their signs.
    AbsMean,
    Product,
    Std {
        ddof: u8,
    },
    Var {
        ddof: u8,
    },
    Skew {
        bias: bool,
    },
    Kurtosis {
        fisher: bool,
        bias: bool,
    },
    Median,
    /// The element at a part of the way from the least to the greatest, which is the second argument.
    Quantile,
    /// How many distinct elements, null being one of them.
    NUnique,
    /// How many distinct elements, nulls not counted.
    CountDistinct,
    /// The place of the least element.
    ArgMin,
    /// The place of the greatest element.
    ArgMax,
    /// Values side by side, and the elements of lists.
    Concat,
    /// A value so many times.
    Repeat,
    /// Whole numbers from one to another; `closed`: that one is in it.
    Ranges {
        closed: bool,
    },
}

impl List {
    /// Its options, each by its name in Python.
    pub(super) fn options(&mut self) -> Vec<(&'static str, OptionValue<'_>)> {
        match self {
            List::Sort { descending, nulls_last } | List::ArgSort { descending, nulls_last } => {
                vec![("descending", OptionValue::Flag(descending)), ("nulls_last", OptionValue::Flag(nulls_last))]
            }
            List::Ranges { closed } => vec![("closed", OptionValue::Flag(closed))],
            List::Std { ddof } | List::Var { ddof } => vec![("ddof", OptionValue::Small(ddof))],
            List::Skew { bias } => vec![("bias", OptionValue::Flag(bias))],
            List::Kurtosis { fisher, bias } => {
                vec![("fisher", OptionValue::Flag(fisher)), ("bias", OptionValue::Flag(bias))]
            }
            _ => vec![],
        }
    }
}

/// What is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Random {
    /// A number from the first bound to before the second.
    Float,
    /// A whole number from the first bound to before the second.
    Int,
    /// True or false, alike often.
    Bool,
    /// A number of the normal distribution of this mean and this standard deviation.
    Gaussian,
}

/// Functions of structs, as in the name space `.struct`; names are literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method it is")]
pub enum Struct {
    /// The names of the fields, which are literals, and a value for each.
    Make,
    Field,
    RenameFields,
}

/// Functions of bytes, as in the name space `.bin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method it is")]
pub enum Bytes {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    /// By the encoding that the second argument names.
    Encode,
    Decode {
        strict: bool,
    },
}

impl Bytes {
    /// Its options, each by its name in Python.
    pub(super) fn options(&mut self) -> Vec<(&'static str, OptionValue<'_>)> {
        match self {
            Bytes::Decode { strict } => vec![("strict", OptionValue::Flag(strict))],
            _ => vec![],
        }
    }
}

/// Functions of strings, as in the name space `.str`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method it is")]
pub enum Text {
    LenChars,
    LenBytes,
    ToLowercase,
    ToUppercase,
    Contains {
        literal: bool,
    },
    StartsWith,
    EndsWith,
    /// Offset in characters (negative from the end), then a length or nothing.
    Slice,
    Head,
    Tail,
    Replace {
        literal: bool,
    },
    ReplaceAll {
        literal: bool,
    },
    StripChars,
    StripCharsStart,
    StripCharsEnd,
    StripPrefix,
    StripSuffix,
    Zfill,
    /// To a length in characters, by one character (a blank without one).
    PadStart,
    PadEnd,
    Reverse,
    ToTitlecase,
    /// Bytes before the first match, null without one.
    Find {
        literal: bool,
    },
    /// Characters before the first occurrence, −1 without one.
    IndexOf,
    CountMatches {
        literal: bool,
    },
    /// The parts between occurrences of the second argument, as a list.
    Split,
    /// All matches of a pattern, as a list.
    ExtractAll,
    /// What one group of the first match holds.
    Extract {
        group: u32,
    },
    /// A template, which is a literal, and the values of its places.
    Format,
    /// Text to a date by a strptime format, ISO without one.
    ToDate {
        strict: bool,
    },
    /// Text to an instant by a strptime format, ISO without one.
    ToDatetime {
        strict: bool,
    },
    /// By the encoding that the second argument names.
    Encode,
    Decode {
        strict: bool,
    },
}

impl Text {
    /// Its options, each by its name in Python.
    pub(super) fn options(&mut self) -> Vec<(&'static str, OptionValue<'_>)> {
        match self {
            Text::Contains { literal }
            | Text::Replace { literal }
            | Text::ReplaceAll { literal }
            | Text::Find { literal }
            | Text::CountMatches { literal } => vec![("literal", OptionValue::Flag(literal))],
            Text::Extract { group } => vec![("group_index", OptionValue::Number(group))],
            Text::ToDate { strict } | Text::ToDatetime { strict } | Text::Decode { strict } => {
                vec![("strict", OptionValue::Flag(strict))]
            }
            _ => vec![],
        }
    }
}

/// Functions of dates, times, instants and durations, as in the name space `.dt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is named as the method it is")]
pub enum Time {
    Year,
    Quarter,
    Month,
    Week,
    Weekday,
    OrdinalDay,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Date,
    Time,
    Truncate,
    Round,
    OffsetBy,
    Strftime,
    TotalDays,
    TotalHours,
    TotalMinutes,
    TotalSeconds,
    TotalMilliseconds,
    TotalMicroseconds,
    TotalNanoseconds,
    /// Since 1970, in the unit named by the second argument (`"us"` without it).
    Epoch,
    ConvertTimeZone,
    ReplaceTimeZone,
    MonthStart,
    MonthEnd,
    DaysInMonth,
    IsLeapYear,
    IsoYear,
    Century,
    Millennium,
    /// A date at a time of day.
    Combine,
    /// Where the window of time begins that holds it, of windows that do not overlap.
    WindowStart,
    /// Where all windows of time begin that hold it.
    WindowStarts,
    /// Where the window of time ends that begins there.
    WindowEnd,
}
