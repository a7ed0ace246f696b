//! A description in words of how an expression is computed, to find out why it is slow.

use crate::eval::bound::Bound;
use crate::eval::node::Op;
use crate::eval::plan::Step;

impl Bound {
    /// The steps of its evaluation: passes (operations fused into one loop), kernels over whole chunks, functions of the
    /// host.
    pub fn steps(&self) -> Vec<String> {
        match &self.nodes[self.plan.root].op {
            Op::Input(_) => return vec!["the column as it is".to_owned()],
            Op::Constant(_) => return vec!["a constant".to_owned()],
            _ => {}
        }
        self.plan.steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> String {
        match step {
            Step::Fused { program, .. } => match program.instructions.len() {
                1 => "native pass".to_owned(),
                many => format!("native pass of {many} operations"),
            },
            Step::Whole { node, .. } => {
                let node = &self.nodes[*node];
                let what = if matches!(node.op, Op::Host(_)) { "function" } else { "native kernel" };
                match node.text.is_empty() {
                    true => what.to_owned(),
                    false => format!("{what} {}", node.text),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use crate::tree::expr::Expr;
    use crate::tree::function::Function;

    fn steps(expr: &Expr) -> Vec<String> {
        let fields = vec![Field::new("x", DataType::Int64, true), Field::new("s", DataType::Utf8View, true)];
        crate::eval::bind::bind(expr, &Schema::new(fields)).expect("sound").steps()
    }

    #[test]
    fn passes_kernels_and_what_is_no_work() {
        let x = || Expr::column("x");
        let plus = Expr::call(Function::Add, vec![x(), Expr::literal(1)]).expect("small");
        let both = Expr::call(Function::Multiply, vec![plus, x()]).expect("small");
        assert_eq!(steps(&x()), ["the column as it is"]);
        assert_eq!(steps(&Expr::literal(1)), ["a constant"]);
        assert_eq!(steps(&both), ["native pass of 2 operations"]);
        let parsed = Expr::column("s").cast(DataType::Int64, true).expect("small");
        let then = Expr::call(Function::Greater, vec![parsed, x()]).expect("small");
        assert_eq!(steps(&then), ["native kernel col(\"s\").cast(Int64)", "native pass"]);
    }
}
