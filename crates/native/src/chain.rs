//! A chain as Python builds it, one link at a time: of one operator, `a + b + c + …`, or of choices,
//! `when(a).then(b).when(c).then(d)…`.
//!
//! Operands lie in one list that all beginnings of the chain share. The longest of them grows it in place, so that a
//! chain of thousands costs one step an operand; a second continuation of the same beginning copies it.

use std::sync::{Arc, Mutex};

use formula::bounds::{MAX_DEPTH, MAX_NODES};
use formula::{Error, Expr, Function};
use graph::lock;

/// What the operands are of.
#[derive(Clone, Copy, PartialEq)]
pub enum Link {
    /// An operator that joins its left operand's chain.
    Operator(Function),
    /// Choices: a condition and its value, in turn.
    When,
}

/// The first operands of a shared list.
pub struct Chain {
    link: Link,
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
                Ok(Chain { link: Link::Operator(function), operands: Arc::new(Mutex::new(args)), len, size })
            }
            other => Err(other),
        }
    }

    /// Choices, of which there is none yet.
    pub fn of_choices() -> Chain {
        Chain { link: Link::When, operands: Arc::default(), len: 0, size: (1, 1) }
    }

    /// Whether such a link goes on with it.
    pub fn is_of(&self, link: Link) -> bool {
        self.link == link
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
        let mut held = lock(&self.operands);
        let operands = if held.len() == self.len {
            held.extend(more);
            Arc::clone(&self.operands)
        } else {
            Arc::new(Mutex::new(held[..self.len].iter().cloned().chain(more).collect()))
        };
        Ok(Chain { link: self.link, operands, len, size: (depth, nodes) })
    }

    /// The expression that it is.
    pub fn expr(&self) -> Expr {
        let held = lock(&self.operands);
        match self.link {
            Link::Operator(function) => Expr::Call { function, args: held[..self.len].to_vec() },
            Link::When => Expr::When { branches: branches(&held[..self.len]), otherwise: None },
        }
    }

    /// The choices with a value where none holds, if it is not too deep or too large then.
    pub fn otherwise(&self, value: Expr) -> Result<Expr, Error> {
        let held = lock(&self.operands);
        Expr::when(branches(&held[..self.len]), Some(value))
    }
}

fn branches(operands: &[Expr]) -> Vec<(Expr, Expr)> {
    operands.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_choices_lie_in_one_list_that_nobody_copies() {
        let branch = |at: i64| {
            let condition = Expr::call(Function::Equal, vec![Expr::column("x"), Expr::literal(at)]).expect("small");
            vec![condition, Expr::literal(-at)]
        };
        let first = Chain::of_choices().and(branch(0)).expect("small");
        let mut long = first.and(branch(1)).expect("small");
        for at in 2..2_000 {
            let next = long.and(branch(at)).expect("within the limits");
            assert!(Arc::ptr_eq(&next.operands, &first.operands), "branch {at} copied those before it");
            long = next;
        }
        assert_eq!((long.len, long.size), (4_000, (3, 8_001)));
        assert_eq!(long.size, long.expr().size());
        assert_eq!(first.expr().to_python(), "when((col(\"x\") == 0)).then(lit(0))");
        let other = first.and(branch(7)).expect("small");
        assert_eq!(
            other.expr().to_python(),
            "when((col(\"x\") == 0)).then(lit(0)).when((col(\"x\") == 7)).then(lit(-7))"
        );
        let whole = first.otherwise(Expr::column("y")).expect("small");
        assert_eq!(whole.to_python(), "when((col(\"x\") == 0)).then(lit(0)).otherwise(col(\"y\"))");
        let mut at = 2_000;
        let error = loop {
            match long.and(branch(at)) {
                Ok(next) => long = next,
                Err(error) => break error,
            }
            at += 1;
        };
        assert_eq!(error, Error::TooLarge { limit: MAX_NODES });
        assert!(long.size.1 + 4 > MAX_NODES);
    }

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
