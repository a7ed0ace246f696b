//! Records and fields of CSV text.
//!
//! A block begins with a record. It is cut into parts that are scanned side by side; where the first byte of a part is
//! guessed wrong (a line break inside quotes), the part before it does not end there, and the block is scanned as one.

use memchr::{memchr, memchr_iter};

/// Bit of a field's end: it stood in quotes.
const QUOTED: u32 = 1 << 31;
/// Bit of a field's start: a quote in it is doubled.
const DOUBLED: u32 = 1 << 31;

/// How the text is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    pub(super) quote: Option<u8>,
    pub(super) comment: Option<u8>,
}

/// The fields of some records, each record with as many as there are columns.
#[derive(Default)]
pub(super) struct Records {
    /// Where each record begins.
    pub(super) starts: Vec<u32>,
    fields: Vec<(u32, u32)>,
    /// Records that are not as they should be, with their reason.
    pub(super) wrong: Vec<(usize, String)>,
    /// After the last whole record.
    pub(super) end: usize,
    pub(super) width: usize,
}

/// A field as it stands in the text.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) quoted: bool,
    pub(super) doubled: bool,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    #[inline]
    pub(super) fn field<'a>(&self, text: &'a [u8], row: usize, column: usize) -> Field<'a> {
        let (start, end) = self.fields[row * self.width + column];
        let bytes = &text[(start & !DOUBLED) as usize..(end & !QUOTED) as usize];
        Field { bytes, quoted: end & QUOTED != 0, doubled: start & DOUBLED != 0 }
    }

    /// The text of a field, of a text that begins at a byte of the block.
    #[inline]
    pub(super) fn text<'a>(&self, text: &'a str, from: usize, row: usize, column: usize) -> Option<&'a str> {
        let (start, end) = self.fields[row * self.width + column];
        text.get((start & !DOUBLED) as usize - from..(end & !QUOTED) as usize - from)
    }

    /// The text of a record.
    pub(super) fn record<'a>(&self, text: &'a [u8], row: usize) -> &'a [u8] {
        let start = self.starts[row] as usize;
        let end = self.starts.get(row + 1).map_or(self.end, |end| *end as usize);
        let record = &text[start..end];
        record.trim_ascii_end()
    }
}

/// Scans records from `from` until one begins at or after `until`. `whole`: the text ends with the file. Of a first record,
/// `width` is 0 and it says how many columns there are.
pub(super) fn scan(text: &[u8], from: usize, until: usize, whole: bool, dialect: Dialect, width: usize) -> Records {
    let mut records = Records { width, end: from, ..Records::default() };
    let mut stops = [false; 256];
    stops[usize::from(dialect.separator)] = true;
    stops[usize::from(b'\n')] = true;
    let mut at = from;
    while at < until {
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
        if records.width != 1 && matches!(text[at..], [b'\n', ..] | [b'\r', b'\n', ..]) {
            at += if text[at] == b'\n' { 1 } else { 2 };
            records.end = at;
            continue;
        }
        let first = records.fields.len();
        let Some(next) = record(text, at, whole, dialect, &stops, &mut records) else {
            records.fields.truncate(first);
            records.wrong.retain(|(row, _)| *row < records.starts.len());
            break;
        };
        records.starts.push(at as u32);
        let found = records.fields.len() - first;
        if records.width == 0 {
            records.width = found;
        }
        if found != records.width {
            let row = records.starts.len() - 1;
            let many = |count: usize| if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
            records.wrong.push((row, format!("{} where there are {} columns", many(found), records.width)));
            let end = text[..next].trim_ascii_end().len().max(at) as u32;
            records.fields.resize(first + records.width, (end, end));
        }
        at = next;
        records.end = at;
    }
    records
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
            let mut doubled = 0;
            let mut end = start;
            loop {
                match memchr(quote, &text[end..]) {
                    Some(more) if text.get(end + more + 1) == Some(&quote) => {
                        doubled = DOUBLED;
                        end += more + 2;
                    }
                    Some(more) => {
                        end += more;
                        break;
                    }
                    None if whole => {
                        records.wrong.push((records.starts.len(), "a quote that is not closed".to_owned()));
                        records.fields.push((start as u32 | doubled, text.len() as u32 | QUOTED));
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
            records.fields.push((start as u32 | doubled, end as u32 | QUOTED));
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
                records.wrong.push((records.starts.len(), format!("{shown} after a quote that was closed")));
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
            records.fields.push((start as u32, end as u32));
        }
        match text.get(at) {
            Some(b'\n') => return Some(at + 1),
            Some(_) => at += 1,
            None => return whole.then_some(text.len()),
        }
    }
}

/// Places at which records may begin, near these shares of the text. They are certain where the text has no quote.
pub(super) fn cuts(text: &[u8], parts: usize, quote: Option<u8>) -> Vec<usize> {
    let size = text.len() / parts.max(1);
    let mut cuts = vec![0];
    let (mut counted, mut inside) = (0, false);
    for part in 1..parts {
        let from = part * size;
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
