//! Records and fields of CSV text.
//!
//! A block begins with a record. It is cut into parts that are scanned side by side; where the first byte of a part is
//! guessed wrong (a line break inside quotes), the part before it does not end there, and the block is scanned as one.

use memchr::{memchr, memchr_iter, memrchr};

use crate::fields::{Fields, Kind};
use crate::marks::{WIDE, marks};

/// How the text is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    pub(super) quote: Option<u8>,
    pub(super) comment: Option<u8>,
}

/// Records, each with as many fields as there are columns.
#[derive(Default)]
pub(super) struct Records {
    pub(super) fields: Fields,
    /// Records that are not as they should be, with their reason.
    pub(super) wrong: Vec<(usize, String)>,
    /// After the last whole record.
    pub(super) end: usize,
}

impl Records {
    /// Where a record begins, and where it ends.
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        let end = self.fields.starts.get(row + 1).map_or(self.end, |end| *end as usize);
        (self.fields.starts[row] as usize, end)
    }
}

/// Scans records from `from` until one begins at or after `until`. `whole`: the text ends with the file. Of a first record,
/// `width` is 0 and it says how many columns there are.
pub(super) fn scan(text: &[u8], from: usize, until: usize, whole: bool, dialect: Dialect, width: usize) -> Records {
    let mut records = Records::default();
    scan_into(&mut records, text, (from, until), whole, dialect, width);
    records
}

/// As [`scan`], into records whose memory is used again.
pub(super) fn scan_into(
    records: &mut Records,
    text: &[u8],
    (from, until): (usize, usize),
    whole: bool,
    dialect: Dialect,
    width: usize,
) {
    records.fields.clear();
    records.wrong.clear();
    records.fields.width = width;
    records.end = from;
    let mut stops = [false; 256];
    stops[usize::from(dialect.separator)] = true;
    stops[usize::from(b'\n')] = true;
    let mut at = from;
    while at < until {
        if width > 0 && dialect.comment.is_none() {
            at = plain(text, at, until, dialect, &mut records.fields);
            records.end = at;
            if at >= until {
                break;
            }
        }
        if let Some(comment) = dialect.comment
            && text[at] == comment
        {
            match memchr(b'\n', &text[at..]) {
                Some(end) => at += end + 1,
                None if whole => at = text.len(),
                None => break,
            }
            records.end = at;
            continue;
        }
        if records.fields.width != 1 && matches!(text[at..], [b'\n', ..] | [b'\r', b'\n', ..]) {
            at += if text[at] == b'\n' { 1 } else { 2 };
            records.end = at;
            continue;
        }
        let first = records.fields.many();
        let Some(next) = record(text, at, whole, dialect, &stops, records) else {
            records.fields.truncate(first);
            records.wrong.retain(|(row, _)| *row < records.fields.len());
            break;
        };
        records.fields.starts.push(at as u32);
        let found = records.fields.many() - first;
        if records.fields.width == 0 {
            records.fields.width = found;
        }
        let width = records.fields.width;
        if found != width {
            let row = records.fields.len() - 1;
            let many = |count: usize| if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
            records.wrong.push((row, format!("{} where there are {width} columns", many(found))));
            let end = text[..next].trim_ascii_end().len().max(at);
            records.fields.fill(first + width, end);
        }
        at = next;
        records.end = at;
    }
}

/// Scans records without quotes until one begins at or after `until`; where it stops otherwise: at a record that has a quote, is
/// not whole, is empty, or has another number of fields.
fn plain(text: &[u8], from: usize, until: usize, dialect: Dialect, fields: &mut Fields) -> usize {
    let (separator, width) = (dialect.separator, fields.width);
    let wanted = [separator, b'\n', dialect.quote.unwrap_or(b'\n')];
    // Where the record and the field begin that are being read, and how many fields of it are known.
    let (mut record, mut field, mut known) = (from, from, 0);
    // After the fields of the last whole record.
    let mut sound = fields.many();
    let blocks = text[from..].as_chunks::<WIDE>().0;
    let mut found = [(0, 0); WIDE];
    for (base, block) in (from..).step_by(WIDE).zip(blocks) {
        let mut marked = marks(block, wanted);
        let mut many = 0;
        while marked != 0 {
            let bit = marked.trailing_zeros() as usize;
            marked &= marked - 1;
            let (at, byte) = (base + bit, block[bit % WIDE]);
            let is_last = byte == b'\n';
            let end = if is_last && at > field && text[at - 1] == b'\r' { at - 1 } else { at };
            found[many % WIDE] = (field as u32, end as u32);
            (many, known, field) = (many + 1, known + 1, at + 1);
            if byte == separator {
                continue;
            }
            if !is_last || known != width {
                fields.extend(&found[..many.min(WIDE)]);
                fields.truncate(sound);
                return record;
            }
            fields.starts.push(record as u32);
            (record, known) = (at + 1, 0);
            sound = fields.many() + many;
            if record >= until {
                fields.extend(&found[..many]);
                return record;
            }
        }
        fields.extend(&found[..many]);
    }
    fields.truncate(sound);
    record
}

/// Scans one record; where the next one begins, None if this one is not whole.
#[inline]
fn record(
    text: &[u8],
    mut at: usize,
    whole: bool,
    dialect: Dialect,
    stops: &[bool; 256],
    records: &mut Records,
) -> Option<usize> {
    loop {
        // Here a field begins.
        if dialect.quote.is_some() && text.get(at) == dialect.quote.as_ref() {
            let quote = text[at];
            let start = at + 1;
            let mut doubled = false;
            let mut end = start;
            loop {
                match memchr(quote, &text[end..]) {
                    Some(more) if text.get(end + more + 1) == Some(&quote) => {
                        doubled = true;
                        end += more + 2;
                    }
                    Some(more) => {
                        end += more;
                        break;
                    }
                    None if whole => {
                        records.wrong.push((records.fields.len(), "a quote that is not closed".to_owned()));
                        records.fields.push(start, text.len(), Kind::Quoted, doubled);
                        return Some(text.len());
                    }
                    None => return None,
                }
            }
            // Without the byte after it, a quote may be the first of two.
            if end + 1 == text.len() && !whole {
                return None;
            }
            at = end + 1;
            records.fields.push(start, end, Kind::Quoted, doubled);
            let rest = at;
            while at < text.len() && !stops[usize::from(text[at])] {
                at += 1;
            }
            let trailing = match text.get(at) {
                Some(b'\n') | None => text[rest..at].strip_suffix(b"\r").unwrap_or(&text[rest..at]),
                Some(_) => &text[rest..at],
            };
            if !trailing.is_empty() {
                let shown = crate::cells::shown(&String::from_utf8_lossy(trailing));
                records.wrong.push((records.fields.len(), format!("{shown} after a quote that was closed")));
            }
        } else {
            let start = at;
            while at < text.len() && !stops[usize::from(text[at])] {
                at += 1;
            }
            let mut end = at;
            if text.get(at).is_none_or(|stop| *stop == b'\n') && end > start && text[end - 1] == b'\r' {
                end -= 1;
            }
            records.fields.push(start, end, Kind::Plain, false);
        }
        match text.get(at) {
            Some(b'\n') => return Some(at + 1),
            Some(_) => at += 1,
            None => return whole.then_some(text.len()),
        }
    }
}

/// Where the last record may end of a text that begins with one, 0 for nowhere. It is certain where the text has no quote.
pub(super) fn records_end(text: &[u8], quote: Option<u8>) -> usize {
    let after = |text: &[u8]| memrchr(b'\n', text).map_or(0, |at| at + 1);
    let is_odd = |text: &[u8]| quote.is_some_and(|quote| memchr_iter(quote, text).count() % 2 == 1);
    let mut end = after(text);
    let mut open = is_odd(&text[..end]);
    // The last line break outside of quotes.
    while open {
        let before = after(&text[..end - 1]);
        open ^= is_odd(&text[before..end]);
        end = before;
    }
    end
}

/// Where parts of a text may begin that several threads work on. The first are the longest: a thread that is done early takes a
/// short one, so that all end at about the same time. None but the last is shorter than `least`.
pub(super) fn shares(len: usize, threads: usize, least: usize) -> Vec<usize> {
    let (mut starts, mut at) = (vec![0], 0);
    loop {
        at += ((len - at) / (2 * threads.max(1))).max(least).max(1);
        if at >= len {
            return starts;
        }
        starts.push(at);
    }
}

/// Places at which records may begin, the first at or after each of these. They are certain where the text has no quote.
pub(super) fn cuts(text: &[u8], starts: &[usize], quote: Option<u8>) -> Vec<usize> {
    let mut cuts = vec![0];
    let (mut counted, mut inside) = (0, false);
    for from in starts.iter().copied().skip(1) {
        if let Some(quote) = quote {
            inside ^= memchr_iter(quote, &text[counted..from]).count() % 2 == 1;
            counted = from;
        }
        // The first line break outside of quotes.
        let (mut at, mut open) = (from, inside);
        let cut = loop {
            let Some(end) = memchr(b'\n', &text[at..]) else { break None };
            open ^= quote.is_some_and(|quote| memchr_iter(quote, &text[at..at + end]).count() % 2 == 1);
            at += end + 1;
            if !open {
                break Some(at);
            }
        };
        match cut {
            Some(cut) if cut > cuts[cuts.len() - 1] && cut < text.len() => cuts.push(cut),
            Some(_) => {}
            None => break,
        }
    }
    cuts
}
