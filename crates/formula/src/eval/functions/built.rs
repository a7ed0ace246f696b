//! Strings that are made row by row, as far as there is memory for them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray, StringViewArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use limits::{Exhausted, Whose};

use crate::eval::node::Failure;
use crate::eval::node::failure;
use crate::tree::payload::Payload;

/// Builds strings row by row; `None` is null. What is written is added to the text so far.
pub(crate) fn build(rows: usize, mut write: impl FnMut(usize, &mut Out) -> Option<()>) -> Result<ArrayRef, Failure> {
    let mut built = Built::new(rows);
    for row in 0..rows {
        built.row(row, |out| write(row, out))?;
    }
    built.finish(|_| {})
}

/// Bytes of one array of strings, and so of one string.
pub(super) const LONGEST: usize = i32::MAX as usize;
/// So few more bytes are taken without a question.
pub(super) const SMALL: usize = 1 << 20;

/// Text that grows as far as there is memory for it; what comes when there is none is left out.
#[derive(Default)]
pub(crate) struct Out {
    pub(super) text: String,
    /// Why the text is not whole.
    pub(super) exhausted: Option<Exhausted>,
}

impl Out {
    /// Makes room for so many more bytes.
    #[inline]
    pub(super) fn room(&mut self, more: usize) -> bool {
        more <= self.text.capacity() - self.text.len() || self.grow(more)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> bool {
        let need = more.max(self.text.len()).max(64);
        let refused = if need < SMALL { None } else { limits::ask(need as u64).err() };
        let missing = Exhausted::of_process(need as u64);
        self.exhausted = self.exhausted.or(refused).or_else(|| self.text.try_reserve(more).err().map(|_| missing));
        self.exhausted.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        if self.room(text.len()) {
            self.text.push_str(text);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, character: char) {
        if self.room(character.len_utf8()) {
            self.text.push(character);
        }
    }

    /// Appends a character `times` times.
    pub(crate) fn fill(&mut self, character: char, times: u64) {
        let bytes = times.saturating_mul(character.len_utf8() as u64).min(isize::MAX as u64);
        if self.room(bytes as usize) {
            self.text.extend(std::iter::repeat_n(character, times as usize));
        }
    }

    pub(crate) fn extend(&mut self, characters: impl Iterator<Item = char>) {
        characters.for_each(|character| self.push(character));
    }
}

impl std::fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// Strings one after another in one text, of which views are made at the end.
pub(super) struct Built {
    pub(super) parts: Vec<ArrayRef>,
    pub(super) text: Out,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Built {
    pub(super) fn new(rows: usize) -> Built {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Built { parts: Vec::new(), text: Out::default(), offsets, nulls: NullBufferBuilder::new(rows) }
    }

    #[inline]
    pub(super) fn row(&mut self, row: usize, write: impl FnOnce(&mut Out) -> Option<()>) -> Result<(), Failure> {
        let start = self.text.len();
        let there = write(&mut self.text).is_some();
        if let Some(why) = self.text.exhausted {
            return Err(Failure { row, message: why.to_string(), payload: Some(Payload(Arc::new(why))) });
        }
        if !there {
            self.text.text.truncate(start);
        }
        if self.text.len() > LONGEST {
            let last = self.text.text.split_off(start);
            if last.len() > LONGEST {
                let why = Exhausted { need: last.len() as u64, held: 0, limit: LONGEST as u64, whose: Whose::Process };
                let message = "a string has at most 2 GiB".to_owned();
                return Err(Failure { row, message, payload: Some(Payload(Arc::new(why))) });
            }
            self.part(|_| {})?;
            self.text.text = last;
        }
        self.offsets.push(self.text.len() as i32);
        self.nulls.append(there);
        Ok(())
    }

    /// Ends one array and begins the next.
    fn part(&mut self, change: impl FnOnce(&mut str)) -> Result<(), Failure> {
        change(&mut self.text.text);
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, vec![0]).into());
        let text = Buffer::from_vec(std::mem::take(&mut self.text.text).into_bytes());
        let strings = StringArray::try_new(offsets, text, self.nulls.finish()).map_err(failure)?;
        self.parts.push(Arc::new(StringViewArray::from(&strings)));
        Ok(())
    }

    pub(super) fn finish(mut self, change: impl Fn(&mut str)) -> Result<ArrayRef, Failure> {
        self.part(change)?;
        if self.parts.len() == 1 {
            return Ok(self.parts.swap_remove(0));
        }
        let parts: Vec<&dyn Array> = self.parts.iter().map(|part| part.as_ref()).collect();
        arrow_select::concat::concat(&parts).map_err(failure)
    }
}
