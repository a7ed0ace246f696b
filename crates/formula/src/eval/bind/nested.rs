//! Binding of functions of lists, structs and bytes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, MapArray, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, Fields};

use super::{Binder, Term, to_type, type_error};
use crate::error::Error;
use crate::eval::functions::{bytes, decimal, list, reduce};
use crate::eval::node::{Failure, Whole};
use crate::tree::aggregate::Aggregate;
use crate::tree::expr::Expr;
use crate::tree::function::{Bytes, Function, List, Struct};
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, is_float, is_integer, is_numeric, is_ordered, is_text, list_of};

impl Binder<'_> {
    pub(super) fn list(&mut self, function: List, args: &[Expr]) -> Result<Term, Error> {
        let name = Function::List(function).name();
        let (least, most, takes) = match function {
            List::Get | List::Head | List::Tail | List::Contains | List::Join | List::Quantile => {
                (2, 2, "a list and one argument")
            }
            List::Slice => (2, 3, "a list, an offset and maybe a length"),
            _ => (1, 1, "a list"),
        };
        if args.len() < least || args.len() > most {
            return Err(Error::Arguments { function: name, takes, given: args.len() });
        }
        if let Some(whole) = self.of_whole_column(function, args)? {
            return Ok(whole);
        }
        let terms = self.terms(args)?;
        let (subject, element) = self.as_list(&name, &terms[0])?;
        let of = canonical(&element);
        let listed = DataType::List(Arc::new(Field::new_list_field(element.clone(), true)));
        let ordered = |function: &str| {
            if is_ordered(&of) { Ok(()) } else { Err(type_error(function, &[&of], "its values have no order")) }
        };
        let mut nodes = vec![subject];
        let (kernel, data_type): (Whole, DataType) = match function {
            List::Len => (list::len(), DataType::Int64),
            List::First => (list::end(false), of),
            List::Last => (list::end(true), of),
            List::Reverse => (list::reverse(), listed),
            List::DropNulls => (list::drop_nulls(), listed),
            // As of a column: no digit is lost on the way through floats.
            List::Sum | List::Mean | List::AbsMean
                if matches!(of, DataType::Decimal128(..) | DataType::Decimal256(..)) =>
            {
                let sum = Aggregate::Sum { min_count: 0 };
                let made = if function == List::Sum { sum } else { Aggregate::Mean }.output_type(&of)?;
                (decimal::of_lists(function, &of, &made), made)
            }
            List::Mean if is_numeric(&of) || of == DataType::Null => (list::mean(), DataType::Float64),
            List::Sum if of == DataType::Boolean || of == DataType::Null => {
                (list::sum(DataType::Int64), DataType::Int64)
            }
            List::Sum if is_integer(&of) => {
                let sum = if of.is_signed_integer() { DataType::Int64 } else { DataType::UInt64 };
                (list::sum(sum.clone()), sum)
            }
            List::Sum if is_float(&of) => {
                let sum = if of == DataType::Float64 { DataType::Float64 } else { DataType::Float32 };
                (list::sum(sum.clone()), sum)
            }
            List::Count => (reduce::count(), DataType::Int64),
            List::NUnique | List::CountDistinct => {
                ordered(&name)?;
                (reduce::distinct(function == List::NUnique), DataType::Int64)
            }
            List::ArgMin | List::ArgMax => {
                ordered(&name)?;
                (reduce::place_of(function == List::ArgMax), DataType::Int64)
            }
            List::Product if is_integer(&of) && !of.is_signed_integer() => {
                (reduce::product(DataType::UInt64), DataType::UInt64)
            }
            List::Product if is_integer(&of) || of == DataType::Boolean => {
                (reduce::product(DataType::Int64), DataType::Int64)
            }
            List::Product if is_numeric(&of) || of == DataType::Null => {
                (reduce::product(DataType::Float64), DataType::Float64)
            }
            List::Std { ddof } | List::Var { ddof } if is_numeric(&of) || of == DataType::Null => {
                (reduce::spread(ddof, matches!(function, List::Std { .. })), DataType::Float64)
            }
            List::AbsMean if is_numeric(&of) || of == DataType::Null => (reduce::abs_mean(), DataType::Float64),
            List::Median if is_numeric(&of) || of == DataType::Null => (reduce::median(), DataType::Float64),
            List::Quantile if is_numeric(&of) || of == DataType::Null => {
                let part = self.term_type(&terms[1]);
                if !is_numeric(&part) && part != DataType::Null {
                    return Err(type_error(&name, &[&part], "the part of the way is a number from 0 to 1"));
                }
                nodes.push(self.as_type(&terms[1], &DataType::Float64)?);
                (reduce::quantile(), DataType::Float64)
            }
            List::AbsMean | List::Product | List::Std { .. } | List::Var { .. } | List::Median | List::Quantile => {
                return Err(type_error(&name, &[&of], "it takes lists of numbers"));
            }
            List::Sum | List::Mean => return Err(type_error(&name, &[&of], "it takes lists of numbers")),
            List::Min | List::Max => {
                ordered(&name)?;
                (list::extreme(function == List::Max), of)
            }
            List::Sort { descending, nulls_last } => {
                ordered(&name)?;
                (list::sort(descending, nulls_last), listed)
            }
            List::ArgSort { descending, nulls_last } => {
                ordered(&name)?;
                (list::arg_sort(descending, nulls_last), list_of(&DataType::Int64))
            }
            List::Unique => {
                ordered(&name)?;
                (list::unique(), listed)
            }
            List::Get | List::Slice | List::Head | List::Tail => {
                for term in &terms[1..] {
                    let given = self.term_type(term);
                    if given != DataType::Null && !is_integer(&given) {
                        return Err(type_error(&name, &[&given], "places and counts are integers"));
                    }
                    nodes.push(self.as_type(term, &DataType::Int64)?);
                }
                match function {
                    List::Get => (list::get(), of),
                    List::Slice => (list::slice(), listed),
                    other => (list::head(other == List::Tail), listed),
                }
            }
            List::Contains => {
                ordered(&name)?;
                let met = self.common_type(&[terms[1].clone()])?;
                let fits =
                    met == of || matches!(&terms[1], Term::Literal(literal) if super::literal::fits(literal, &of));
                if !fits && crate::tree::types::promote(&met, &of).ok().as_ref() != Some(&of) {
                    return Err(type_error(&name, &[&listed, &met], "cast the value to the type of the elements"));
                }
                let wanted = self.as_type(&terms[1], &of)?;
                nodes.push(match of == element {
                    true => wanted,
                    false => {
                        self.whole(&format!("as {element}"), to_type(element.clone(), true), vec![wanted], element, "")?
                    }
                });
                (list::contains(), DataType::Boolean)
            }
            List::Join => {
                if !is_text(&of) && of != DataType::Null {
                    return Err(type_error(&name, &[&of], "it joins lists of strings"));
                }
                nodes.push(self.as_type(&terms[1], &DataType::Utf8View)?);
                (list::join(), DataType::Utf8View)
            }
        };
        // Decimals may leave the range of their type.
        let text = match data_type {
            DataType::Decimal128(..) | DataType::Decimal256(..) => {
                Expr::Call { function: Function::List(function), args: args.to_vec() }.to_python()
            }
            _ => String::new(),
        };
        self.whole(&format!("{name} {function:?}"), kernel, nodes, data_type, &text).map(Term::Node)
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

    pub(super) fn structs(&mut self, function: Struct, args: &[Expr]) -> Result<Term, Error> {
        let name = Function::Struct(function).name();
        let [subject, given] = args else {
            return Err(Error::Arguments { function: name, takes: "a struct and names", given: args.len() });
        };
        let term = self.expr(subject)?;
        let node = self.settled(term)?;
        let data_type = self.type_of(node).clone();
        if let (DataType::Map(entries, _), Struct::Field, Expr::Literal(Literal::Str(key))) =
            (&data_type, function, given)
            && let DataType::Struct(pair) = entries.data_type()
            && is_text(&canonical(pair[0].data_type()))
        {
            let to = canonical(pair[1].data_type());
            let kernel = value_of(key.to_string(), to.clone());
            return self.whole(&format!("{name} {key:?}"), kernel, vec![node], to, "").map(Term::Node);
        }
        let DataType::Struct(fields) = &data_type else {
            return Err(type_error(&name, &[&data_type], "it takes structs, and maps of strings"));
        };
        match (function, given) {
            (Struct::Field, Expr::Literal(Literal::Str(wanted))) => {
                let known = fields.iter().map(|field| field.name().as_str());
                let at = fields.iter().position(|field| field.name() == &**wanted);
                let at = at.ok_or_else(|| crate::error::unknown_column(wanted, known))?;
                let to = canonical(fields[at].data_type());
                let kernel = field_of(at, to.clone());
                self.whole(&format!("{name} {at}"), kernel, vec![node], to, "").map(Term::Node)
            }
            (Struct::RenameFields, Expr::Literal(list)) if list.items().is_some_and(|it| it.len() == fields.len()) => {
                let names = list.items().unwrap_or_default();
                let renamed = fields.iter().zip(names.iter()).map(|(field, name)| match name {
                    Literal::Str(name) => Ok(field.as_ref().clone().with_name(&**name)),
                    _ => {
                        Err(Error::Parameter { function: "rename_fields".into(), message: "names are strings".into() })
                    }
                });
                let fields: Fields = renamed.collect::<Result<Vec<_>, _>>()?.into();
                let kernel = renamed_fields(fields.clone());
                self.whole(&format!("{name} {fields:?}"), kernel, vec![node], DataType::Struct(fields), "")
                    .map(Term::Node)
            }
            _ => Err(Error::Parameter {
                function: name,
                message: format!("it takes the name of a field, or a new name for each of the {} fields", fields.len()),
            }),
        }
    }

    pub(super) fn bytes(&mut self, function: Bytes, args: &[Expr]) -> Result<Term, Error> {
        let name = Function::Bytes(function).name();
        let count = if function == Bytes::Size { 1 } else { 2 };
        if args.len() != count {
            return Err(Error::Arguments {
                function: name,
                takes: "bytes, and for a test what to look for",
                given: args.len(),
            });
        }
        let mut nodes = Vec::new();
        for term in self.terms(args)? {
            let given = self.term_type(&term);
            if !matches!(given, DataType::BinaryView | DataType::FixedSizeBinary(_) | DataType::Null) {
                return Err(type_error(&name, &[&given], "it takes bytes"));
            }
            let node = self.settled(term)?;
            nodes.push(match given {
                DataType::BinaryView => node,
                _ => {
                    self.whole("as bytes", to_type(DataType::BinaryView, true), vec![node], DataType::BinaryView, "")?
                }
            });
        }
        let (kernel, data_type) = match function {
            Bytes::Size => (bytes::size(), DataType::Int64),
            test => (bytes::test(test), DataType::Boolean),
        };
        self.whole(&name, kernel, nodes, data_type, "").map(Term::Node)
    }
}

/// A null struct has no fields.
fn field_of(at: usize, to: DataType) -> Whole {
    Arc::new(move |args, _| {
        let failed = crate::eval::node::failure;
        let array = args[0].array();
        let structs = array.as_any().downcast_ref::<StructArray>().expect("binding checked that it is a struct");
        let mut field = Arc::clone(structs.column(at));
        if let Some(nulls) = structs.nulls() {
            let gone = arrow_array::BooleanArray::new(!nulls.inner(), None);
            field = arrow_select::nullif::nullif(&field, &gone).map_err(failed)?;
        }
        if *field.data_type() == to { Ok(field) } else { arrow_cast::cast(&field, &to).map_err(failed) }
    })
}

/// The value that a map has for a key; null without one.
fn value_of(key: String, to: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let failed = crate::eval::node::failure;
        let array = args[0].expanded(rows);
        let map = array.as_any().downcast_ref::<MapArray>().expect("binding checked that it is a map");
        let keys = arrow_cast::cast(map.keys(), &DataType::Utf8View).map_err(failed)?;
        let keys = keys.as_string_view();
        let offsets = map.value_offsets();
        let found = |row: usize| {
            let mut range = (offsets[row] as usize..offsets[row + 1] as usize).filter(|_| map.is_valid(row));
            range.find(|at| keys.is_valid(*at) && keys.value(*at) == key).map(|at| at as u64)
        };
        let places: UInt64Array = (0..rows).map(found).collect();
        let taken = arrow_select::take::take(map.values(), &places, None).map_err(failed)?;
        if *taken.data_type() == to { Ok(taken) } else { arrow_cast::cast(&taken, &to).map_err(failed) }
    })
}

fn renamed_fields(fields: Fields) -> Whole {
    Arc::new(move |args, _| -> Result<ArrayRef, Failure> {
        let array = args[0].array();
        let structs = array.as_any().downcast_ref::<StructArray>().expect("binding checked that it is a struct");
        let made = StructArray::try_new(fields.clone(), structs.columns().to_vec(), structs.nulls().cloned());
        Ok(Arc::new(made.map_err(crate::eval::node::failure)?))
    })
}
