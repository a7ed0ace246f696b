//! Lanes: fixed-width values and bits, computed in blocks small enough to stay in the first cache.
//!
//! A program is a list of instructions over registers. Each runs over a whole block in one typed
//! loop; validity travels beside the values as words of 64 rows, and no loop looks at it.

mod arithmetic;
mod compare;
mod convert;
mod logic;
mod program;
mod run;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use arrow_schema::DataType;

pub(crate) use arithmetic::Math;
pub(crate) use compare::Comparison;
pub(crate) use logic::Connective;
pub(crate) use program::{Instruction, Leaf, Output, Program, Slot};
pub(crate) use run::{Arithmetic, Bitwise, Check, Class, LaneOp, Math2, Unary};

/// The most rows in a block, where it has nothing but bits; of values there are fewer (`Program::block`).
pub(crate) const BLOCK: usize = 4096;

/// How a type's values lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    Bits,
    /// Only validity is looked at.
    Opaque,
}

impl Kind {
    /// The kind of a type that lanes can hold.
    pub(crate) fn of(data_type: &DataType) -> Option<Kind> {
        use DataType::*;
        Some(match data_type {
            Int8 => Kind::I8,
            Int16 => Kind::I16,
            Int32 | Date32 => Kind::I32,
            Int64 | Timestamp(_, _) | Duration(_) | Time64(_) => Kind::I64,
            UInt8 => Kind::U8,
            UInt16 => Kind::U16,
            UInt32 => Kind::U32,
            UInt64 => Kind::U64,
            Float32 => Kind::F32,
            Float64 => Kind::F64,
            Boolean => Kind::Bits,
            _ => return None,
        })
    }
}

macro_rules! lanes {
    ($($variant:ident $native:ty),*) => {
        /// Owned values of one kind.
        #[derive(Clone, Debug)]
        pub(crate) enum Lane { $($variant(Vec<$native>),)* Bits(Vec<u64>), Opaque }

        /// Borrowed values of one kind.
        #[derive(Clone, Copy)]
        pub(crate) enum LaneRef<'a> { $($variant(&'a [$native]),)* Bits(&'a [u64]), Opaque }

        /// Values of one kind to be written.
        pub(crate) enum LaneMut<'a> { $($variant(&'a mut [$native]),)* Bits(&'a mut [u64]), Opaque }

        /// A whole column's values of one kind, shared with its array.
        pub(crate) enum Values { $($variant(ScalarBuffer<$native>),)* Bits(Vec<u64>), Opaque }

        impl Lane {
            /// Zeros for `rows` values.
            pub(crate) fn zeros(kind: Kind, rows: usize) -> Lane {
                match kind {
                    $(Kind::$variant => Lane::$variant(vec![<$native>::default(); rows]),)*
                    Kind::Bits => Lane::Bits(vec![0; rows.div_ceil(64)]),
                    Kind::Opaque => Lane::Opaque,
                }
            }

            /// No values, and room for `rows`.
            pub(crate) fn with_room(kind: Kind, rows: usize) -> Lane {
                match kind {
                    $(Kind::$variant => Lane::$variant(Vec::with_capacity(rows)),)*
                    Kind::Bits => Lane::Bits(Vec::with_capacity(rows.div_ceil(64))),
                    Kind::Opaque => Lane::Opaque,
                }
            }

            /// The next `rows` values, to be written; those before them are whole words of bits.
            pub(crate) fn next_block(&mut self, rows: usize) -> LaneMut<'_> {
                // Zeroed while they lie in the first cache: to have all zeroed at once would write memory twice.
                match self {
                    $(Lane::$variant(values) => {
                        let start = values.len();
                        values.resize(start + rows, <$native>::default());
                        LaneMut::$variant(&mut values[start..])
                    })*
                    Lane::Bits(words) => {
                        let start = words.len();
                        words.resize(start + rows.div_ceil(64), 0);
                        LaneMut::Bits(&mut words[start..])
                    }
                    Lane::Opaque => LaneMut::Opaque,
                }
            }

            pub(crate) fn block(&self, start: usize, rows: usize) -> LaneRef<'_> {
                match self {
                    $(Lane::$variant(values) => LaneRef::$variant(&values[start..start + rows]),)*
                    Lane::Bits(words) => LaneRef::Bits(&words[start / 64..(start + rows).div_ceil(64)]),
                    Lane::Opaque => LaneRef::Opaque,
                }
            }

            pub(crate) fn block_mut(&mut self, start: usize, rows: usize) -> LaneMut<'_> {
                match self {
                    $(Lane::$variant(values) => LaneMut::$variant(&mut values[start..start + rows]),)*
                    Lane::Bits(words) => LaneMut::Bits(&mut words[start / 64..(start + rows).div_ceil(64)]),
                    Lane::Opaque => LaneMut::Opaque,
                }
            }
        }

        impl Values {
            /// The values of an array, without a copy but for bits.
            pub(crate) fn of(array: &ArrayRef) -> Values {
                let cells = array.as_ref();
                let values = downcast_primitive_array!(
                    cells => Some(cells.values().inner().clone()),
                    _ => None
                );
                match (Kind::of(array.data_type()), values) {
                    $((Some(Kind::$variant), Some(values)) => {
                        Values::$variant(ScalarBuffer::new(values, 0, array.len()))
                    })*
                    (Some(Kind::Bits), _) => Values::Bits(words_of(array.as_boolean().values())),
                    _ => Values::Opaque,
                }
            }

            pub(crate) fn block(&self, start: usize, rows: usize) -> LaneRef<'_> {
                match self {
                    $(Values::$variant(values) => LaneRef::$variant(&values[start..start + rows]),)*
                    Values::Bits(words) => LaneRef::Bits(&words[start / 64..(start + rows).div_ceil(64)]),
                    Values::Opaque => LaneRef::Opaque,
                }
            }
        }

        $(impl Native for $native {
            fn read(lane: LaneRef<'_>) -> &[Self] {
                match lane {
                    LaneRef::$variant(values) => values,
                    _ => unreachable!("binding gives every instruction operands of its own kind"),
                }
            }
            fn write(lane: LaneMut<'_>) -> &mut [Self] {
                match lane {
                    LaneMut::$variant(values) => values,
                    _ => unreachable!("binding gives every instruction an output of its own kind"),
                }
            }
        })*
    };
}

/// A choice by masks: where a condition is as good as random a branch is guessed wrong too often.
pub(crate) trait Choice: Sized {
    /// `self` if the condition holds, else `other`.
    fn if_or(self, condition: bool, other: Self) -> Self;
}

macro_rules! choices {
    ($($native:ident by $bits:ident: $to_bits:expr, $from_bits:expr;)*) => {$(
        impl Choice for $native {
            #[inline(always)]
            fn if_or(self, condition: bool, other: Self) -> Self {
                let mask = $bits::default().wrapping_sub($bits::from(condition));
                $from_bits(($to_bits(self) & mask) | ($to_bits(other) & !mask))
            }
        }
    )*};
}

choices! {
    i8 by i8: i8::from, i8::from;
    i16 by i16: i16::from, i16::from;
    i32 by i32: i32::from, i32::from;
    i64 by i64: i64::from, i64::from;
    u8 by u8: u8::from, u8::from;
    u16 by u16: u16::from, u16::from;
    u32 by u32: u32::from, u32::from;
    u64 by u64: u64::from, u64::from;
    f32 by u32: f32::to_bits, f32::from_bits;
    f64 by u64: f64::to_bits, f64::from_bits;
}

lanes!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);

/// A Rust type that lanes hold.
pub(crate) trait Native: Choice + Copy + Default + PartialEq + PartialOrd + 'static {
    fn read(lane: LaneRef<'_>) -> &[Self];
    fn write(lane: LaneMut<'_>) -> &mut [Self];
}

pub(crate) fn bits(lane: LaneRef<'_>) -> &[u64] {
    match lane {
        LaneRef::Bits(words) => words,
        _ => unreachable!("binding gives logic operands of bits"),
    }
}

pub(crate) fn bits_mut(lane: LaneMut<'_>) -> &mut [u64] {
    match lane {
        LaneMut::Bits(words) => words,
        _ => unreachable!("binding gives logic an output of bits"),
    }
}

/// The bits as words from bit 0 on.
pub(crate) fn words_of(buffer: &BooleanBuffer) -> Vec<u64> {
    let mut words: Vec<u64> = buffer.bit_chunks().iter_padded().collect();
    words.truncate(buffer.len().div_ceil(64));
    words
}

/// Which rows of a block hold a value.
#[derive(Clone, Copy)]
pub(crate) enum Valid<'a> {
    All,
    Never,
    Words(&'a [u64]),
}

impl Valid<'_> {
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        match self {
            Valid::All => !0,
            Valid::Never => 0,
            Valid::Words(words) => words[index],
        }
    }

    pub(crate) fn has_nulls(&self) -> bool {
        !matches!(self, Valid::All)
    }
}

/// What an instruction reads: a block of values, or one value that stands in every row.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) lane: LaneRef<'a>,
    pub(crate) one: bool,
    pub(crate) valid: Valid<'a>,
}

/// Typed values of an operand.
#[derive(Clone, Copy)]
pub(crate) enum In<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl<'a> Operand<'a> {
    pub(crate) fn values<T: Native>(&self) -> In<'a, T> {
        let values = T::read(self.lane);
        if self.one { In::One(values[0]) } else { In::Many(values) }
    }

    /// A word of 64 booleans.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        let words = bits(self.lane);
        if self.one { 0_u64.wrapping_sub(words[0] & 1) } else { words[index] }
    }
}

/// `out[i] = f(a[i])`.
#[inline]
pub(crate) fn map<A: Native, R: Native>(a: In<'_, A>, out: &mut [R], f: impl Fn(A) -> R + Copy) {
    match a {
        In::Many(a) => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a)),
        In::One(a) => out.fill(f(a)),
    }
}

/// `out[i] = f(a[i], b[i])`.
#[inline]
pub(crate) fn zip<A: Native, B: Native, R: Native>(
    a: In<'_, A>,
    b: In<'_, B>,
    out: &mut [R],
    f: impl Fn(A, B) -> R + Copy,
) {
    match (a, b) {
        (In::Many(a), In::Many(b)) => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b)),
        (In::Many(a), In::One(b)) => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, b)),
        (In::One(a), In::Many(b)) => out.iter_mut().zip(b).for_each(|(out, b)| *out = f(a, *b)),
        (In::One(a), In::One(b)) => out.fill(f(a, b)),
    }
}

/// Bit i of `out` is `f(a[i])`.
#[inline]
pub(crate) fn test<A: Native>(a: In<'_, A>, out: &mut [u64], f: impl Fn(A) -> bool + Copy) {
    match a {
        In::Many(a) => simd::widest(Test { a, out, f }),
        In::One(a) => out.fill(all_if(f(a))),
    }
}

struct Test<'a, A, F> {
    a: &'a [A],
    out: &'a mut [u64],
    f: F,
}

impl<A: Native, F: Fn(A) -> bool + Copy> simd::Loop for Test<'_, A, F> {
    type Made = ();

    #[inline(always)]
    fn run<const BITS: usize>(self) {
        let Test { a, out, f } = self;
        // Of 64 rows the loop has no end to look for; the last word may have fewer.
        let (whole, rest) = a.as_chunks::<64>();
        for (word, a) in out.iter_mut().zip(whole) {
            *word = word_of::<BITS>(a.iter().map(|a| f(*a)));
        }
        if let Some(word) = out.get_mut(whole.len()) {
            *word = word_of::<BITS>(rest.iter().map(|a| f(*a)));
        }
    }
}

/// Bit i of `out` is `f(a[i], b[i])`.
#[inline]
pub(crate) fn test2<A: Native, B: Native>(
    a: In<'_, A>,
    b: In<'_, B>,
    out: &mut [u64],
    f: impl Fn(A, B) -> bool + Copy,
) {
    match (a, b) {
        (In::Many(a), In::Many(b)) => simd::widest(Test2 { a, b, out, f }),
        (a, In::One(b)) => test(a, out, |a| f(a, b)),
        (In::One(a), b) => test(b, out, |b| f(a, b)),
    }
}

struct Test2<'a, A, B, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [u64],
    f: F,
}

impl<A: Native, B: Native, F: Fn(A, B) -> bool + Copy> simd::Loop for Test2<'_, A, B, F> {
    type Made = ();

    #[inline(always)]
    fn run<const BITS: usize>(self) {
        let Test2 { a, b, out, f } = self;
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<64>(), b.as_chunks::<64>());
        for (word, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *word = word_of::<BITS>(a.iter().zip(b).map(|(a, b)| f(*a, *b)));
        }
        if let Some(word) = out.get_mut(a.len()) {
            *word = word_of::<BITS>(a_rest.iter().zip(b_rest).map(|(a, b)| f(*a, *b)));
        }
    }
}

fn all_if(condition: bool) -> u64 {
    if condition { !0 } else { 0 }
}

/// The first 64 conditions as bits, from bit 0 on.
#[inline(always)]
fn word_of<const BITS: usize>(conditions: impl Iterator<Item = bool>) -> u64 {
    if BITS > 128 {
        // Vectors of conditions choose among vectors of bits in registers: bytes would be written and read again, in other pieces.
        return conditions.enumerate().fold(0, |word, (at, condition)| word | u64::from(condition) << at);
    }
    let mut bytes = [0_u8; 64];
    bytes.iter_mut().zip(conditions).for_each(|(byte, condition)| *byte = u8::from(condition));
    pack(&bytes)
}

/// 64 bytes of 0 or 1 as bits. The multiplication moves the low bit of byte i to bit 56 + i without carries.
#[inline(always)]
fn pack(bytes: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (index, eight) in bytes.chunks_exact(8).enumerate() {
        let eight = u64::from_le_bytes(eight.try_into().expect("chunks are of eight"));
        word |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
    }
    word
}

/// One byte for each of 64 bits: not zero where the bit is set.
#[inline(always)]
pub(crate) fn spread(word: u64) -> [u8; 64] {
    let mut bytes = [0_u8; 64];
    for (index, eight) in bytes.chunks_exact_mut(8).enumerate() {
        let byte = (word >> (8 * index)) & 0xff;
        let spread = byte.wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
        eight.copy_from_slice(&spread.to_le_bytes());
    }
    bytes
}
