//! Aggregates, each declared once: its name, its options, what it takes and gives, what it reads of a group, and an example.
//! Binding, the door to Python, the texts of expressions, the documentation and the tests read the declaration; the engine
//! owns the states.

use std::mem::discriminant;

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tree::quantile::{Interpolation, Part};
use crate::tree::results::{
    counted, mean_type, number, ordered, place, product_type, ranked_type, spread_type, sum_type,
};
use crate::tree::settings::{Given, Setting, SettingKind};
use crate::tree::types::{list_of, type_name};

/// A function of many rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Aggregate {
    /// The number of rows.
    Len,
    /// The number of values that are not null.
    Count,
    /// The sum; null when fewer than `min_count` values are there.
    Sum {
        /// How many values make a sum; 0 makes the sum of nothing 0.
        min_count: u64,
    },
    /// The mean.
    Mean,
    /// The least value; NaN only when nothing else is there.
    Min,
    /// The greatest value; NaN only when nothing else is there.
    Max,
    /// The least value; NaN when there is one.
    NanMin,
    /// The greatest value; NaN when there is one.
    NanMax,
    /// The standard deviation.
    Std {
        /// Subtracted from the count in the divisor.
        ddof: u8,
    },
    /// The variance.
    Var {
        /// Subtracted from the count in the divisor.
        ddof: u8,
    },
    /// How far the values lean to one side: the third central moment, in standard deviations.
    Skew {
        /// Whether it is of these values alone, and no estimate of that of all from which they were drawn.
        bias: bool,
    },
    /// How heavy the tails of the values are: the fourth central moment over the square of the variance.
    Kurtosis {
        /// Whether that of the normal distribution, 3, is subtracted.
        fisher: bool,
        /// Whether it is of these values alone, and no estimate of that of all from which they were drawn.
        bias: bool,
    },
    /// The covariance of pairs.
    Cov {
        /// Subtracted from the count in the divisor.
        ddof: u8,
    },
    /// The correlation of pairs.
    Corr,
    /// The variance of values, each of which counts as much as its weight.
    WeightedVar,
    /// The standard deviation of values, each of which counts as much as its weight.
    WeightedStd,
    /// The value of the first row, null or not.
    First,
    /// The value of the last row, null or not.
    Last,
    /// The value of the row that was first as the group came.
    Freeze,
    /// The number of distinct values; null counts as one.
    NUnique,
    /// About the number of distinct values; null counts as one.
    ApproxNUnique,
    /// The number of distinct values without null.
    CountDistinct,
    /// The value in the middle: of numbers the mean of the two, of others the lower.
    Median,
    /// The value at a part of the way from the least to the greatest.
    Quantile {
        /// Which part.
        part: Part,
        /// What is taken between two values.
        interpolation: Interpolation,
    },
    /// About the value at a part of the way from the least to the greatest.
    ApproxQuantile {
        /// Which part.
        part: Part,
    },
    /// The product; integers wrap.
    Product,
    /// All values in the order of their rows, null or not, as a list.
    Implode,
    /// The place among the rows of the least value, the first of equals.
    ArgMin,
    /// The place among the rows of the greatest value, the first of equals.
    ArgMax,
}

/// What an aggregate reads of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Which rows there are.
    Rows,
    /// The values that enter and leave; a state keeps what is known of them.
    Values,
    /// The cell of one row, by the order of rows.
    End,
    /// All cells in the order of their rows.
    Whole,
}

/// What an aggregate asks of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing but that they are there.
    Presence,
    /// That they have an order.
    Ordered,
    /// That they can be told apart, as keys are.
    Keys,
}

/// What an aggregate is, said once.
#[derive(Debug)]
pub struct Declaration {
    /// The aggregate with its options as they are without being given.
    pub kind: Aggregate,
    /// The name under which expressions call it.
    pub name: &'static str,
    /// The name in `tf.agg`, by which `agg_by` takes `"Out = In"`; not every one has such a name.
    pub formula: Option<&'static str>,
    /// Of how many columns it is.
    pub arity: usize,
    /// Its options, in order.
    pub settings: &'static [Setting],
    /// What it reads of a group.
    pub reads: Reads,
    /// What it asks of its values.
    pub asks: Asks,
    /// Whether its result is one of the values, of the type that their column was declared with.
    pub passes: bool,
    /// Whether it is written as a method of its first column, though it is of several.
    pub method: bool,
    /// Whether its state cannot give a value back.
    pub only_grows: bool,
    /// What it is of each row of the example of the documentation.
    pub example: &'static str,
    /// The type of the result over values of a type, or what to do where they are not taken.
    result: fn(&Aggregate, &DataType) -> Result<DataType, &'static str>,
}

impl Declaration {
    /// An aggregate of one column, without options, of which a state keeps what is known of the values.
    const fn new(kind: Aggregate, name: &'static str, example: &'static str, result: Rule) -> Declaration {
        Declaration {
            kind,
            name,
            formula: None,
            arity: 1,
            settings: &[],
            reads: Reads::Values,
            asks: Asks::Presence,
            passes: false,
            method: false,
            only_grows: false,
            example,
            result,
        }
    }

    const fn called(self, formula: &'static str) -> Declaration {
        Declaration { formula: Some(formula), ..self }
    }

    const fn with(self, settings: &'static [Setting]) -> Declaration {
        Declaration { settings, ..self }
    }

    const fn of(self, asks: Asks) -> Declaration {
        Declaration { asks, ..self }
    }

    const fn of_pairs(self) -> Declaration {
        Declaration { arity: 2, ..self }
    }

    const fn of_first(self) -> Declaration {
        Declaration { method: true, ..self }
    }

    const fn growing(self) -> Declaration {
        Declaration { only_grows: true, ..self }
    }

    const fn reading(self, reads: Reads) -> Declaration {
        Declaration { reads, ..self }
    }

    const fn passing(self) -> Declaration {
        Declaration { passes: true, ..self }
    }
}

type Rule = fn(&Aggregate, &DataType) -> Result<DataType, &'static str>;

const MIN_COUNT: Setting = Setting::new("min_count", SettingKind::Whole(u64::MAX));
const DDOF: Setting = Setting::new("ddof", SettingKind::Whole(u8::MAX as u64));
const FISHER: Setting = Setting::new("fisher", SettingKind::Flag);
const BIAS: Setting = Setting::new("bias", SettingKind::Flag);
const PART: Setting = Setting { required: true, named: false, ..Setting::new("quantile", SettingKind::Part) };
const INTERPOLATION: Setting =
    Setting { named: false, ..Setting::new("interpolation", SettingKind::Word(&Interpolation::NAMES)) };

static DECLARED: [Declaration; 29] = [
    Declaration::new(Aggregate::Sum { min_count: 0 }, "sum", "col(\"x\").sum()", sum_type)
        .with(&[MIN_COUNT])
        .called("sum_"),
    Declaration::new(Aggregate::Mean, "mean", "col(\"x\").mean()", mean_type).called("avg"),
    Declaration::new(Aggregate::Min, "min", "col(\"x\").min()", ordered).of(Asks::Ordered).passing().called("min_"),
    Declaration::new(Aggregate::Max, "max", "col(\"x\").max()", ordered).of(Asks::Ordered).passing().called("max_"),
    Declaration::new(Aggregate::NanMin, "nan_min", "col(\"x\").nan_min()", number).of(Asks::Ordered).passing(),
    Declaration::new(Aggregate::NanMax, "nan_max", "col(\"x\").nan_max()", number).of(Asks::Ordered).passing(),
    Declaration::new(Aggregate::Std { ddof: 1 }, "std", "col(\"n\").std()", spread_type).with(&[DDOF]).called("std"),
    Declaration::new(Aggregate::Var { ddof: 1 }, "var", "col(\"n\").var()", spread_type).with(&[DDOF]).called("var"),
    Declaration::new(Aggregate::Skew { bias: true }, "skew", "col(\"n\").skew()", spread_type)
        .with(&[BIAS])
        .reading(Reads::Whole),
    Declaration::new(KURTOSIS, "kurtosis", "col(\"n\").kurtosis()", spread_type)
        .with(&[FISHER, BIAS])
        .reading(Reads::Whole),
    Declaration::new(Aggregate::Cov { ddof: 1 }, "cov", "tf.cov(\"n\", \"x\")", spread_type).with(&[DDOF]).of_pairs(),
    Declaration::new(Aggregate::Corr, "corr", "tf.corr(\"n\", \"x\")", spread_type).of_pairs(),
    Declaration::new(Aggregate::WeightedVar, "weighted_var", "col(\"x\").weighted_var(\"n\")", spread_type)
        .of_pairs()
        .of_first(),
    Declaration::new(Aggregate::WeightedStd, "weighted_std", "col(\"x\").weighted_std(\"n\")", spread_type)
        .of_pairs()
        .of_first(),
    Declaration::new(Aggregate::Count, "count", "col(\"x\").count()", counted),
    Declaration { arity: 0, ..Declaration::new(Aggregate::Len, "len", "col(\"x\").len()", counted) }
        .reading(Reads::Rows)
        .called("count_"),
    Declaration::new(Aggregate::NUnique, "n_unique", "col(\"k\").n_unique()", counted).of(Asks::Keys),
    Declaration::new(Aggregate::ApproxNUnique, "approx_n_unique", "col(\"k\").approx_n_unique()", counted)
        .of(Asks::Keys)
        .growing()
        .called("approx_n_unique"),
    Declaration::new(Aggregate::CountDistinct, "count_distinct", "col(\"k\").count_distinct()", counted)
        .of(Asks::Keys)
        .called("count_distinct"),
    Declaration::new(Aggregate::Median, "median", "col(\"n\").median()", ranked_type)
        .of(Asks::Ordered)
        .called("median"),
    Declaration::new(QUANTILE, "quantile", "col(\"n\").quantile(0.75)", ranked_type)
        .with(&[PART, INTERPOLATION])
        .of(Asks::Ordered)
        .called("pct"),
    Declaration::new(
        Aggregate::ApproxQuantile { part: Part::HALF },
        "approx_quantile",
        "col(\"n\").approx_quantile(0.5)",
        spread_type,
    )
    .with(&[PART])
    .called("approx_quantile"),
    Declaration::new(Aggregate::Product, "product", "col(\"n\").product()", product_type).called("product"),
    Declaration::new(Aggregate::Implode, "implode", "col(\"n\").implode()", |_, of| Ok(list_of(of)))
        .reading(Reads::Whole)
        .called("group"),
    Declaration::new(Aggregate::ArgMin, "arg_min", "col(\"n\").arg_min()", place)
        .of(Asks::Ordered)
        .reading(Reads::Whole),
    Declaration::new(Aggregate::ArgMax, "arg_max", "col(\"n\").arg_max()", place)
        .of(Asks::Ordered)
        .reading(Reads::Whole),
    Declaration::new(Aggregate::First, "first", "col(\"n\").first()", |_, of| Ok(of.clone()))
        .reading(Reads::End)
        .passing()
        .called("first"),
    Declaration::new(Aggregate::Last, "last", "col(\"n\").last()", |_, of| Ok(of.clone()))
        .reading(Reads::End)
        .passing()
        .called("last"),
    Declaration::new(Aggregate::Freeze, "freeze", "col(\"n\").freeze()", |_, of| Ok(of.clone()))
        .reading(Reads::End)
        .passing()
        .called("freeze"),
];

const KURTOSIS: Aggregate = Aggregate::Kurtosis { fisher: true, bias: true };
const QUANTILE: Aggregate = Aggregate::Quantile { part: Part::HALF, interpolation: Interpolation::Nearest };

impl Aggregate {
    /// Every aggregate there is.
    pub fn declared() -> &'static [Declaration] {
        &DECLARED
    }

    /// What it is.
    pub fn declaration(&self) -> &'static Declaration {
        let found = DECLARED.iter().find(|known| discriminant(&known.kind) == discriminant(self));
        found.expect("every aggregate is declared: a test looks")
    }

    /// The one that expressions call `name`, its options as they are without being given.
    pub fn named(name: &str) -> Option<Aggregate> {
        DECLARED.iter().find(|known| known.name == name).map(|known| known.kind.clone())
    }

    /// The name under which expressions call it.
    pub fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The value of an option that it declares.
    pub fn setting(&self, setting: &Setting) -> Given {
        match (self, setting.name) {
            (Aggregate::Sum { min_count }, "min_count") => Given::Whole(*min_count),
            (Aggregate::Std { ddof } | Aggregate::Var { ddof } | Aggregate::Cov { ddof }, "ddof") => {
                Given::Whole((*ddof).into())
            }
            (Aggregate::Skew { bias } | Aggregate::Kurtosis { bias, .. }, "bias") => Given::Flag(*bias),
            (Aggregate::Kurtosis { fisher, .. }, "fisher") => Given::Flag(*fisher),
            (Aggregate::Quantile { part, .. } | Aggregate::ApproxQuantile { part }, "quantile") => {
                Given::Number(part.get())
            }
            (Aggregate::Quantile { interpolation, .. }, "interpolation") => {
                Given::Word(interpolation.name().to_owned())
            }
            _ => unreachable!("an aggregate has the options that it declares: a test looks"),
        }
    }

    /// Sets an option; the error says what it may be.
    pub fn set(&mut self, setting: &Setting, value: Given) -> Result<(), String> {
        let refused = || setting.refused(self.name(), &value.to_string());
        let mut made = self.clone();
        match (&mut made, setting.name, &value) {
            (Aggregate::Sum { min_count }, "min_count", Given::Whole(number)) => *min_count = *number,
            (
                Aggregate::Std { ddof } | Aggregate::Var { ddof } | Aggregate::Cov { ddof },
                "ddof",
                Given::Whole(number),
            ) => {
                *ddof = u8::try_from(*number).map_err(|_| refused())?;
            }
            (
                Aggregate::Quantile { part, .. } | Aggregate::ApproxQuantile { part },
                "quantile",
                Given::Number(number),
            ) => {
                *part = Part::new(*number).ok_or_else(refused)?;
            }
            (Aggregate::Skew { bias } | Aggregate::Kurtosis { bias, .. }, "bias", Given::Flag(flag)) => *bias = *flag,
            (Aggregate::Kurtosis { fisher, .. }, "fisher", Given::Flag(flag)) => *fisher = *flag,
            (Aggregate::Quantile { interpolation, .. }, "interpolation", Given::Word(word)) => {
                *interpolation = Interpolation::named(word).ok_or_else(refused)?;
            }
            _ => return Err(refused()),
        }
        *self = made;
        Ok(())
    }

    /// The type of the aggregate over values of type `input`; every input is judged alike. `len()` ignores `input`.
    pub fn output_type(&self, input: &DataType) -> Result<DataType, Error> {
        let declaration = self.declaration();
        (declaration.result)(self, input).map_err(|advice| Error::Type {
            function: declaration.name.to_owned(),
            types: vec![type_name(input)],
            advice: advice.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_aggregate_is_declared_once_and_told_by_its_options() {
        for declared in Aggregate::declared() {
            assert_eq!(Aggregate::named(declared.name).as_ref(), Some(&declared.kind));
            assert!(std::ptr::eq(declared.kind.declaration(), declared), "{}", declared.name);
            for setting in declared.settings {
                let mut kind = declared.kind.clone();
                kind.set(setting, declared.kind.setting(setting)).unwrap();
                assert_eq!(kind, declared.kind, "{}", setting.name);
            }
        }
    }

    #[test]
    fn counts_are_int64_and_sums_widen() {
        let of = |kind: Aggregate, input| kind.output_type(&input).unwrap();
        let sum = || Aggregate::Sum { min_count: 0 };
        assert_eq!(of(Aggregate::Count, DataType::Utf8View), DataType::Int64);
        assert_eq!(of(sum(), DataType::Int8), DataType::Int64);
        assert_eq!(of(sum(), DataType::UInt8), DataType::UInt64);
        assert_eq!(of(sum(), DataType::Boolean), DataType::Int64);
        assert_eq!(of(sum(), DataType::Float32), DataType::Float32);
        assert_eq!(of(Aggregate::Mean, DataType::Int8), DataType::Float64);
        let decimals = [((5, 2), (9, 6)), ((36, 2), (38, 6)), ((38, 38), (38, 38))];
        for ((precision, scale), (wide, fine)) in decimals {
            let mean = of(Aggregate::Mean, DataType::Decimal128(precision, scale));
            assert_eq!(mean, DataType::Decimal128(wide, fine));
        }
        assert_eq!(of(Aggregate::Mean, DataType::Decimal256(50, 3)), DataType::Decimal256(54, 7));
        assert_eq!(of(Aggregate::Max, DataType::Utf8View), DataType::Utf8View);
        let error = sum().output_type(&DataType::Utf8View).unwrap_err().to_string();
        assert_eq!(error, "sum does not take String: cast the column to a number first");
    }
}
