//! Cells of a chunk by position: one body for each width, none for each type.

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_buffer::ArrowNativeType;
use arrow_select::take::take;

use crate::cells::{Cells, Gathered, Shape, with_width};
use crate::{Chunk, Error, NO_ROW};

/// One cell of `chunk` per position, in the order given; positions may repeat, [`NO_ROW`] gives null.
///
/// # Panics
/// If a position lies outside the chunk.
pub fn gather(chunk: &Chunk, positions: &[u64]) -> Result<Chunk, Error> {
    let shape = Shape::new(chunk.data_type());
    if shape.is_opaque() || shape.data_type != *chunk.data_type() {
        return by_arrow(chunk, positions);
    }
    let cells = Cells::of(&shape, chunk);
    let mut gathered = Gathered::new(&shape, positions.len());
    let absent = with_width!(shape, T, stride => {
        let (out, source) = (gathered.values.typed_data_mut::<T>(), cells.values.typed_data::<T>());
        if stride == 1 { pick(out, source, positions) } else { pick_wide(out, source, positions, stride) }
    });
    if absent || cells.nulls.is_some() {
        let valid = gathered.valid_mut();
        let null = |pos: u64| pos == NO_ROW || cells.nulls.as_ref().is_some_and(|nulls| nulls.is_null(pos as usize));
        positions.iter().enumerate().filter(|&(_, &pos)| null(pos)).for_each(|(at, _)| valid.set(at, false));
    }
    gathered.texts = cells.texts;
    Ok(gathered.finish(&shape))
}

/// Whether some position was [`NO_ROW`].
#[inline(never)]
fn pick<T: ArrowNativeType>(out: &mut [T], source: &[T], positions: &[u64]) -> bool {
    let mut absent = false;
    for (to, &pos) in out.iter_mut().zip(positions) {
        if pos == NO_ROW {
            absent = true;
        } else {
            *to = source[pos as usize];
        }
    }
    absent
}

#[inline(never)]
fn pick_wide<T: ArrowNativeType>(out: &mut [T], source: &[T], positions: &[u64], stride: usize) -> bool {
    let mut absent = false;
    for (at, &pos) in positions.iter().enumerate() {
        if pos == NO_ROW {
            absent = true;
        } else {
            out[at * stride..(at + 1) * stride].copy_from_slice(&source[pos as usize * stride..][..stride]);
        }
    }
    absent
}

fn by_arrow(chunk: &ArrayRef, positions: &[u64]) -> Result<Chunk, Error> {
    let positions: UInt64Array = positions.iter().map(|&pos| (pos != NO_ROW).then_some(pos)).collect();
    Ok(take(chunk, &positions, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{Dice, chunk, every_type};

    #[test]
    fn every_type_gathers_as_arrow_does() {
        let mut dice = Dice(4);
        for data_type in every_type() {
            let cells: Vec<_> = (0..500).map(|_| (dice.roll(5) > 0).then(|| dice.roll(1000))).collect();
            let chunk = chunk(&data_type, &cells).slice(13, 450);
            for absent in [u64::MAX, 6] {
                let position = |dice: &mut Dice| if dice.roll(10) > absent { NO_ROW } else { dice.roll(450) };
                let positions: Vec<u64> = (0..300).map(|_| position(&mut dice)).collect();
                let found = gather(&chunk, &positions).unwrap();
                found.to_data().validate_full().unwrap();
                assert_eq!(&found, &by_arrow(&chunk, &positions).unwrap());
            }
            assert_eq!(gather(&chunk, &[]).unwrap().len(), 0);
        }
    }
}
