//! The instructions of lanes, and one block of each.

use super::arithmetic::{Float, Integer, Math, Number};
use super::compare::{Comparison, compare, compare_bits, compare_mixed, missing};
use super::convert::{convert, from_bits, to_bits};
use super::logic::{Connective, connect, meet, select, select_words, truth};
use super::{BLOCK, Kind, LaneMut, Native, Operand, bits_mut, map, test, test2, zip};

/// One instruction: what it does and the kind of value it does it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneOp {
    /// Reinterprets the values as another type; the bits stay.
    Same(Kind),
    Arithmetic(Arithmetic, Kind),
    /// Int64 arithmetic that may not leave its range: instants and durations.
    Checked(Arithmetic),
    Divide(Kind),
    Unary(Unary, Kind),
    Bitwise(Bitwise, Kind),
    Shift {
        left: bool,
        kind: Kind,
    },
    Math(Math, Kind),
    Math2(Math2, Kind),
    /// To so many places; the count is an Int64 operand.
    Round(Kind),
    Compare(Comparison, Kind),
    /// UInt64 with Int64.
    CompareMixed(Comparison),
    Missing {
        negate: bool,
        kind: Kind,
    },
    Connect(Connective),
    Not,
    IsNull {
        negate: bool,
    },
    Class(Class, Kind),
    /// Condition, value if it is true, value if not.
    Select(Kind),
    /// The first value that is there.
    Coalesce(Kind),
    /// The lesser or greater of the values that are neither null nor NaN.
    Extreme {
        greatest: bool,
        kind: Kind,
    },
    Convert {
        from: Kind,
        to: Kind,
        check: Check,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    Modulo,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Negate,
    Abs,
    Sign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bitwise {
    And,
    Or,
    Xor,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Math2 {
    Logarithm,
    Arctan2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Nan,
    NotNan,
    Finite,
    Infinite,
}

/// What happens to a value that does not fit the type it is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Check {
    /// Every value fits.
    Never,
    /// It is an error.
    Strict,
    /// It becomes null.
    Null,
}

/// What a block's run came to.
pub(crate) enum Ran {
    /// Done; whether the result has nulls, in the words given for validity.
    Done { nulls: bool },
    /// The row of the block that has no value.
    Failed { row: usize },
}

/// The code for each of these kinds, with its Rust type; binding gives an operation no other.
macro_rules! by_kind {
    ($kind:expr, $native:ident => $body:expr, $only:literal: $($variant:ident $type:ty)*) => {
        match $kind {
            $(Kind::$variant => {
                type $native = $type;
                $body
            })*
            _ => unreachable!(concat!("binding gives this operation only ", $only)),
        }
    };
}

macro_rules! numbers {
    ($kind:expr, $native:ident => $body:expr) => {
        by_kind!($kind, $native => $body, "numbers":
            I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64 F32 f32 F64 f64)
    };
}

macro_rules! integers {
    ($kind:expr, $native:ident => $body:expr) => {
        by_kind!($kind, $native => $body, "integers": I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64)
    };
}

macro_rules! floats {
    ($kind:expr, $native:ident => $body:expr) => {
        by_kind!($kind, $native => $body, "floats": F32 f32 F64 f64)
    };
}

impl LaneOp {
    /// Runs one block of `rows` rows: values into `out`, validity into `valid` if there are nulls.
    pub(crate) fn run(self, args: &[Operand<'_>], out: LaneMut<'_>, valid: &mut [u64], rows: usize) -> Ran {
        match self {
            LaneOp::Connect(connective) => done(connect(connective, &args[0], &args[1], bits_mut(out), valid)),
            LaneOp::IsNull { negate } => is_null(&args[0], bits_mut(out), negate),
            LaneOp::Missing { negate, kind } => equal_missing(kind, args, bits_mut(out), negate),
            LaneOp::Select(kind) => choose(kind, args, out, valid),
            LaneOp::Coalesce(kind) => coalesce(kind, args, out, valid),
            LaneOp::Extreme { greatest, kind } => extreme(greatest, kind, args, out, valid),
            LaneOp::Convert { from, to, check } => cast(from, to, check, &args[0], out, valid, rows),
            LaneOp::Checked(arithmetic) => checked(arithmetic, args, i64::write(out), valid, rows),
            strict => strict.run_where_all_are_there(args, out, valid, rows),
        }
    }

    /// The functions whose value is null as soon as one argument is.
    fn run_where_all_are_there(self, args: &[Operand<'_>], out: LaneMut<'_>, valid: &mut [u64], rows: usize) -> Ran {
        let nulls = match args {
            [a] => meet(a.valid, a.valid, valid),
            [a, b] => meet(a.valid, b.valid, valid),
            _ => unreachable!("every instruction of this group has one or two arguments"),
        };
        match self {
            LaneOp::Same(kind) => same(kind, &args[0], out),
            LaneOp::Arithmetic(op, kind) => {
                numbers!(kind, T => arithmetic::<T>(op, args, T::write(out)));
                if matches!(op, Arithmetic::FloorDivide | Arithmetic::Modulo) && !matches!(kind, Kind::F32 | Kind::F64)
                {
                    return null_where_indivisible(kind, &args[1], valid, nulls, rows);
                }
            }
            LaneOp::Divide(kind) => {
                floats!(kind, T => zip(args[0].values::<T>(), args[1].values::<T>(), T::write(out), T::divide))
            }
            LaneOp::Unary(op, kind) => numbers!(kind, T => {
                let (a, out) = (args[0].values::<T>(), T::write(out));
                match op {
                    Unary::Negate => map(a, out, T::negate),
                    Unary::Abs => map(a, out, T::magnitude),
                    Unary::Sign => map(a, out, T::sign),
                }
            }),
            LaneOp::Bitwise(op, kind) => integers!(kind, T => bitwise::<T>(op, args, T::write(out))),
            LaneOp::Shift { left, kind } => integers!(kind, T => {
                let (a, count, out) = (args[0].values::<T>(), args[1].values::<i64>(), T::write(out));
                if left { zip(a, count, out, T::shift_left) } else { zip(a, count, out, T::shift_right) }
            }),
            LaneOp::Math(math, kind) => floats!(kind, T => {
                let (a, out) = (args[0].values::<T>(), T::write(out));
                match math {
                    Math::Sqrt => map(a, out, |a| a.sqrt()),
                    Math::Floor => map(a, out, |a| a.floor()),
                    Math::Ceil => map(a, out, |a| a.ceil()),
                    Math::RoundEven => map(a, out, |a| a.round_ties_even()),
                    other => map(a, out, T::function(other)),
                }
            }),
            LaneOp::Math2(math, kind) => floats!(kind, T => {
                let (a, b, out) = (args[0].values::<T>(), args[1].values::<T>(), T::write(out));
                match math {
                    Math2::Logarithm => zip(a, b, out, T::logarithm),
                    Math2::Arctan2 => zip(a, b, out, T::arctan2),
                }
            }),
            LaneOp::Round(kind) => floats!(kind, T => {
                let decimals = args[1].values::<i64>();
                zip(args[0].values::<T>(), decimals, T::write(out), |a, places| a.round_to(places.clamp(-400, 400) as i32));
            }),
            LaneOp::Compare(comparison, Kind::Bits) => compare_bits(comparison, &args[0], &args[1], bits_mut(out)),
            LaneOp::Compare(comparison, kind) => {
                numbers!(kind, T => compare::<T>(comparison, &args[0], &args[1], bits_mut(out)))
            }
            LaneOp::CompareMixed(comparison) => compare_mixed(comparison, &args[0], &args[1], bits_mut(out)),
            LaneOp::Not => bits_mut(out).iter_mut().enumerate().for_each(|(index, out)| *out = !args[0].word(index)),
            LaneOp::Class(class, kind) => floats!(kind, T => {
                let (a, out) = (args[0].values::<T>(), bits_mut(out));
                match class {
                    Class::Nan => test(a, out, |a| a.is_nan()),
                    Class::NotNan => test(a, out, |a| !a.is_nan()),
                    Class::Finite => test(a, out, |a| a.is_finite()),
                    Class::Infinite => test(a, out, |a| a.is_infinite()),
                }
            }),
            _ => unreachable!("the others are run by themselves"),
        }
        done(nulls)
    }
}

fn done(nulls: bool) -> Ran {
    Ran::Done { nulls }
}

/// The first of `rows` rows whose bit is set.
fn first(words: impl Iterator<Item = u64>, rows: usize) -> Option<usize> {
    let found = words.enumerate().find(|(_, word)| *word != 0);
    found.map(|(index, word)| 64 * index + word.trailing_zeros() as usize).filter(|row| *row < rows)
}

fn arithmetic<T: Number>(op: Arithmetic, args: &[Operand<'_>], out: &mut [T]) {
    let (a, b) = (args[0].values::<T>(), args[1].values::<T>());
    match op {
        Arithmetic::Add => zip(a, b, out, T::add),
        Arithmetic::Subtract => zip(a, b, out, T::subtract),
        Arithmetic::Multiply => zip(a, b, out, T::multiply),
        Arithmetic::FloorDivide => zip(a, b, out, T::floor_divide),
        Arithmetic::Modulo => zip(a, b, out, T::modulo),
        Arithmetic::Power => zip(a, b, out, T::power),
    }
}

fn null_where_indivisible(kind: Kind, divisor: &Operand<'_>, valid: &mut [u64], nulls: bool, rows: usize) -> Ran {
    let mut divides = [0; BLOCK / 64];
    let divides = &mut divides[..valid.len()];
    numbers!(kind, T => test(divisor.values::<T>(), divides, T::divides));
    if first(divides.iter().map(|word| !word), rows).is_none() {
        return done(nulls);
    }
    for (valid, divides) in valid.iter_mut().zip(divides) {
        *valid = if nulls { *valid & *divides } else { *divides };
    }
    done(true)
}

fn checked(op: Arithmetic, args: &[Operand<'_>], out: &mut [i64], valid: &mut [u64], rows: usize) -> Ran {
    let nulls = meet(args[0].valid, args[1].valid, valid);
    arithmetic::<i64>(op, args, out);
    let (a, b) = (args[0].values::<i64>(), args[1].values::<i64>());
    let mut fails = [0; BLOCK / 64];
    let fails = &mut fails[..valid.len()];
    match op {
        // Overflow shows in the sign: both operands differ from the result.
        Arithmetic::Add => test2(a, b, fails, |a: i64, b: i64| ((a ^ a.wrapping_add(b)) & (b ^ a.wrapping_add(b))) < 0),
        Arithmetic::Subtract => test2(a, b, fails, |a: i64, b: i64| ((a ^ b) & (a ^ a.wrapping_sub(b))) < 0),
        Arithmetic::Multiply => test2(a, b, fails, |a: i64, b: i64| a.checked_mul(b).is_none()),
        _ => unreachable!("durations are divided by other means"),
    }
    let failing = fails.iter().zip(&*valid).map(|(fails, valid)| if nulls { fails & valid } else { *fails });
    first(failing, rows).map_or_else(|| done(nulls), |row| Ran::Failed { row })
}

fn bitwise<T: Integer>(op: Bitwise, args: &[Operand<'_>], out: &mut [T]) {
    let a = args[0].values::<T>();
    match op {
        Bitwise::And => zip(a, args[1].values::<T>(), out, T::and),
        Bitwise::Or => zip(a, args[1].values::<T>(), out, T::or),
        Bitwise::Xor => zip(a, args[1].values::<T>(), out, T::xor),
        Bitwise::Not => map(a, out, T::not),
    }
}

fn same(kind: Kind, a: &Operand<'_>, out: LaneMut<'_>) {
    match kind {
        Kind::Bits => bits_mut(out).iter_mut().enumerate().for_each(|(index, out)| *out = a.word(index)),
        Kind::Opaque => {}
        number => numbers!(number, T => map(a.values::<T>(), T::write(out), |a| a)),
    }
}

fn is_null(a: &Operand<'_>, out: &mut [u64], negate: bool) -> Ran {
    for (index, out) in out.iter_mut().enumerate() {
        let there = a.valid.word(index);
        *out = if negate { there } else { !there };
    }
    done(false)
}

fn equal_missing(kind: Kind, args: &[Operand<'_>], out: &mut [u64], negate: bool) -> Ran {
    match kind {
        Kind::Bits => compare_bits(Comparison::Equal, &args[0], &args[1], out),
        number => numbers!(number, T => compare::<T>(Comparison::Equal, &args[0], &args[1], out)),
    }
    missing(out, args[0].valid, args[1].valid, negate);
    done(false)
}

fn choose(kind: Kind, args: &[Operand<'_>], out: LaneMut<'_>, valid: &mut [u64]) -> Ran {
    let mut mask = [0; BLOCK / 64];
    let mask = &mut mask[..valid.len()];
    truth(&args[0], mask);
    choose_by(kind, mask, &args[1], &args[2], out, valid)
}

fn choose_by(kind: Kind, mask: &[u64], a: &Operand<'_>, b: &Operand<'_>, out: LaneMut<'_>, valid: &mut [u64]) -> Ran {
    match kind {
        Kind::Bits => select_words(mask, |index| a.word(index), |index| b.word(index), bits_mut(out)),
        Kind::Opaque => {}
        number => numbers!(number, T => select(mask, a.values::<T>(), b.values::<T>(), T::write(out))),
    }
    let nulls = a.valid.has_nulls() || b.valid.has_nulls();
    if nulls {
        select_words(mask, |index| a.valid.word(index), |index| b.valid.word(index), valid);
    }
    done(nulls)
}

fn coalesce(kind: Kind, args: &[Operand<'_>], out: LaneMut<'_>, valid: &mut [u64]) -> Ran {
    let (a, b) = (&args[0], &args[1]);
    let mut mask = [0; BLOCK / 64];
    let mask = &mut mask[..valid.len()];
    mask.iter_mut().enumerate().for_each(|(index, word)| *word = a.valid.word(index));
    choose_by(kind, mask, a, b, out, valid);
    let nulls = a.valid.has_nulls() && b.valid.has_nulls();
    if nulls {
        valid.iter_mut().enumerate().for_each(|(index, word)| *word = a.valid.word(index) | b.valid.word(index));
    }
    done(nulls)
}

fn extreme(greatest: bool, kind: Kind, args: &[Operand<'_>], out: LaneMut<'_>, valid: &mut [u64]) -> Ran {
    let (a, b) = (&args[0], &args[1]);
    // The left value is taken where it is there and the right one is missing or does not win.
    let mut mask = [0; BLOCK / 64];
    let mask = &mut mask[..valid.len()];
    match kind {
        Kind::Bits => compare_bits(if greatest { Comparison::GreaterEqual } else { Comparison::LessEqual }, a, b, mask),
        number => numbers!(number, T => {
            let (a, b) = (a.values::<T>(), b.values::<T>());
            if greatest {
                test2(a, b, mask, |a: T, b: T| b.is_not_a_number() | (!a.is_not_a_number() & !a.less(b)));
            } else {
                test2(a, b, mask, |a: T, b: T| !b.less(a));
            }
        }),
    }
    for (index, mask) in mask.iter_mut().enumerate() {
        *mask = a.valid.word(index) & (*mask | !b.valid.word(index));
    }
    choose_by(kind, mask, a, b, out, valid)
}

fn cast(from: Kind, to: Kind, check: Check, a: &Operand<'_>, out: LaneMut<'_>, valid: &mut [u64], rows: usize) -> Ran {
    let nulls = meet(a.valid, a.valid, valid);
    let mut fits = [0; BLOCK / 64];
    let fits = &mut fits[..valid.len()];
    match (from, to) {
        (Kind::Bits, Kind::Bits) => same(Kind::Bits, a, out),
        (Kind::Bits, to) => numbers!(to, B => from_bits::<B>(a, B::write(out))),
        (from, Kind::Bits) => numbers!(from, A => to_bits::<A>(a, bits_mut(out))),
        (from, to) => numbers!(from, A => numbers!(to, B => {
            convert::<A, B>(a, B::write(out), (check != Check::Never).then_some(&mut *fits));
        })),
    }
    if check == Check::Never || matches!(from, Kind::Bits) || matches!(to, Kind::Bits) {
        return done(nulls);
    }
    let failing = fits.iter().zip(&*valid).map(|(fits, valid)| if nulls { !fits & valid } else { !fits });
    match (first(failing, rows), check) {
        (None, _) => done(nulls),
        (Some(row), Check::Strict) => Ran::Failed { row },
        (Some(_), _) => {
            valid.iter_mut().zip(fits).for_each(|(valid, fits)| *valid = if nulls { *valid & *fits } else { *fits });
            done(true)
        }
    }
}
