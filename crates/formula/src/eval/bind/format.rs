//! Binding of `format("{} costs {:.2f}", a, b)`.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Binder, Call, Term, literal, type_error};
use crate::error::Error;
use crate::eval::functions::format::{Piece, Taken, format, pieces};
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;
use crate::tree::types::{is_integer, is_numeric};

impl Binder<'_> {
    /// The template is a literal; each place of it takes one argument.
    pub(crate) fn format(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let wrong = |message: String| Error::Parameter { function: "format".to_owned(), message };
        let Some((Expr::Literal(Literal::Str(template)), values)) = c.args.split_first() else {
            return Err(wrong("the template must be a literal string, such as \"{} of {}\"".to_owned()));
        };
        let pieces = pieces(template).map_err(wrong)?;
        let places: Vec<_> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Place(spec) => Some(spec),
                Piece::Text(_) => None,
            })
            .collect();
        if places.len() != values.len() {
            let (places, values) = (places.len(), values.len());
            return Err(wrong(format!("places in {template:?}: {places}, values given: {values}")));
        }
        let (mut nodes, mut taken, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (spec, value) in places.iter().zip(values) {
            let term = self.expr(value)?;
            let given = self.term_type(&term);
            let (number, whole) = (is_numeric(&given), is_integer(&given));
            let is_null = given == DataType::Null;
            let as_what = spec.takes(number || is_null, whole || is_null).ok_or_else(|| {
                type_error(
                    "format",
                    &[&given],
                    format!("its place in {template:?} is for numbers; cast the value, or take {{}}"),
                )
            })?;
            let to = if as_what == Taken::Float { DataType::Float64 } else { DataType::Utf8 };
            let cast = Expr::Cast { input: Arc::new(value.clone()), to, strict: true };
            let term = self.expr(&cast)?;
            nodes.push(self.settled(term)?);
            taken.push(as_what);
            numbers.push(number);
        }
        if nodes.is_empty() {
            let whole: String =
                pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "" }).collect();
            let whole = Literal::Str(whole.into());
            return self.constant_of(&whole, &literal::own_type(&whole)).map(Term::Node);
        }
        let key = format!("format {template:?}");
        self.whole(&key, format(pieces, taken, numbers), nodes, DataType::Utf8View, &c.text()).map(Term::Node)
    }
}
