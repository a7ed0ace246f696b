//! `join_where`: the pairs of rows for which every predicate is true.
//!
//!   left  0 A 5    1 B 9        right  0 A 3    1 A 7        K == K_right, x > y        out  A 5 A 3
//!   left  ~ 0 A 8                                                                       out  + A 8 A 7    ~ A 8 A 3
//!
//! Columns of both sides that must be equal are the keys of a join, and what is left is a filter of its pairs. Without such
//! columns the pairs are all there are. Cost of an update: the pairs of the changed rows.

use formula::{Expr, Function, split_conjunction};

use super::columns::filtered;
use super::join::join;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::meeting_type;
use crate::plan::spec::{EquiOptions, How, Validate};
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// The pairs of both tables' rows for which these are true.
pub(in crate::plan) fn join_where(
    call: &Call,
    left: &Table,
    right: &Table,
    predicates: &[Expr],
    suffix: &str,
) -> Result<Table, Error> {
    if predicates.is_empty() {
        return Err(Error::schema(
            &call.method,
            "at least one predicate is needed; join(how=\"cross\") has every pair",
        ));
    }
    if let Some(one) = predicates.iter().find(|one| one.needs_context() || one.reads_groups()) {
        let message = format!("{} reads other rows than the two of a pair; make it a column first", one.to_python());
        return Err(Error::invalid(&call.method, message));
    }
    let (mut on, mut rest): (Vec<(String, String)>, Vec<Expr>) = Default::default();
    for predicate in predicates {
        let (mut keys, mut kept) = (Vec::new(), Vec::new());
        for term in split_conjunction(predicate) {
            match equality(left, right, term, suffix) {
                Some(pair) => keys.push(pair),
                None => kept.push(term.clone()),
            }
        }
        match kept.len() {
            // As it was given: messages know it by that.
            _ if keys.is_empty() => rest.push(predicate.clone()),
            0 => {}
            1 => rest.append(&mut kept),
            _ => rest.push(Expr::call(Function::And, kept)?),
        }
        on.extend(keys.into_iter().filter(|pair| !on.contains(pair)).collect::<Vec<_>>());
    }
    let how = if on.is_empty() { How::Cross } else { How::Inner };
    let validate = Validate::ManyToMany;
    let options = EquiOptions { on, how, suffix: suffix.to_owned(), nulls_equal: false, validate, coalesce: false };
    let pairs = join(call, left, right, options)?;
    if rest.is_empty() { Ok(pairs) } else { filtered(call, &pairs, &rest, &[], OnError::Fail) }
}

/// The left and the right column that a term says are equal, if that is all it says and they can be keys.
fn equality(left: &Table, right: &Table, term: &Expr, suffix: &str) -> Option<(String, String)> {
    let Expr::Call { function: Function::Equal, args } = term else { return None };
    let [Expr::Column(one), Expr::Column(other)] = &args[..] else { return None };
    let of_left = |name: &str| left.schema().index_of(name).ok();
    // A right name that the left table has too has the suffix in the result.
    let of_right = |name: &str| {
        let names = right.schema().fields().iter().map(|field| field.name());
        let mut shown = names.map(|own| if of_left(own).is_some() { format!("{own}{suffix}") } else { own.clone() });
        if of_left(name).is_some() { None } else { shown.position(|shown| shown == name) }
    };
    let (own, theirs) = of_left(one).zip(of_right(other)).or_else(|| of_left(other).zip(of_right(one)))?;
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
            |left, right| join_where(&"join_where".into(), left, right, &tests(), "_right"),
            ("k:str x:int: 0 A 5", "k:str y:int: 0 A 3 | 1 A 7 | 2 B 0"),
            &[
                (("~ 0 . 8", ""), "~ 4611686018427387904 . 8 . . | + 4611686018427387908 A 8 A 7"),
                (("", "~ 0 . 9"), "- 4611686018427387904"),
                (("", "> [2..2]+4"), ""),
                (("", "- 1"), "- 4611686018427387908"),
            ],
        );
    }
}
