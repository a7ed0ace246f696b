//! Binding of comparisons, membership and tests of one value.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;

use super::{Binder, Call, Term, literal, type_error};
use crate::error::Error;
use crate::eval::functions::{member, order};
use crate::eval::lanes::{Class, Comparison, Connective, Kind, LaneOp};
use crate::tree::function::{Closed, Function};
use crate::tree::literal::Literal;
use crate::tree::types::{element_of, is_float, is_numeric, is_ordered, is_text, promote};
use crate::tree::values::Values;

impl Binder<'_> {
    pub(crate) fn comparison(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let [a, b] = self.terms_of(c)?;
        self.compare(c.function, &a, &b).map(Term::Node)
    }

    fn compare(&mut self, function: Function, a: &Term, b: &Term) -> Result<usize, Error> {
        let (a_type, b_type) = (self.term_type(a), self.term_type(b));
        if let Some(node) = self.compare_mixed(function, a, b)? {
            return Ok(node);
        }
        if let Some(node) = self.compare_lists(function, a, b)? {
            return Ok(node);
        }
        let met = match (&a_type, &b_type) {
            // Zones matter to text and parts, never to order; a clock without a zone is no instant.
            (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) if a.is_some() == b.is_some() => Ok(a_type.clone()),
            (DataType::Timestamp(_, _), DataType::Timestamp(_, _)) => return Err(self.compared_error(function, a, b)),
            _ => self.common_type(&[a.clone(), b.clone()]),
        };
        let met = met.map_err(|_| self.compared_error(function, a, b))?;
        let met = if met == DataType::Null { DataType::Boolean } else { met };
        let met = if met == DataType::Float16 { DataType::Float32 } else { met };
        let comparable = is_ordered(&met) || is_equality(function) && matches!(met, DataType::Interval(_));
        if !comparable {
            return Err(self.compared_error(function, a, b));
        }
        let args = vec![self.compared_as(a, &met)?, self.compared_as(b, &met)?];
        match (comparison_of(function), Kind::of(&met)) {
            (Some(comparison), Some(kind)) => self.lane(LaneOp::Compare(comparison, kind), args, DataType::Boolean),
            (None, Some(kind)) => {
                let negate = function == Function::NotEqualMissing;
                self.lane(LaneOp::Missing { negate, kind }, args, DataType::Boolean)
            }
            (_, None) => self.whole(&format!("{function:?}"), order::comparison(function), args, DataType::Boolean, ""),
        }
    }

    fn compared_as(&mut self, term: &Term, met: &DataType) -> Result<usize, Error> {
        match (term, met) {
            (Term::Literal(literal), DataType::Float32) if !literal::fits(literal, met) => {
                let node = self.settled(term.clone())?;
                self.promoted(node, met)
            }
            _ => self.as_type(term, met),
        }
    }

    /// UInt64 with Int64: exact, though no type holds both.
    fn compare_mixed(&mut self, function: Function, a: &Term, b: &Term) -> Result<Option<usize>, Error> {
        let (a_type, b_type) = (self.term_type(a), self.term_type(b));
        let a_wide = a_type == DataType::UInt64 && b_type.is_signed_integer();
        let b_wide = b_type == DataType::UInt64 && a_type.is_signed_integer();
        let adapts = |term: &Term, to: &DataType| matches!(term, Term::Literal(literal) if literal::fits(literal, to));
        if !(a_wide || b_wide) || adapts(a, &b_type) || adapts(b, &a_type) {
            return Ok(None);
        }
        let (unsigned, signed) = if a_wide { (a, b) } else { (b, a) };
        let unsigned = self.settled(unsigned.clone())?;
        let signed = self.settled(signed.clone())?;
        let signed = self.promoted(signed, &DataType::Int64)?;
        let plain = match function {
            Function::EqualMissing | Function::NotEqualMissing => Comparison::Equal,
            other => comparison_of(other).unwrap_or(Comparison::Equal),
        };
        let comparison = if a_wide { plain } else { plain.mirrored() };
        let result = self.lane(LaneOp::CompareMixed(comparison), vec![unsigned, signed], DataType::Boolean)?;
        match function {
            Function::EqualMissing | Function::NotEqualMissing => {
                self.missing_from(result, unsigned, signed, function).map(Some)
            }
            _ => Ok(Some(result)),
        }
    }

    /// Equality where null equals null, from equality: true where that is true or both are null.
    fn missing_from(&mut self, equal: usize, a: usize, b: usize, function: Function) -> Result<usize, Error> {
        let no = self.constant_of(&Literal::Bool(false), &DataType::Boolean)?;
        let sure = self.lane(LaneOp::Coalesce(Kind::Bits), vec![equal, no], DataType::Boolean)?;
        let nulls = [a, b].map(|node| self.lane(LaneOp::IsNull { negate: false }, vec![node], DataType::Boolean));
        let [a, b] = nulls;
        let both = self.lane(LaneOp::Connect(Connective::And), vec![a?, b?], DataType::Boolean)?;
        let same = self.lane(LaneOp::Connect(Connective::Or), vec![sure, both], DataType::Boolean)?;
        if function == Function::EqualMissing {
            Ok(same)
        } else {
            self.lane(LaneOp::Not, vec![same], DataType::Boolean)
        }
    }

    pub(super) fn compared_error(&self, function: Function, a: &Term, b: &Term) -> Error {
        let types = [self.term_type(a), self.term_type(b)];
        let advice = match &types {
            [a, b] if is_text(a) != is_text(b) => {
                "cast one side, e.g. .cast(String), or the string with .cast(Int64) or .str.to_datetime()"
            }
            [DataType::Date32, DataType::Timestamp(_, _)] | [DataType::Timestamp(_, _), DataType::Date32] => {
                "cast the date to the type of the instant, or take .dt.date() of the instant"
            }
            [DataType::Timestamp(_, a), DataType::Timestamp(_, b)] if a.is_some() != b.is_some() => ZONED,
            [a, b] if element_of(a).is_some() != element_of(b).is_some() => {
                "a list is compared with a list; .list.contains(…) looks for a value in one"
            }
            _ => "they have no common order; cast one side",
        };
        type_error(&function.name(), &[&types[0], &types[1]], advice)
    }

    pub(crate) fn is_between(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let Function::IsBetween { closed } = c.function else { return Err(c.wrong_arguments()) };
        let [value, low, high] = self.terms_of(c)?;
        let above =
            if matches!(closed, Closed::Both | Closed::Left) { Function::GreaterEqual } else { Function::Greater };
        let below = if matches!(closed, Closed::Both | Closed::Right) { Function::LessEqual } else { Function::Less };
        let args = vec![self.compare(above, &value, &low)?, self.compare(below, &value, &high)?];
        self.lane(LaneOp::Connect(Connective::And), args, DataType::Boolean).map(Term::Node)
    }

    pub(crate) fn is_in(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let [value, list] = self.terms_of(c)?;
        let node = self.settled(value)?;
        let Term::Literal(list) = list else { return Err(no_list(c.name)) };
        let (items, met, has_null, key) = match &list {
            Literal::List(items) => {
                let (cells, met) = listed(c.name, items, self.type_of(node))?;
                (cells, met, items.iter().any(is_null), format!("{items:?}"))
            }
            Literal::Values(values) => {
                let (cells, met) = members_of(c.name, values, self.type_of(node))?;
                // The array lives as long as the expression that is bound.
                let key = format!("{:p} {}", Arc::as_ptr(values.array()), values.len());
                (cells, met, values.array().null_count() > 0, key)
            }
            _ => return Err(no_list(c.name)),
        };
        let node = self.promoted(node, &met)?;
        let nulls = c.flag("nulls_equal").then_some(has_null);
        let kernel = member::is_in(&items, &met, nulls);
        self.whole(&format!("is_in {key} {nulls:?}"), kernel, vec![node], DataType::Boolean, "").map(Term::Node)
    }

    /// Whether the value is null, or is not.
    pub(crate) fn null_test(&mut self, c: &Call<'_>, negate: bool) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        let node = self.settled(term)?;
        self.lane(LaneOp::IsNull { negate }, vec![node], DataType::Boolean).map(Term::Node)
    }

    /// Whether a number is of this class; integers and decimals are all finite.
    pub(crate) fn class_test(&mut self, c: &Call<'_>, class: Class) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        let node = self.settled(term)?;
        let data_type = self.type_of(node).clone();
        let node = match data_type {
            DataType::Float16 => self.promoted(node, &DataType::Float32)?,
            _ => node,
        };
        if is_float(&data_type) {
            let kind = Kind::of(self.type_of(node)).expect("floats lie in lanes");
            return self.lane(LaneOp::Class(class, kind), vec![node], DataType::Boolean).map(Term::Node);
        }
        if !is_numeric(&data_type) && data_type != DataType::Null {
            return Err(type_error(c.name, &[&data_type], "it takes numbers; did you mean is_null()?"));
        }
        self.true_where_there(node, matches!(class, Class::NotNan | Class::Finite)).map(Term::Node)
    }

    /// `answer` in every row that has a value, null in the others.
    fn true_where_there(&mut self, node: usize, answer: bool) -> Result<usize, Error> {
        let there = self.lane(LaneOp::IsNull { negate: true }, vec![node], DataType::Boolean)?;
        let answer = self.constant_of(&Literal::Bool(answer), &DataType::Boolean)?;
        let null = self.constant_of(&Literal::Null, &DataType::Boolean)?;
        self.lane(LaneOp::Select(Kind::Bits), vec![there, answer, null], DataType::Boolean)
    }
}

fn no_list(function: &str) -> Error {
    let message = "it takes a list of values; use where_in for the values of a table".to_owned();
    Error::Parameter { function: function.to_owned(), message }
}

fn is_null(literal: &Literal) -> bool {
    matches!(literal, Literal::Null | Literal::TypedNull(_))
}

/// The type in which a column of type `met` is looked for among values of type `own` that it does not hold.
fn wider(function: &str, met: &DataType, own: &DataType) -> Result<DataType, Error> {
    match (met, own) {
        (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) if a.is_some() == b.is_some() => Ok(met.clone()),
        (DataType::Timestamp(_, _), DataType::Timestamp(_, _)) => Err(type_error(function, &[met, own], ZONED)),
        _ => promote(met, own)
            .map_err(|_| type_error(function, &[met, own], "cast the column or the values of the list")),
    }
}

/// The type in which kernels compare members of this one.
fn compared_in(met: DataType) -> DataType {
    match met {
        DataType::Float16 => DataType::Float32,
        DataType::Null => DataType::Boolean,
        other => other,
    }
}

/// Single values as cells of the type in which they are compared with the column, and that type.
fn listed(function: &str, items: &[Literal], column: &DataType) -> Result<(ArrayRef, DataType), Error> {
    let items: Vec<&Literal> = items.iter().filter(|item| !is_null(item)).collect();
    let mut met = column.clone();
    for item in &items {
        // An integer that the column's type cannot hold is in no row; it does not widen the column.
        let absent = met.is_integer() && matches!(item, Literal::Int(_) | Literal::UInt(_));
        if !absent && !literal::fits(item, &met) {
            met = wider(function, &met, &literal::own_type(item))?;
        }
    }
    let met = compared_in(met);
    let cells = items.into_iter().filter(|item| !met.is_integer() || literal::fits(item, &met)).map(|item| {
        let own = if literal::fits(item, &met) { met.clone() } else { literal::own_type(item) };
        let cell = literal::array_of(item, &own)?;
        if *cell.data_type() == met { Ok(cell) } else { literal::recast(&cell, &met) }
    });
    let cells = cells.collect::<Result<Vec<_>, Error>>()?;
    let parts: Vec<&dyn Array> = cells.iter().map(|cell| cell.as_ref()).collect();
    let joined = if parts.is_empty() { Ok(new_empty_array(&met)) } else { arrow_select::concat::concat(&parts) };
    let wrong =
        |error: arrow_schema::ArrowError| Error::Parameter { function: function.into(), message: error.to_string() };
    Ok((joined.map_err(wrong)?, met))
}

/// Values of one Arrow type as cells of the type in which they are compared with the column, and that type.
fn members_of(function: &str, values: &Values, column: &DataType) -> Result<(ArrayRef, DataType), Error> {
    let own = values.array().data_type();
    let absent = column.is_integer() && own.is_integer();
    let fits = absent || literal::all_fit(values, column);
    let met = compared_in(if fits { column.clone() } else { wider(function, column, own)? });
    let wrong =
        |error: arrow_schema::ArrowError| Error::Parameter { function: function.into(), message: error.to_string() };
    // What an integer column cannot hold becomes null, and goes with the nulls.
    let cells = arrow_cast::cast(values.array(), &met).map_err(wrong)?;
    if cells.null_count() == 0 {
        return Ok((cells, met));
    }
    let there = arrow_arith::boolean::is_not_null(&cells).map_err(wrong)?;
    Ok((arrow_select::filter::filter(&cells, &there).map_err(wrong)?, met))
}

/// What to do about a time with a zone beside one without.
pub(super) const ZONED: &str = "one has a time zone and the other has none; give that one its zone with .dt.replace_time_zone(\"UTC\") (or \
     tzinfo= of a datetime)";

pub(super) fn is_equality(function: Function) -> bool {
    use Function::{Equal, EqualMissing, NotEqual, NotEqualMissing};
    matches!(function, Equal | NotEqual | EqualMissing | NotEqualMissing)
}

fn comparison_of(function: Function) -> Option<Comparison> {
    Some(match function {
        Function::Equal => Comparison::Equal,
        Function::NotEqual => Comparison::NotEqual,
        Function::Less => Comparison::Less,
        Function::LessEqual => Comparison::LessEqual,
        Function::Greater => Comparison::Greater,
        Function::GreaterEqual => Comparison::GreaterEqual,
        _ => return None,
    })
}
