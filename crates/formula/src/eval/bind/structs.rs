//! Binding of functions of structs and maps, and of bytes.

use arrow_schema::{DataType, Field, Fields};

use super::{Binder, Call, Term, to_type, type_error};
use crate::error::Error;
use crate::eval::functions::structs::{field_of, renamed_fields, structure, value_of};
use crate::eval::node::Whole;
use crate::missing::NoColumn;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, is_text, stored};

impl Binder<'_> {
    /// A struct of values under names, which the first argument lists.
    pub(crate) fn structure(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let names = match &c.args[0] {
            Expr::Literal(list) => list.items().filter(|names| names.len() + 1 == c.args.len()),
            _ => None,
        };
        let refused = |message: String| Error::Parameter { function: "struct".into(), message };
        let names = names.ok_or_else(|| refused("it takes a list of names, and a value for each".into()))?;
        let (mut fields, mut nodes): (Vec<Field>, Vec<usize>) = (Vec::new(), Vec::new());
        for (name, value) in names.iter().zip(&c.args[1..]) {
            let Literal::Str(name) = name else { return Err(refused("names are strings".into())) };
            if fields.iter().any(|field| field.name() == &**name) {
                return Err(refused(format!("two fields are called {name:?}; give one of them another name by alias")));
            }
            let term = self.expr(value)?;
            let node = self.settled(term)?;
            fields.push(Field::new(&**name, stored(self.type_of(node)), true));
            nodes.push(node);
        }
        let fields: Fields = fields.into();
        let kernel = structure(fields.clone());
        self.whole(&format!("struct {fields:?}"), kernel, nodes, DataType::Struct(fields), "").map(Term::Node)
    }

    /// A field of a struct, or the value of a map for a key.
    pub(crate) fn field(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let (node, data_type) = self.keyed_cells(c)?;
        match (&data_type, &c.args[1]) {
            (DataType::Map(entries, _), Expr::Literal(Literal::Str(key))) => {
                let DataType::Struct(pair) = entries.data_type() else { return Err(no_struct(c.name, &data_type)) };
                let to = canonical(pair[1].data_type());
                let kernel = value_of(key.to_string(), to.clone());
                self.whole(&format!("{} {key:?}", c.name), kernel, vec![node], to, "").map(Term::Node)
            }
            (DataType::Struct(fields), Expr::Literal(Literal::Str(wanted))) => {
                let known = fields.iter().map(|field| field.name().as_str());
                let at = fields.iter().position(|field| field.name() == &**wanted);
                let at = at.ok_or_else(|| Error::UnknownColumn(NoColumn::new(wanted, known)))?;
                let to = canonical(fields[at].data_type());
                let kernel = field_of(at, to.clone());
                self.whole(&format!("{} {at}", c.name), kernel, vec![node], to, "").map(Term::Node)
            }
            (DataType::Struct(fields), _) => Err(no_names(c.name, fields)),
            _ => Err(no_struct(c.name, &data_type)),
        }
    }

    /// A struct under other names of its fields.
    pub(crate) fn rename_fields(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let (node, data_type) = self.keyed_cells(c)?;
        let DataType::Struct(fields) = &data_type else { return Err(no_struct(c.name, &data_type)) };
        let names = match &c.args[1] {
            Expr::Literal(list) => list.items().filter(|names| names.len() == fields.len()),
            _ => None,
        };
        let names = names.ok_or_else(|| no_names(c.name, fields))?;
        let renamed = fields.iter().zip(names.iter()).map(|(field, name)| match name {
            Literal::Str(name) => Ok(field.as_ref().clone().with_name(&**name)),
            _ => Err(Error::Parameter { function: "rename_fields".into(), message: "names are strings".into() }),
        });
        let fields: Fields = renamed.collect::<Result<Vec<Field>, _>>()?.into();
        let kernel = renamed_fields(fields.clone());
        let key = format!("{} {fields:?}", c.name);
        self.whole(&key, kernel, vec![node], DataType::Struct(fields), "").map(Term::Node)
    }

    /// Structs, or maps whose keys are strings.
    fn keyed_cells(&mut self, c: &Call<'_>) -> Result<(usize, DataType), Error> {
        let term = self.expr(&c.args[0])?;
        let node = self.settled(term)?;
        let data_type = self.type_of(node).clone();
        let is_keyed = match &data_type {
            DataType::Struct(_) => true,
            DataType::Map(entries, _) => {
                matches!(entries.data_type(), DataType::Struct(pair) if is_text(&canonical(pair[0].data_type())))
            }
            _ => false,
        };
        if is_keyed { Ok((node, data_type)) } else { Err(no_struct(c.name, &data_type)) }
    }

    /// A function of bytes, whose other arguments are bytes too.
    pub(crate) fn of_bytes(&mut self, c: &Call<'_>, kernel: Whole, data_type: DataType) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let nodes = terms.into_iter().map(|term| self.bytes(c.name, term)).collect::<Result<_, _>>()?;
        self.whole(c.name, kernel, nodes, data_type, "").map(Term::Node)
    }

    /// A term as bytes.
    pub(crate) fn bytes(&mut self, name: &str, term: Term) -> Result<usize, Error> {
        let given = self.term_type(&term);
        if !matches!(given, DataType::BinaryView | DataType::FixedSizeBinary(_) | DataType::Null) {
            return Err(type_error(name, &[&given], "it takes bytes"));
        }
        let node = self.settled(term)?;
        match given {
            DataType::BinaryView => Ok(node),
            _ => self.whole("as bytes", to_type(DataType::BinaryView, true), vec![node], DataType::BinaryView, ""),
        }
    }
}

fn no_struct(name: &str, given: &DataType) -> Error {
    type_error(name, &[given], "it takes structs, and maps of strings")
}

fn no_names(name: &str, fields: &Fields) -> Error {
    let message = format!("it takes the name of a field, or a new name for each of the {} fields", fields.len());
    Error::Parameter { function: name.to_owned(), message }
}
