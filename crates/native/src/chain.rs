//! A chain of one operator, `a + b + c + …`, as Python builds it: one operand at a time.
//!
//! Operands lie in one list that all beginnings of the chain share. The longest of them grows it in place, so that a
//! chain of thousands costs one step an operand; a second continuation of the same beginning copies it.

use std::sync::{Arc, Mutex, PoisonError};

use formula::{Error, Expr, Function, MAX_DEPTH, MAX_NODES};

/// The first operands of a shared list.
pub struct Chain {
    function: Function,
    operands: Arc<Mutex<Vec<Expr>>>,
    len: usize,
    /// How deep it nests, and of how many nodes it is.
    size: (usize, usize),
}

impl Chain {
    /// The chain that an expression is, if it is one of an operator that joins its left operand's chain.
    pub fn of(expr: Expr) -> Result<Chain, Expr> {
        let size = expr.size();
        match expr {
            Expr::Call { function, args } if function.is_left_associative() => {
                let len = args.len();
                Ok(Chain { function, operands: Arc::new(Mutex::new(args)), len, size })
            }
            other => Err(other),
        }
    }

    /// Whether this operator goes on with it.
    pub fn is_of(&self, function: Function) -> bool {
        self.function == function
    }

    /// The chain with more operands, if it is not too deep or too large then.
    pub fn and(&self, more: Vec<Expr>) -> Result<Chain, Error> {
        let (mut depth, mut nodes) = self.size;
        for (below, count) in more.iter().map(Expr::size) {
            (depth, nodes) = (depth.max(below + 1), nodes + count);
        }
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep { limit: MAX_DEPTH });
        }
        if nodes > MAX_NODES {
            return Err(Error::TooLarge { limit: MAX_NODES });
        }
        let len = self.len + more.len();
        let mut held = self.operands.lock().unwrap_or_else(PoisonError::into_inner);
        let operands = if held.len() == self.len {
            held.extend(more);
            Arc::clone(&self.operands)
        } else {
            Arc::new(Mutex::new(held[..self.len].iter().cloned().chain(more).collect()))
        };
        Ok(Chain { function: self.function, operands, len, size: (depth, nodes) })
    }

    /// The expression that it is.
    pub fn expr(&self) -> Expr {
        let held = self.operands.lock().unwrap_or_else(PoisonError::into_inner);
        Expr::Call { function: self.function, args: held[..self.len].to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_continuation_of_a_beginning_is_its_own() {
        let col = Expr::column;
        let sum = |args| Expr::call(Function::Add, args).expect("a small expression");
        let chain = |expr| Chain::of(expr).unwrap_or_else(|_| panic!("a chain"));
        let start = chain(sum(vec![col("a"), col("b")]));
        let one = start.and(vec![col("c")]).expect("small");
        let other = start.and(vec![col("d")]).expect("small");
        let longer = one.and(vec![sum(vec![col("e"), col("f")])]).expect("small");
        assert_eq!(start.expr(), sum(vec![col("a"), col("b")]));
        assert_eq!(one.expr(), sum(vec![col("a"), col("b"), col("c")]));
        assert_eq!(other.expr(), sum(vec![col("a"), col("b"), col("d")]));
        assert_eq!(longer.expr().to_python(), "(col(\"a\") + col(\"b\") + col(\"c\") + (col(\"e\") + col(\"f\")))");
        assert_eq!(longer.size, longer.expr().size());
        assert!(Chain::of(col("a")).is_err());
        let mut long = start;
        let error = loop {
            match long.and(vec![col("x")]) {
                Ok(next) => long = next,
                Err(error) => break error,
            }
        };
        assert_eq!((error, long.size.1), (Error::TooLarge { limit: MAX_NODES }, MAX_NODES));
    }
}
