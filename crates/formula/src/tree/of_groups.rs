//! Aggregates over the rows of groups: what they aggregate may read other rows, and then those of the group.

use std::sync::Arc;

use crate::error::Error;
use crate::tree::expr::{Expr, Window};

impl Expr {
    /// The expression, each aggregate of which is over groups of these keys, with what its inputs read of other rows kept
    /// within the group: `shift`, values that run on, windows, aggregates over groups of their own.
    pub fn of_groups(&self, by: &[Expr]) -> Result<Expr, Error> {
        self.inputs_over(&Window { by: by.to_vec(), ..Window::default() }, Expr::reads_other_rows)
    }

    /// The expression with an aggregate of aggregates in it as one of values a row: those over the groups of the window.
    pub(super) fn aggregates_over(&self, window: &Window) -> Result<Expr, Error> {
        self.inputs_over(window, Expr::is_aggregate)
    }

    /// The expression with what its aggregates are of over the groups of a window, where `which` says so.
    fn inputs_over(&self, window: &Window, which: impl Fn(&Expr) -> bool) -> Result<Expr, Error> {
        let mut failed = None;
        let made = self.with_inputs(&mut |input| match which(input).then(|| input.clone().over(window.clone())) {
            Some(Ok(within)) => within,
            Some(Err(error)) => {
                failed.get_or_insert(error);
                input.clone()
            }
            None => input.clone(),
        });
        failed.map_or(Ok(made), Err)
    }

    /// Whether an aggregate in it is of what reads other rows.
    pub fn aggregates_other_rows(&self) -> bool {
        match self {
            Expr::Aggregate { inputs, .. } => inputs.iter().any(Expr::reads_other_rows),
            Expr::Over { .. } => false,
            other => other.children().any(Expr::aggregates_other_rows),
        }
    }

    /// Whether the value in a row is made of other rows too.
    fn reads_other_rows(&self) -> bool {
        matches!(self, Expr::Over { .. } | Expr::Aggregate { .. })
            || self.reads_neighbours()
            || self.children().any(Expr::reads_other_rows)
    }

    /// The expression with others in place of what its aggregates are of.
    fn with_inputs(&self, made: &mut impl FnMut(&Expr) -> Expr) -> Expr {
        match self {
            Expr::Aggregate { kind, inputs } => {
                Expr::Aggregate { kind: kind.clone(), inputs: inputs.iter().map(made).collect() }
            }
            Expr::Over { .. } => self.clone(),
            other => other.map_children(&mut |child| child.with_inputs(made)),
        }
    }

    /// The expression with every window and group in it within these groups, and in this order where it has none.
    pub(super) fn within(&self, over: &Window) -> Result<Expr, Error> {
        let mut failed = None;
        let made = self.each_within(over, &mut failed);
        failed.map_or(Ok(made), Err)
    }

    fn each_within(&self, over: &Window, failed: &mut Option<Error>) -> Expr {
        match self {
            Expr::Over { input, window } => {
                let mut own = Window::clone(window);
                // Keys and stamps that read other rows read those of the groups.
                for key in own.by.iter_mut().chain(&mut own.order).filter(|key| key.reads_other_rows()) {
                    match key.clone().over(over.clone()) {
                        Ok(within) => *key = within,
                        Err(error) => *failed = Some(error),
                    }
                }
                let more: Vec<Expr> = over.by.iter().filter(|each| !own.by.contains(each)).cloned().collect();
                own.by.extend(more);
                if own.order.is_empty() && !own.has_own_order() {
                    let Window { order, descending, nulls_last, .. } = over.clone();
                    own = Window { order, descending, nulls_last, ..own };
                }
                Expr::Over { input: Arc::new(input.each_within(over, failed)), window: Arc::new(own) }
            }
            other if other.has_windows() => other.map_children(&mut |child| child.each_within(over, failed)),
            other => other.clone(),
        }
    }

    /// Whether anything in it is over groups or windows.
    fn has_windows(&self) -> bool {
        matches!(self, Expr::Over { .. }) || self.children().any(Expr::has_windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::aggregate::Aggregate;
    use crate::tree::function::Function;

    fn over(by: &str) -> Window {
        Window { by: vec![Expr::column(by)], ..Window::default() }
    }

    fn sum(of: Expr) -> Expr {
        Expr::aggregate(Aggregate::Sum { min_count: 0 }, [of]).unwrap()
    }

    #[test]
    fn what_an_aggregate_is_of_reads_the_rows_of_the_group() {
        let shifted = Expr::call(Function::Shift { by: 1 }, vec![Expr::column("x")]).unwrap();
        let keys = [Expr::column("k")];
        let told = |made: Expr| made.of_groups(&keys).unwrap().to_python();
        assert_eq!(told(sum(shifted.clone())), "col(\"x\").shift(1).over(col(\"k\")).sum()");
        assert_eq!(told(sum(sum(Expr::column("x")))), "col(\"x\").sum().over(col(\"k\")).sum()");
        let own = sum(Expr::column("x")).over(over("y")).unwrap();
        assert_eq!(told(sum(own.clone())), "col(\"x\").sum().over(col(\"y\"), col(\"k\")).sum()");
        let twice = sum(Expr::column("x")).over(Window { by: vec![shifted], ..Window::default() }).unwrap();
        let keys_of_the_group = "col(\"x\").sum().over(col(\"x\").shift(1).over(col(\"k\")), col(\"k\")).sum()";
        assert_eq!(told(sum(twice)), keys_of_the_group);
        // What reads no other row stays as it is, and so does what is over groups but under no aggregate.
        assert_eq!(told(sum(Expr::column("x"))), "col(\"x\").sum()");
        assert_eq!(told(own.clone()), own.to_python());
    }

    #[test]
    fn over_within_over_is_over_both() {
        let inner = sum(Expr::column("x")).over(over("y")).unwrap();
        assert_eq!(inner.clone().over(over("k")).unwrap().to_python(), "col(\"x\").sum().over(col(\"y\"), col(\"k\"))");
        assert_eq!(inner.clone().over(over("y")).unwrap(), inner);
        let of_aggregates = sum(sum(Expr::column("x"))).over(over("k")).unwrap();
        assert_eq!(of_aggregates.to_python(), "col(\"x\").sum().over(col(\"k\")).sum().over(col(\"k\"))");
    }
}
