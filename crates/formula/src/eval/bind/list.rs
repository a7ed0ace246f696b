//! Binding of functions of lists.

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field};

use super::{Binder, Call, Term, literal, to_type, type_error};
use crate::error::Error;
use crate::eval::node::Whole;
use crate::tree::aggregate::Aggregate;
use crate::tree::function::{Function, List};
use crate::tree::literal::Literal;
use crate::tree::types::{
    canonical, element_of, is_integer, is_numeric, is_ordered, is_text, list_of, promote, stored,
};

/// The kernel of a function, and the type of its values.
pub(crate) type Made = Result<(Whole, DataType), Error>;

/// A call of a function of lists: the list is bound, its other arguments are to be taken by the function.
pub(crate) struct ListCall<'c, 'b> {
    binder: &'c mut Binder<'b>,
    name: &'static str,
    terms: Vec<Term>,
    nodes: Vec<usize>,
    /// The type of the elements, as they are stored.
    element: DataType,
    /// The type of the elements, as functions know it.
    pub(crate) of: DataType,
    /// The type of a list of such elements.
    pub(crate) listed: DataType,
}

impl Binder<'_> {
    /// A function of lists, by what it makes of lists of these elements.
    pub(crate) fn of_list(
        &mut self,
        c: &Call<'_>,
        make: impl FnOnce(&mut ListCall<'_, '_>) -> Made,
    ) -> Result<Term, Error> {
        if let Some(whole) = self.of_whole_column(c)? {
            return Ok(whole);
        }
        let terms = self.terms(c.args)?;
        let (subject, element) = self.as_list(c.name, &terms[0])?;
        let of = canonical(&element);
        let listed = DataType::List(Arc::new(Field::new_list_field(element.clone(), true)));
        let nodes = vec![subject];
        let mut call = ListCall { binder: self, name: c.name, terms, nodes, element, of, listed };
        let (kernel, data_type) = make(&mut call)?;
        let nodes = call.nodes;
        // Decimals may leave the range of their type.
        let text = match data_type {
            DataType::Decimal128(..) | DataType::Decimal256(..) => c.text(),
            _ => Arc::default(),
        };
        self.whole(&format!("{} {:?}", c.name, c.function), kernel, nodes, data_type, &text).map(Term::Node)
    }

    /// A list of its arguments, of one type; those that are lists give their elements.
    pub(crate) fn concat_list(
        &mut self,
        c: &Call<'_>,
        kernel: fn(Vec<bool>, DataType) -> Whole,
    ) -> Result<Term, Error> {
        let mut terms = self.terms(c.args)?;
        let (mut of_lists, mut met) = (Vec::with_capacity(terms.len()), DataType::Null);
        for term in &mut terms {
            let of_list = element_of(&self.term_type(term)).is_some();
            if of_list {
                let (node, element) = self.as_list(c.name, term)?;
                (*term, met) = (Term::Node(node), promote(&met, &canonical(&element))?);
            }
            of_lists.push(of_list);
        }
        let cells: Vec<Term> =
            terms.iter().zip(&of_lists).filter(|(_, of_list)| !**of_list).map(|(term, _)| term.clone()).collect();
        met = promote(&met, &self.common_type(&cells)?)?;
        let listed = list_of(&met);
        let mut nodes = Vec::with_capacity(terms.len());
        for (term, of_list) in terms.iter().zip(&of_lists) {
            let node = match of_list {
                false => self.as_type(term, &met)?,
                true => {
                    let node = self.settled(term.clone())?;
                    let key = format!("as {listed}");
                    match *self.type_of(node) == listed {
                        true => node,
                        false => self.whole(&key, to_type(listed.clone(), true), vec![node], listed.clone(), "")?,
                    }
                }
            };
            nodes.push(node);
        }
        self.whole(&format!("{} {of_lists:?}", c.name), kernel(of_lists, stored(&met)), nodes, listed, "")
            .map(Term::Node)
    }

    /// A list of one value, so many times.
    pub(crate) fn repeat_by(&mut self, c: &Call<'_>, kernel: fn(DataType) -> Whole) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let value = self.settled(terms[0].clone())?;
        let times = self.whole_number_of(c.name, &terms[1])?;
        let element = stored(self.type_of(value));
        let listed = list_of(&element);
        self.whole(c.name, kernel(element), vec![value, times], listed, &c.text()).map(Term::Node)
    }

    /// Whole numbers from one to another.
    pub(crate) fn int_ranges(&mut self, c: &Call<'_>, kernel: fn(bool) -> Whole) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let nodes = terms.iter().map(|term| self.whole_number_of(c.name, term)).collect::<Result<Vec<_>, _>>()?;
        let Function::List(List::Ranges { closed }) = c.function else {
            return Err(type_error(c.name, &[], "it makes ranges"));
        };
        let kernel = kernel(closed);
        self.whole(&format!("{} {closed}", c.name), kernel, nodes, list_of(&DataType::Int64), &c.text()).map(Term::Node)
    }

    fn whole_number_of(&mut self, name: &str, term: &Term) -> Result<usize, Error> {
        let given = self.term_type(term);
        if given != DataType::Null && !is_integer(&given) {
            return Err(type_error(name, &[&given], "places and counts are integers"));
        }
        self.as_type(term, &DataType::Int64)
    }

    /// A list of any layout as the one that kernels know, and the type of its elements.
    pub(super) fn as_list(&mut self, name: &str, term: &Term) -> Result<(usize, DataType), Error> {
        use DataType::{FixedSizeList, LargeList, LargeListView, List as Plain, ListView};
        let node = self.settled(term.clone())?;
        let data_type = self.type_of(node).clone();
        let (Plain(field) | LargeList(field) | FixedSizeList(field, _) | ListView(field) | LargeListView(field)) =
            &data_type
        else {
            return Err(type_error(name, &[&data_type], "it takes lists"));
        };
        let element = field.data_type().clone();
        let plain = DataType::List(Arc::new(Field::new_list_field(element.clone(), true)));
        if data_type == plain {
            return Ok((node, element));
        }
        let node = self.whole(&format!("as {plain}"), to_type(plain.clone(), true), vec![node], plain, "")?;
        Ok((node, element))
    }
}

impl ListCall<'_, '_> {
    /// Lists of values with an order, and no others.
    pub(crate) fn ordered(&self) -> Result<(), Error> {
        if is_ordered(&self.of) { Ok(()) } else { Err(self.refused(&self.of, "its values have no order")) }
    }

    /// Lists of numbers, or of nulls alone, and no others.
    pub(crate) fn numbers(&self) -> Result<(), Error> {
        let numbers = is_numeric(&self.of) || self.of == DataType::Null;
        if numbers { Ok(()) } else { Err(self.refused(&self.of, "it takes lists of numbers")) }
    }

    /// Lists of strings, and no others.
    pub(crate) fn texts(&self) -> Result<(), Error> {
        let texts = is_text(&self.of) || self.of == DataType::Null;
        if texts { Ok(()) } else { Err(self.refused(&self.of, "it joins lists of strings")) }
    }

    /// The type of an aggregate of decimals, which are summed as those of a column are: no digit is lost on the way
    /// through floats. None of other elements.
    pub(crate) fn of_decimals(&self, aggregate: &Aggregate) -> Result<Option<DataType>, Error> {
        let decimals = matches!(self.of, DataType::Decimal128(..) | DataType::Decimal256(..));
        decimals.then(|| aggregate.output_type(&self.of)).transpose()
    }

    /// Its other arguments are whole numbers.
    pub(crate) fn integers(&mut self) -> Result<(), Error> {
        for at in 1..self.terms.len() {
            let given = self.binder.term_type(&self.terms[at]);
            if given != DataType::Null && !is_integer(&given) {
                return Err(self.refused(&given, "places and counts are integers"));
            }
            self.takes(at, &DataType::Int64)?;
        }
        Ok(())
    }

    /// Its other argument is a list of whole numbers.
    pub(crate) fn places(&mut self) -> Result<(), Error> {
        let term = self.terms[1].clone();
        if let Term::Literal(list) = &term
            && let Some(items) = list.items()
        {
            let place = |item: &Literal| match item {
                Literal::Int(place) => Ok(Some(*place)),
                Literal::Null => Ok(None),
                other => Err(self.refused(&literal::own_type(other), "places are integers")),
            };
            let places = items.iter().map(place).collect::<Result<Vec<_>, _>>()?;
            let key = format!("places {places:?}");
            let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(places)]);
            self.nodes.push(self.binder.constant(Arc::new(list), &key)?);
            return Ok(());
        }
        let (node, of) = self.binder.as_list(self.name, &term)?;
        if of != DataType::Null && !is_integer(&of) {
            return Err(self.refused(&of, "places are integers"));
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Its other argument is a list of numbers.
    pub(crate) fn numbers_beside(&mut self) -> Result<(), Error> {
        let term = self.terms[1].clone();
        let (node, of) = self.binder.as_list(self.name, &term)?;
        if !is_numeric(&of) && of != DataType::Null {
            return Err(self.refused(&of, "it takes lists of numbers"));
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Its other argument is a part of the way from one end to the other.
    pub(crate) fn part(&mut self) -> Result<(), Error> {
        let part = self.binder.term_type(&self.terms[1]);
        if !is_numeric(&part) && part != DataType::Null {
            return Err(self.refused(&part, "the part of the way is a number from 0 to 1"));
        }
        self.takes(1, &DataType::Float64)
    }

    /// Its other argument is a string.
    pub(crate) fn text(&mut self) -> Result<(), Error> {
        self.takes(1, &DataType::Utf8View)
    }

    /// Its other argument is a value that may be an element.
    pub(crate) fn item(&mut self) -> Result<(), Error> {
        let term = self.terms[1].clone();
        let met = self.binder.common_type(std::slice::from_ref(&term))?;
        let fits = met == self.of || matches!(&term, Term::Literal(literal) if literal::fits(literal, &self.of));
        if !fits && promote(&met, &self.of).ok().as_ref() != Some(&self.of) {
            let types = [&self.listed, &met];
            return Err(type_error(self.name, &types, "cast the value to the type of the elements"));
        }
        let wanted = self.binder.as_type(&term, &self.of)?;
        let (of, element) = (&self.of, self.element.clone());
        self.nodes.push(match *of == element {
            true => wanted,
            false => {
                let kernel = to_type(element.clone(), true);
                self.binder.whole(&format!("as {element}"), kernel, vec![wanted], element, "")?
            }
        });
        Ok(())
    }

    fn takes(&mut self, at: usize, data_type: &DataType) -> Result<(), Error> {
        let node = self.binder.as_type(&self.terms[at], data_type)?;
        self.nodes.push(node);
        Ok(())
    }

    fn refused(&self, given: &DataType, advice: &str) -> Error {
        type_error(self.name, &[given], advice)
    }
}
