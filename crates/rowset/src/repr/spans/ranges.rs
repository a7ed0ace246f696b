//! Ranges as their beginnings and the keys up to the end of each.

/// Index of the first range that does not end below the key.
pub(super) fn at_or_after(firsts: &[u64], ends: &[u64], offset: u64) -> usize {
    let at = firsts.partition_point(|&first| first <= offset);
    if at > 0 && offset - firsts[at - 1] < length(ends, at - 1) { at - 1 } else { at }
}

pub(super) fn length(ends: &[u64], at: usize) -> u64 {
    if at == 0 { ends[0] } else { ends[at] - ends[at - 1] }
}

pub(super) fn insert_into_spans(firsts: &mut Vec<u64>, ends: &mut Vec<u64>, offset: u64) {
    let at = at_or_after(firsts, ends, offset);
    let below = at > 0 && firsts[at - 1] + length(ends, at - 1) == offset;
    let above = at < firsts.len() && offset + 1 == firsts[at];
    match (below, above) {
        (true, true) => {
            firsts.remove(at);
            ends.remove(at - 1);
        }
        (true, false) => {
            ends[at - 1] += 1;
            ends[at..].iter_mut().for_each(|end| *end += 1);
            return;
        }
        (false, true) => firsts[at] = offset,
        (false, false) => {
            let before = if at == 0 { 0 } else { ends[at - 1] };
            firsts.insert(at, offset);
            ends.insert(at, before);
        }
    }
    let from = if below { at - 1 } else { at };
    ends[from..].iter_mut().for_each(|end| *end += 1);
}

pub(super) fn remove_from_spans(firsts: &mut Vec<u64>, ends: &mut Vec<u64>, offset: u64) {
    let at = at_or_after(firsts, ends, offset);
    let (first, len) = (firsts[at], length(ends, at));
    ends[at..].iter_mut().for_each(|end| *end -= 1);
    match (first == offset, first + (len - 1) == offset) {
        (true, true) => {
            firsts.remove(at);
            ends.remove(at);
        }
        (true, false) => firsts[at] = offset + 1,
        (false, true) => {}
        (false, false) => {
            let before = if at == 0 { 0 } else { ends[at - 1] };
            firsts.insert(at + 1, offset + 1);
            ends.insert(at, before + (offset - first));
        }
    }
}
