//! Columns by the names that clients give them: one error, whoever asks.

use arrow_schema::{Field, Schema};
use tonic::Status;

use crate::context::engine_error;
use crate::trouble::shown;

/// Where a column is. The error tells which there are, the nearest name first.
pub(crate) fn place(operation: &str, schema: &Schema, name: &str) -> Result<usize, engine::Error> {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    names().position(|known| known == name).ok_or_else(|| engine::Error::no_column(operation, name, names()))
}

/// A column that the rows of a request have to have.
pub(crate) fn given(operation: &str, schema: &Schema, name: &str) -> Result<usize, Status> {
    place(operation, schema, name).map_err(engine_error)
}

/// A column of the table that is asked; clients know it by the code of the status that the table is another one.
pub(crate) fn asked<'a>(operation: &str, schema: &'a Schema, name: &str) -> Result<&'a Field, Status> {
    let place = place(operation, schema, name);
    place.map(|at| schema.field(at)).map_err(|error| Status::failed_precondition(shown(error.to_string())))
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use tonic::Code;

    use super::*;

    #[test]
    fn a_name_that_is_no_column_is_told_with_those_that_are() {
        let named = |name: &str| Field::new(name, DataType::Int64, true);
        let schema = Schema::new(vec![named("Symbol"), named("Price"), named("Size")]);
        assert_eq!(given("x", &schema, "Price").ok(), Some(1));
        assert_eq!(asked("x", &schema, "Size").ok(), Some(schema.field(2)));
        let refused = [
            (given("x", &schema, "Prise").expect_err("none"), Code::InvalidArgument),
            (asked("x", &schema, "Prise").expect_err("none"), Code::FailedPrecondition),
        ];
        for (status, code) in refused {
            assert_eq!(status.code(), code);
            let text = status.message();
            assert!(text.starts_with("x: no column \"Prise\" (did you mean \"Price\"?); "), "{text}");
            assert!(text.contains("Symbol") && text.contains("Size"), "{text}");
        }
    }
}
