//! Binding of comparisons of lists: `V == W`, element by element, a prefix before what is longer.

use arrow_schema::{DataType, TimeUnit};

use super::compare::is_equality;
use super::{Binder, Term};
use crate::error::Error;
use crate::eval::functions::{cast, order};
use crate::tree::function::Function;
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, element_of, is_ordered, list_of, promote};

impl Binder<'_> {
    /// The comparison if one of the operands is a list; none if none is.
    pub(super) fn compare_lists(&mut self, function: Function, a: &Term, b: &Term) -> Result<Option<usize>, Error> {
        let Some(beside) = [a, b].iter().find_map(|term| element_of(&self.term_type(term))) else { return Ok(None) };
        let mut met = canonical(&beside);
        let mut nodes = Vec::with_capacity(2);
        for term in [a, b] {
            let node = match term {
                Term::Literal(list @ (Literal::List(_) | Literal::Values(_))) => {
                    self.constant_list(list, &values_of(&beside))?
                }
                other => self.settled(other.clone())?,
            };
            let element = element_of(self.type_of(node));
            // A null beside a list is the null of lists.
            let element = element.or_else(|| (*self.type_of(node) == DataType::Null).then(|| beside.clone()));
            met = element
                .and_then(|element| common(&met, &element))
                .ok_or_else(|| self.compared_error(function, a, b))?;
            nodes.push(node);
        }
        if !comparable(&met, is_equality(function)) {
            return Err(self.compared_error(function, a, b));
        }
        let to = list_of(&held(met));
        for node in &mut nodes {
            let from = self.type_of(*node).clone();
            if from == DataType::Null {
                *node = self.promoted(*node, &to)?;
            } else if from != to {
                let kernel = cast::kernel(&from, &to, true).ok_or_else(|| self.compared_error(function, a, b))?;
                *node = self.whole(&format!("as {to}"), kernel, vec![*node], to.clone(), "")?;
            }
        }
        let kernel = order::comparison_of_lists(function);
        self.whole(&format!("{function:?} of lists"), kernel, nodes, DataType::Boolean, "").map(Some)
    }
}

/// The type in which elements of both types are compared, exactly where promotion would be.
fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    let (a, b) = (values_of(a), values_of(b));
    match (element_of(&a), element_of(&b)) {
        (Some(a), Some(b)) => common(&a, &b).map(|met| list_of(&met)),
        (Some(of), None) if b == DataType::Null => Some(list_of(&of)),
        (None, Some(of)) if a == DataType::Null => Some(list_of(&of)),
        (None, None) => match (&a, &b) {
            // Zones matter to text and parts, never to order.
            (DataType::Timestamp(_, _), DataType::Timestamp(_, _)) => {
                Some(DataType::Timestamp(TimeUnit::Nanosecond, None))
            }
            (DataType::UInt64, other) | (other, DataType::UInt64) if other.is_signed_integer() => {
                Some(DataType::Decimal128(20, 0))
            }
            _ => promote(&a, &b).ok(),
        },
        _ => None,
    }
}

/// The type in which kernels take values of this one.
fn held(data_type: DataType) -> DataType {
    match (element_of(&data_type), data_type) {
        (Some(element), _) => list_of(&held(element)),
        (None, DataType::Null) => DataType::Boolean,
        (None, DataType::Float16) => DataType::Float32,
        (None, other) => other,
    }
}

/// The type of the values, where codes stand for them.
fn values_of(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => canonical(values),
        DataType::RunEndEncoded(_, values) => canonical(values.data_type()),
        other => canonical(other),
    }
}

fn comparable(data_type: &DataType, equality: bool) -> bool {
    match element_of(data_type) {
        Some(element) => comparable(&canonical(&element), equality),
        None => is_ordered(data_type) || equality && matches!(data_type, DataType::Interval(_)),
    }
}
