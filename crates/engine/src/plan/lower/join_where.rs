//! `join_where`: the pairs of rows for which every predicate is true.
//!
//!   left  0 A 5    1 B 9        right  0 A 3    1 A 7        K == K_right, x > y        out  A 5 A 3
//!   left  ~ 0 A 8                                                                       out  + A 8 A 7    ~ A 8 A 3
//!
//! Columns of both sides that must be equal are the keys of a join. A column of one side that lies between columns of the other,
//! or above one, or below, makes a range: the pairs are found in an order, and no other is looked at. What is left is a filter of the
//! pairs. Without such columns the pairs are all there are. Cost of an update: the pairs of the changed rows.

use formula::{Expr, Function, split_conjunction};

use super::columns::filtered;
use super::join::join;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{BandJoin, is_stamp, meeting_type};
use crate::plan::spec::{BandOptions, Bound, EquiOptions, How, RangeEnd, RangeOptions, Validate};
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// The pairs of both tables' rows for which these are true.
pub(in crate::plan) fn join_where(
    call: &Call,
    left: &Table,
    right: &Table,
    predicates: &[Expr],
    suffix: &str,
    on_error: OnError,
) -> Result<Table, Error> {
    if predicates.is_empty() {
        return Err(Error::schema(
            &call.method,
            "at least one predicate is needed; join(how=\"cross\") has every pair",
        ));
    }
    if let Some(one) = predicates.iter().find(|one| one.needs_context() || one.reads_groups()) {
        let message = format!(
            "{} depends on more than the two rows of a pair: on other rows, on positions or on the clock; make it a \
             column first, or filter the result by it",
            one.to_python()
        );
        return Err(Error::invalid(&call.method, message));
    }
    let terms: Vec<Vec<&Expr>> = predicates.iter().map(split_conjunction).collect();
    let (mut on, mut taken): (Vec<(String, String)>, Vec<(usize, usize)>) = Default::default();
    let mut compared = Vec::new();
    for (at, terms) in terms.iter().enumerate() {
        for (place, term) in terms.iter().enumerate() {
            if let Some(pair) = equality(left, right, term, suffix) {
                taken.push((at, place));
                if !on.contains(&pair) {
                    on.push(pair);
                }
            } else if let Some(found) = comparison(left, right, term, suffix) {
                compared.push(((at, place), found));
            }
        }
    }
    let band = band(left, right, &compared);
    taken.extend(band.iter().flat_map(|(_, _, used)| used));
    let mut rest: Vec<Expr> = Vec::new();
    for (at, terms) in terms.iter().enumerate() {
        let is_kept = |(place, _): &(usize, &&Expr)| !taken.contains(&(at, *place));
        let mut kept: Vec<Expr> = terms.iter().enumerate().filter(is_kept).map(|(_, term)| (*term).clone()).collect();
        match kept.len() {
            // As it was given: messages know it by that.
            all if all == terms.len() => rest.push(predicates[at].clone()),
            0 => {}
            1 => rest.append(&mut kept),
            _ => rest.push(Expr::call(Function::And, kept)?),
        }
    }
    let suffix = suffix.to_owned();
    let pairs = if let Some((looks_left, mut range, _)) = band {
        range.by = on;
        let options = BandOptions { range, looks_left, suffix };
        call.attach(&BandJoin::new(&call.method, left, right, &options)?, &[left.clone(), right.clone()])?
    } else {
        let how = if on.is_empty() { How::Cross } else { How::Inner };
        let validate = Validate::ManyToMany;
        join(call, left, right, EquiOptions { on, how, suffix, nulls_equal: false, validate, coalesce: false })?
    };
    if rest.is_empty() { Ok(pairs) } else { filtered(call, &pairs, &rest, &[], on_error) }
}

/// A comparison of a left and a right column: their places, and what the first is to the second.
struct Compared {
    columns: (usize, usize),
    is: Function,
}

/// A range that comparisons say, of the side that looks (the left one or not), and which of them.
type Band = (bool, RangeOptions, Vec<(usize, usize)>);

/// The range with most ends that these comparisons say, the first of several.
fn band(left: &Table, right: &Table, compared: &[((usize, usize), Compared)]) -> Option<Band> {
    let mut best: Option<Band> = None;
    for looks_left in [true, false] {
        let (looking, standing) = if looks_left { (left, right) } else { (right, left) };
        let name = |table: &Table, column: usize| table.schema().field(column).name().clone();
        let sides = |(own, other): (usize, usize)| if looks_left { (own, other) } else { (other, own) };
        for (_, Compared { columns, .. }) in compared {
            let stamp = sides(*columns).1;
            let mut ends: [Option<RangeEnd>; 2] = [None, None];
            let mut used = Vec::new();
            for (at, Compared { columns, is }) in compared.iter().filter(|(_, found)| sides(found.columns).1 == stamp) {
                let bound = if matches!(is, Function::Less | Function::Greater) { Bound::Open } else { Bound::Closed };
                let is_least = matches!(is, Function::Less | Function::LessEqual) == looks_left;
                let end = &mut ends[usize::from(!is_least)];
                if end.is_none() {
                    *end = Some(RangeEnd { column: name(looking, sides(*columns).0), bound });
                    used.push(*at);
                }
            }
            if best.as_ref().is_none_or(|(.., known)| known.len() < used.len()) {
                let [from, to] = ends;
                best = Some((looks_left, RangeOptions { by: Vec::new(), on: name(standing, stamp), from, to }, used));
            }
        }
    }
    best
}

/// What a term says of the order of a left and a right column, if that is all it says and they are numbers or times of one kind.
fn comparison(left: &Table, right: &Table, term: &Expr, suffix: &str) -> Option<Compared> {
    let Expr::Call { function, args } = term else { return None };
    let turned = match function {
        Function::Less => Function::Greater,
        Function::LessEqual => Function::GreaterEqual,
        Function::Greater => Function::Less,
        Function::GreaterEqual => Function::LessEqual,
        _ => return None,
    };
    let (columns, swapped) = columns_of(left, right, args, suffix)?;
    let (own, theirs) = (left.column_type(columns.0), right.column_type(columns.1));
    let one_kind =
        own == theirs || own.is_integer() && theirs.is_integer() || own.is_floating() && theirs.is_floating();
    let ordered = meeting_type(own, theirs).is_some_and(|meet| is_stamp(&meet));
    (one_kind && ordered).then_some(Compared { columns, is: if swapped { turned } else { *function } })
}

/// The places of a left and a right column that are two arguments, and whether the right one comes first.
fn columns_of(left: &Table, right: &Table, args: &[Expr], suffix: &str) -> Option<((usize, usize), bool)> {
    let [Expr::Column(one), Expr::Column(other)] = args else { return None };
    let of_left = |name: &str| left.schema().index_of(name).ok();
    // A right name that the left table has too has the suffix in the result.
    let of_right = |name: &str| {
        let names = right.schema().fields().iter().map(|field| field.name());
        let mut shown = names.map(|own| if of_left(own).is_some() { format!("{own}{suffix}") } else { own.clone() });
        if of_left(name).is_some() { None } else { shown.position(|shown| shown == name) }
    };
    let found = of_left(one).zip(of_right(other)).map(|columns| (columns, false));
    found.or_else(|| of_left(other).zip(of_right(one)).map(|columns| (columns, true)))
}

/// The left and the right column that a term says are equal, if that is all it says and they can be keys.
fn equality(left: &Table, right: &Table, term: &Expr, suffix: &str) -> Option<(String, String)> {
    let Expr::Call { function: Function::Equal, args } = term else { return None };
    let ((own, theirs), _) = columns_of(left, right, args, suffix)?;
    let meet = meeting_type(left.column_type(own), right.column_type(theirs))?;
    let names = (left.schema().field(own).name().clone(), right.schema().field(theirs).name().clone());
    column::types::can_be_key(&meet).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check::check_steps_of_two;

    #[test]
    fn pairs_come_change_and_go() {
        let test = |function, one: &str, other: &str| {
            Expr::call(function, vec![Expr::column(one), Expr::column(other)]).expect("a small tree")
        };
        let tests = || [test(Function::Equal, "k_right", "k"), test(Function::Greater, "x", "y")];
        check_steps_of_two(
            |left, right| join_where(&"join_where".into(), left, right, &tests(), "_right", OnError::Fail),
            ("k:str x:int: 0 A 5", "k:str y:int: 0 A 3 | 1 A 7 | 2 B 0"),
            &[
                (("~ 0 . 8", ""), "~ 4611686018427387904 . 8 . . | + 4611686018427387906 A 8 A 7"),
                (("", "~ 0 . 9"), "- 4611686018427387904"),
                (("", "> [2..2]+4"), ""),
                (("", "- 1"), "- 4611686018427387906"),
            ],
        );
    }

    fn compared(function: Function, one: &str, other: &str) -> Expr {
        Expr::call(function, vec![Expr::column(one), Expr::column(other)]).expect("a small tree")
    }

    #[test]
    fn pairs_of_a_range_come_change_and_go() {
        let tests = || [compared(Function::LessEqual, "lo", "x"), compared(Function::Less, "x", "hi")];
        check_steps_of_two(
            |left, right| join_where(&"join_where".into(), left, right, &tests(), "_right", OnError::Fail),
            ("lo:int hi:int: 0 10 20 | 1 15 30", "x:int v:int: 0 12 1 | 1 18 2"),
            &[
                (("", "~ 1 . 3"), "~ 4611686018427387908 . . . 3 | ~ 4611686018427387912 . . . 3"),
                (("", "~ 0 25 ."), "- 4611686018427387904 | + 4611686018427387910 15 30 25 1"),
            ],
        );
    }
}
