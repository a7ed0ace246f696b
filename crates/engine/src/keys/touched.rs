//! The key slots that a step of a join or an aggregation touches.

use column::kernels::ones;

use crate::sizes::WALKED_WORDS;

/// The slots that a step touches, each once.
#[derive(Default)]
pub struct Touched {
    slots: Vec<u32>,
    /// A bit a slot.
    marks: Vec<u64>,
}

impl Touched {
    /// Notes these slots, all below `capacity`.
    pub fn add(&mut self, slots: &[u32], capacity: usize) {
        let words = capacity.div_ceil(64);
        if self.marks.len() < words {
            self.marks.resize(words, 0);
        }
        for slot in slots {
            let (word, bit) = (&mut self.marks[*slot as usize / 64], 1 << (slot % 64));
            if *word & bit == 0 {
                *word |= bit;
                self.slots.push(*slot);
            }
        }
    }

    /// Returns the noted slots in order of first touch, and clears them.
    pub fn take(&mut self) -> Vec<u32> {
        let slots = std::mem::take(&mut self.slots);
        slots.iter().for_each(|slot| self.marks[*slot as usize / 64] = 0);
        slots
    }

    /// As [`take`](Self::take), but in any order. Many slots come in ascending order, so that arrays indexed by slot
    /// are scanned instead of accessed at random.
    pub fn take_in_any_order(&mut self) -> Vec<u32> {
        if self.marks.len() > self.slots.len() * WALKED_WORDS.get() {
            return self.take();
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        for (word, marks) in (0..).zip(&mut self.marks) {
            slots.extend(ones(std::mem::take(marks)).map(|place| word * 64 + place as u32));
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_out_once_and_are_forgotten() {
        let mut touched = Touched::default();
        touched.add(&[70, 3, 70, 64], 100);
        touched.add(&[3, 0], 100);
        assert_eq!(touched.take(), [70, 3, 64, 0]);
        touched.add(&[70, 3, 70, 64, 63], 100);
        assert_eq!(touched.take_in_any_order(), [3, 63, 64, 70]);
        // A few among very many are not worth a walk.
        touched.add(&[9000, 3, 9000], 10_000);
        assert_eq!(touched.take_in_any_order(), [9000, 3]);
        assert!(touched.take().is_empty() && touched.marks.iter().all(|marks| *marks == 0));
    }
}
