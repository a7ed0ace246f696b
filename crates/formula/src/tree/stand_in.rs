//! Names of columns that an operation makes for itself, between two tables of its own: they tell what stands in them, so
//! that a message about such a column reads as the user wrote it. No user's column has a name of this form.

const MARK: char = '\u{0}';

/// The name of a column that stands for an expression: its place among its like, the user's column that it becomes (or
/// goes into), and the expression as text.
pub fn stand_in(place: usize, becomes: &str, text: &str) -> String {
    format!("{MARK}{place}{MARK}{becomes}{MARK}{text}")
}

/// What a user calls a column: its name, or what it stands for; none if that has no name.
pub fn told_name(name: &str) -> Option<&str> {
    Some(parts(name).map_or(name, |(becomes, _)| becomes)).filter(|name| !name.is_empty())
}

/// A column's name as messages show it: of one that an operation made for itself, the expression that stands in it.
pub fn shown_name(name: &str) -> &str {
    told_text(name).unwrap_or(name)
}

/// The expression that stands in a column of this name, as text.
pub(crate) fn told_text(name: &str) -> Option<&str> {
    parts(name).map(|(_, text)| text)
}

fn parts(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.strip_prefix(MARK)?.splitn(3, MARK);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(becomes), Some(text)) => Some((becomes, text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::expr::Expr;
    use crate::tree::function::Function;

    #[test]
    fn an_expression_over_a_column_that_stands_for_another_reads_as_the_user_wrote_it() {
        let sum = stand_in(0, "total", "col(\"x\").sum()");
        let half = Expr::call(Function::Divide, vec![Expr::column(sum.as_str()), Expr::literal(2)]).unwrap();
        assert_eq!(half.alias("half").to_python(), "(col(\"x\").sum() / 2).alias(\"half\")");
        assert_eq!(Expr::column("x").alias(sum.as_str()).to_python(), "col(\"x\")");
        assert_eq!((told_name(&sum), told_name("x"), told_name("")), (Some("total"), Some("x"), None));
        assert_eq!(told_name(&stand_in(3, "", "x")), None);
    }
}
