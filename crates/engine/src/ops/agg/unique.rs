//! `n_unique`, `count_distinct`: pairs of group and value with how often each is there, and how many pairs a group has.
//!
//! A state of its own kind, not an accumulator a group: one table of pairs serves all groups and every type that can be
//! a key, where a set a group would be an allocation each, and a copy of each text. Over a static table texts have numbers,
//! and pairs are listed once most of them are new.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, UInt32Array};
use arrow_schema::DataType;
use column::Chunk;
use column::kernels::order_words;
use column::keys::KeyTable;

use super::listed_pairs::ListedPairs;
use super::state::{State, as_same, same};
use crate::error::Error;
use crate::sizes::UNIQUE_PAIRS;

/// Bytes of a pair, about: its key, its place in the table, and its count.
const PAIR: u64 = 32;
/// Bytes of a listed pair, which is put in order once.
const LISTED: u64 = 20;

/// Counts by pair, and pairs by group.
pub(crate) struct Distinct {
    pairs: KeyTable,
    /// Numbers for values that are no words, where none ever leaves: a pair is two numbers then.
    numbers: Option<KeyTable>,
    counts: Vec<i64>,
    distinct: Vec<i64>,
    of: DataType,
    /// Whether null is a value.
    nulls: bool,
    /// The pairs of a static table, if they are listed.
    listed: Option<ListedPairs>,
    lists: bool,
    /// How many rows came before they were.
    entered: usize,
    /// Of listed pairs: what each group has.
    counted: OnceLock<Vec<i64>>,
}

impl Distinct {
    /// Of cells of this type, that can be keys.
    /// `still`: whether all cells enter before the first result is read, and none leaves.
    pub(crate) fn new(of: &DataType, nulls: bool, still: bool) -> Distinct {
        let has_words = order_words(&arrow_array::new_empty_array(of), false).is_some();
        let numbers = (still && !has_words).then(|| KeyTable::new(std::slice::from_ref(of)));
        let pairs = pairs_of(of, numbers.is_some());
        let listed = still.then(ListedPairs::default);
        let (counts, distinct) = Default::default();
        let (lists, entered, counted) = Default::default();
        Distinct { pairs, numbers, counts, distinct, of: of.clone(), nulls, listed, lists, entered, counted }
    }

    /// Whether pairs are listed: from when most of those that came were new.
    fn lists(&mut self) -> bool {
        let pairs = self.pairs.len();
        if !self.lists && self.listed.is_some() && pairs > UNIQUE_PAIRS.get() && pairs > self.entered / 2 {
            self.turn_to_list();
        }
        self.lists
    }

    /// Lists the pairs of the table, where they can be. It keeps those whose value is null.
    fn turn_to_list(&mut self) {
        let Some(listed) = self.listed.as_mut().filter(|_| !self.lists) else { return };
        self.lists = true;
        let keys = self.pairs.keys_of(&(0..self.pairs.len() as u32).collect::<Vec<_>>());
        let keys = list(listed, &keys[0], &keys[1]);
        self.pairs = pairs_of(&self.of, self.numbers.is_some());
        self.counts.clear();
        self.distinct.iter_mut().for_each(|distinct| *distinct = 0);
        self.enter(&keys, std::iter::repeat(1));
    }

    /// How many distinct values each group has.
    fn totals(&self) -> &[i64] {
        let Some(listed) = self.listed.as_ref().filter(|listed| listed.len() > 0) else { return &self.distinct };
        self.counted.get_or_init(|| {
            let distinct = listed.distinct(self.distinct.len());
            distinct.into_iter().zip(&self.distinct).map(|(distinct, null)| distinct + null).collect()
        })
    }

    /// Cells of the column's type: those of a dictionary column may come as they are stored.
    fn plain(&self, cells: &Chunk) -> Chunk {
        match *cells.data_type() == self.of {
            true => cells.clone(),
            false => arrow_cast::cast(cells, &self.of).expect("cells are values of their column's type"),
        }
    }

    /// Groups and values as keys, without nulls if they are none.
    fn keys(&self, slots: &[u32], cells: &Chunk) -> [ArrayRef; 2] {
        let groups: ArrayRef = Arc::new(UInt32Array::from(slots.to_vec()));
        let cells = self.plain(cells);
        match cells.logical_nulls().filter(|nulls| !self.nulls && nulls.null_count() > 0) {
            None => [groups, cells],
            Some(nulls) => {
                let there = BooleanArray::new(nulls.into_inner(), None);
                [groups, cells].map(|of| arrow_select::filter::filter(&of, &there).expect("as long as the cells"))
            }
        }
    }

    fn enter(&mut self, keys: &[ArrayRef], times: impl Iterator<Item = i64>) {
        let mut pairs = Vec::new();
        self.pairs.insert(keys, &mut pairs, &mut Vec::new()).expect("fewer than 2^32 pairs, of cells that can be keys");
        self.counts.resize(self.pairs.capacity_slots().max(self.counts.len()), 0);
        let groups = keys[0].as_primitive::<UInt32Type>();
        for ((pair, group), times) in pairs.into_iter().zip(groups.values()).zip(times) {
            let count = &mut self.counts[pair as usize];
            self.distinct[*group as usize] += i64::from(*count == 0);
            *count += times;
        }
    }
}

/// The table of groups and values, or their numbers.
fn pairs_of(of: &DataType, numbered: bool) -> KeyTable {
    KeyTable::new(&[DataType::UInt32, if numbered { DataType::UInt32 } else { of.clone() }])
}

/// The numbers of values; null stays null.
fn numbered(numbers: &mut KeyTable, cells: &ArrayRef) -> ArrayRef {
    let mut slots = Vec::new();
    numbers
        .insert(std::slice::from_ref(cells), &mut slots, &mut Vec::new())
        .expect("fewer than 2^32 values that can be keys");
    Arc::new(UInt32Array::new(slots.into(), cells.logical_nulls()))
}

/// Lists pairs, and gives back those whose value is null.
fn list(listed: &mut ListedPairs, groups: &ArrayRef, cells: &ArrayRef) -> [ArrayRef; 2] {
    let groups_of = |of: &ArrayRef| of.as_primitive::<UInt32Type>().values().clone();
    let Some(nulls) = cells.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        listed.extend(&groups_of(groups), cells);
        return [groups.slice(0, 0), cells.slice(0, 0)];
    };
    let there = BooleanArray::new(nulls.into_inner(), None);
    let missing = arrow_arith::boolean::not(&there).expect("a plain array");
    let pick = |of: &ArrayRef, which| arrow_select::filter::filter(of, which).expect("as long as the cells");
    listed.extend(&groups_of(&pick(groups, &there)), &pick(cells, &there));
    [pick(groups, &missing), pick(cells, &missing)]
}

impl State for Distinct {
    fn grow(&mut self, slots: usize) {
        self.distinct.resize(slots, 0);
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        let (mut numbers, mut known) = (Vec::new(), KeyTable::new(std::slice::from_ref(&self.of)));
        if let Err(error) = known.insert(&[self.plain(&cells[0])], &mut numbers, &mut Vec::new()) {
            return Some(Err(error.into()));
        }
        let missing = cells[0].logical_nulls().filter(|nulls| !self.nulls && nulls.null_count() > 0);
        let counted = |at: usize| missing.as_ref().is_none_or(|nulls| nulls.is_valid(at));
        let mut times = vec![0usize; known.capacity_slots()];
        let (mut distinct, mut present) = (0, 0..0);
        let mut made = Vec::with_capacity(windows.len());
        for window in windows {
            // What is behind the window leaves, also where the next one lies apart.
            let from = window.start.max(present.end);
            for at in (present.start..window.start.min(present.end)).filter(|at| counted(*at)) {
                let times = &mut times[numbers[at] as usize];
                *times -= 1;
                distinct -= i64::from(*times == 0);
            }
            for at in (from..window.end).filter(|at| counted(*at)) {
                let times = &mut times[numbers[at] as usize];
                distinct += i64::from(*times == 0);
                *times += 1;
            }
            present = window.clone();
            made.push(distinct);
        }
        Some(Ok(Arc::new(Int64Array::from(made))))
    }

    fn add(&mut self, slots: &[u32], cells: &[Chunk]) {
        let mut keys = self.keys(slots, &cells[0]);
        if let Some(numbers) = &mut self.numbers {
            keys[1] = numbered(numbers, &keys[1]);
        }
        if self.lists()
            && let Some(listed) = &mut self.listed
        {
            keys = list(listed, &keys[0], &keys[1]);
        }
        self.entered += keys[0].len();
        self.enter(&keys, std::iter::repeat(1));
    }

    fn remove(&mut self, slots: &[u32], cells: &[Chunk]) {
        let keys = self.keys(slots, &cells[0]);
        let mut pairs = Vec::new();
        self.pairs.find(&keys, &mut pairs);
        for (pair, group) in pairs.into_iter().zip(keys[0].as_primitive::<UInt32Type>().values()) {
            let Some(count) = self.counts.get_mut(pair as usize) else { continue };
            *count -= 1;
            if *count == 0 {
                self.pairs.free(pair);
                self.distinct[*group as usize] -= 1;
            }
        }
    }

    fn reset(&mut self, slot: u32) {
        // A group that is gone has lost every value before.
        self.distinct[slot as usize] = 0;
    }

    fn held(&self, _: usize) -> u64 {
        // What is held is counted; it doubles when it is full.
        let listed = self.listed.as_ref().map_or(0, ListedPairs::len) as u64;
        (self.counts.len() as u64).saturating_mul(PAIR).saturating_add(listed.saturating_mul(LISTED))
    }

    fn values_of(&self, held: &dyn State, slots: &[u32]) -> Result<ArrayRef, Error> {
        let held = as_same::<Distinct>(held).unwrap_or(self);
        let totals = held.totals();
        Ok(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| totals[*slot as usize]))))
    }

    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]) {
        let mut other = same::<Distinct>(other);
        if self.lists || other.lists {
            self.turn_to_list();
            other.turn_to_list();
        }
        let numbers = self.numbers.as_mut().zip(other.numbers.take()).map(|(own, others)| {
            let all: Vec<u32> = (0..others.len() as u32).collect();
            let mut numbers = Vec::new();
            own.insert(&others.keys_of(&all), &mut numbers, &mut Vec::new()).expect("fewer than 2^32 values");
            numbers
        });
        let number = |number: u32| numbers.as_ref().map_or(number, |numbers| numbers[number as usize]);
        if let (Some(own), Some(mut others)) = (&mut self.listed, other.listed.take()) {
            if numbers.is_some() {
                others.each_word(|word| *word = u64::from(number(*word as u32)));
            }
            own.append(others, slots);
        }
        let there: Vec<u32> = (0..other.counts.len() as u32).filter(|pair| other.counts[*pair as usize] > 0).collect();
        let mut keys = other.pairs.keys_of(&there);
        let groups = keys[0].as_primitive::<UInt32Type>().unary::<_, UInt32Type>(|group| slots[group as usize]);
        keys[0] = Arc::new(groups);
        if let (Some(_), Some(values)) = (&numbers, keys[1].as_primitive_opt::<UInt32Type>()) {
            keys[1] = Arc::new(values.unary::<_, UInt32Type>(number));
        }
        self.enter(&keys, there.iter().map(|pair| other.counts[*pair as usize]));
    }
}
