//! Expression trees: those that a caller builds, and those that come as bytes.

use formula::functions::{FunctionSpec, declared};
use formula::{Expr, Literal, bind};

use super::reader::Reader;
use super::world::{COLUMNS, SCHEMA, TYPES, evaluate};

/// A tree whose shape, functions and literals the bytes choose: bound and evaluated, or refused in words.
pub fn expressions(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    judge(&tree(&mut reader, 0));
}

/// An expression as JSON: what is read is held to the bounds of those that are built.
pub fn trees(bytes: &[u8]) {
    if let Ok(expr) = serde_json::from_slice::<Expr>(bytes) {
        judge(&expr);
        let again = serde_json::to_vec(&expr).expect("what was read is written");
        let again: Expr = serde_json::from_slice(&again).expect("what was written is read");
        // NaN is not equal to itself: compare what a reader sees.
        assert_eq!(again.to_python(), expr.to_python());
    }
}

fn judge(expr: &Expr) {
    let Ok(expr) = expr.clone().within_limits() else { return };
    assert!(!expr.to_python().is_empty());
    match bind(&expr, &SCHEMA) {
        Ok(bound) => evaluate(&bound),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn tree(reader: &mut Reader<'_>, depth: usize) -> Expr {
    if depth > 6 || reader.is_empty() {
        return Expr::column(reader.choice(&COLUMNS).0);
    }
    match reader.below(8) {
        0 => Expr::column(reader.choice(&COLUMNS).0),
        1 => Expr::Literal(literal(reader)),
        2 => {
            let input = tree(reader, depth + 1);
            let (to, strict) = (reader.choice(&TYPES).clone(), reader.below(2) == 0);
            input.clone().cast(to, strict).unwrap_or(input)
        }
        3 => {
            let branches = vec![(tree(reader, depth + 1), tree(reader, depth + 1))];
            let otherwise = (reader.below(2) == 0).then(|| tree(reader, depth + 1));
            Expr::when(branches, otherwise).unwrap_or_else(|_| Expr::column("i"))
        }
        _ => {
            let known: Vec<&FunctionSpec> = declared().collect();
            let at = usize::from(reader.byte()) << 8 | usize::from(reader.byte());
            let function = known[at % known.len()].function();
            let args = (0..=reader.below(3)).map(|_| tree(reader, depth + 1)).collect();
            Expr::call(function, args).unwrap_or_else(|_| Expr::column("f"))
        }
    }
}

fn literal(reader: &mut Reader<'_>) -> Literal {
    match reader.below(8) {
        0 => Literal::Null,
        1 => Literal::Bool(reader.below(2) == 0),
        2 => Literal::Int(reader.integer()),
        3 => Literal::UInt(reader.word()),
        4 => Literal::Float(reader.float()),
        5 => Literal::Str(reader.text(40).into()),
        6 => Literal::Duration(reader.integer()),
        _ => Literal::Date(reader.integer() as i32),
    }
}
