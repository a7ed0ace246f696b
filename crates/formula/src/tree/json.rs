//! Expressions, and what holds them, read from JSON. Legal expressions nest deeper than a reader of JSON is used to, and a
//! text from outside may nest without end.

use serde::de::DeserializeOwned;

use crate::tree::expr::MAX_DEPTH;

/// Brackets may nest so deep: more than the deepest expression needs, and less than a stack holds.
const DEEPEST: usize = 8 * MAX_DEPTH;

/// What a text says; the error says where it is nothing of the kind.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    nested_within(text, DEEPEST)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let read = T::deserialize(&mut reader).map_err(|why| why.to_string())?;
    reader.end().map_err(|why| why.to_string())?;
    Ok(read)
}

fn nested_within(text: &str, deepest: usize) -> Result<(), String> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > deepest {
            return Err(format!("its brackets nest deeper than {deepest}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::expr::Expr;
    use crate::tree::function::Function;

    #[test]
    fn the_deepest_expression_is_read() {
        let negated = |inner, _| Expr::Call { function: Function::Negate, args: vec![inner] };
        let deepest = (1..MAX_DEPTH).fold(Expr::column("x"), negated);
        let text = serde_json::to_string(&deepest).expect("an expression is written");
        assert_eq!(read(&text), Ok(deepest));
    }

    #[test]
    fn brackets_without_end_are_refused() {
        assert_eq!(read::<Expr>(&"[".repeat(1 << 20)), Err("its brackets nest deeper than 1024".to_owned()));
        assert!(read::<Expr>("{} {}").is_err());
    }
}
