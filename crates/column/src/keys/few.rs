//! Few keys of short texts, found again without the hash that many keys need.
//!
//! A column of flags or states has a handful of texts, each of which lies in its view. A row's views name one place; if the key
//! that stands there is the row's, its slot is known. Rows are looked up from the first on until one is not found: the rest is
//! for the table of all keys, and what it finds is learned.

use arrow_schema::DataType;

use super::arena::INLINE;

/// Columns of a key.
const MOST_COLUMNS: usize = 3;
/// Places, by the high bits of a product.
const BITS: u32 = 8;
/// Rows that are looked up before it is asked whether all were found.
pub(super) const BLOCK: usize = 64;
/// Odd numbers with bits of no pattern, one for each half of a view.
const FACTORS: [u64; 2 * MOST_COLUMNS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

#[derive(Clone, Copy)]
struct Place {
    views: [u128; MOST_COLUMNS],
    slot: u32,
}

/// What no view of a short text is: so long a text does not lie in its view.
const NONE: Place = Place { views: [u128::MAX; MOST_COLUMNS], slot: 0 };

/// Some keys and their slots; no places where nothing was learned.
#[derive(Default)]
pub(super) struct Few {
    places: Vec<Place>,
}

impl Few {
    /// For keys of these types, if they can be kept.
    pub(super) fn of(types: &[DataType]) -> Option<Few> {
        let text = |one: &DataType| matches!(one, DataType::Utf8View | DataType::BinaryView);
        ((1..=MOST_COLUMNS).contains(&types.len()) && types.iter().all(text)).then(Few::default)
    }

    /// The slots of rows from the first on, as many as are found; how many that are.
    pub(super) fn find(&self, views: &[&[u128]], slots: &mut Vec<u32>) -> usize {
        match views {
            _ if self.places.is_empty() => 0,
            [one] => self.find_of([one], slots),
            [one, two] => self.find_of([one, two], slots),
            [one, two, three] => self.find_of([one, two, three], slots),
            _ => 0,
        }
    }

    fn find_of<const N: usize>(&self, views: [&[u128]; N], slots: &mut Vec<u32>) -> usize {
        let rows = views[0].len();
        let mut found = [0; BLOCK];
        for start in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - start);
            let views = views.map(|views| &views[start..start + count]);
            let mut all = true;
            for (row, slot) in found[..count].iter_mut().enumerate() {
                let key = views.map(|views| views[row]);
                let place = &self.places[place_of(&key)];
                let other = (0..N).fold(0, |other, at| other | (key[at] ^ place.views[at]));
                all &= other == 0;
                *slot = place.slot;
            }
            if !all {
                return start;
            }
            slots.extend_from_slice(&found[..count]);
        }
        rows
    }

    /// Keeps the keys of the first rows that were not found, by the slots that they have; long texts are not kept.
    pub(super) fn learn(&mut self, views: &[&[u128]], slots: &[u32]) {
        self.places.resize(1 << BITS, NONE);
        for (row, slot) in slots.iter().enumerate().take(BLOCK) {
            let key = views.iter().map(|views| views[row]);
            if key.clone().any(|view| view as u32 > INLINE as u32) {
                continue;
            }
            let mut place = Place { slot: *slot, ..NONE };
            key.zip(&mut place.views).for_each(|(view, place)| *place = view);
            self.places[place_of(&place.views[..views.len()])] = place;
        }
    }
}

#[inline(always)]
fn place_of(key: &[u128]) -> usize {
    let halves = key.iter().flat_map(|view| [*view as u64, (*view >> 64) as u64]);
    let sum = halves.zip(FACTORS).fold(0_u64, |sum, (half, factor)| sum.wrapping_add(half.wrapping_mul(factor)));
    (sum >> (u64::BITS - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> u128 {
        let mut bytes = [0; 16];
        bytes[0] = text.len() as u8;
        bytes[4..4 + text.len()].copy_from_slice(text.as_bytes());
        u128::from_le_bytes(bytes)
    }

    #[test]
    fn rows_are_found_up_to_the_first_that_is_not() {
        let texts: Vec<u128> = ["A", "N", "R", ""].map(view).to_vec();
        let rows: Vec<u128> = (0..200).map(|row| if row == 150 { view("new") } else { texts[row * 7 % 4] }).collect();
        let others = vec![view("O"); rows.len()];
        let (mut few, mut slots) = (Few::default(), Vec::new());
        assert_eq!(few.find(&[&rows, &others], &mut slots), 0);
        few.learn(&[&texts, &others], &[3, 2, 1, 9]);
        assert_eq!(few.find(&[&rows, &others], &mut slots), 128);
        let wanted: Vec<u32> = (0..128).map(|row| [3, 2, 1, 9][row * 7 % 4]).collect();
        assert_eq!(slots, wanted);
        few.learn(
            &[&rows[128..], &others],
            &(0..72).map(|row| if row == 22 { 5 } else { [3, 2, 1, 9][(128 + row) * 7 % 4] }).collect::<Vec<u32>>(),
        );
        slots.clear();
        assert_eq!(few.find(&[&rows, &others], &mut slots), 200);
        assert_eq!(slots[150], 5);
    }

    #[test]
    fn a_long_text_is_not_learned() {
        let long = (1 << 64) | 13;
        let mut few = Few::default();
        few.learn(&[&[long]], &[4]);
        assert_eq!(few.find(&[&[long]], &mut Vec::new()), 0);
    }
}
