//! The expression tree: what both front ends, expression objects and formula strings, build.
//!
//! A tree is a value. Two trees are the same expression exactly when they are `==` (a NaN literal
//! equals itself). A chain of one left-associative operator is a single node with several
//! arguments, so `a + b + c + …` is flat however long it grows, and depth counts nesting only.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tree::aggregate::Aggregate;
use crate::tree::function::{Function, Struct};
use crate::tree::host::HostId;
use crate::tree::literal::Literal;
use crate::tree::name::ColumnName;
use crate::tree::rolling::{Frame, Rolling};
use crate::tree::runs::{Runs, RunsOf};
use crate::tree::set::LiveSet;
use crate::tree::types::type_text;

/// How deeply expressions may nest.
pub const MAX_DEPTH: usize = 128;
/// How many nodes one expression may have.
pub const MAX_NODES: usize = 65_536;

/// One node of an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A column of the table, by name.
    Column(ColumnName),
    /// A value that stands in every row.
    Literal(Literal),
    /// The values of an expression under another name.
    Alias(Arc<Expr>, ColumnName),
    /// A function of rows. Left-associative operators take two or more arguments and fold from the left.
    Call {
        /// Which function.
        function: Function,
        /// Its arguments, in order.
        args: Vec<Expr>,
    },
    /// A function of the host.
    Host {
        /// Which function; it is held as long as the expression is.
        function: HostId,
        /// Its arguments, in order.
        args: Vec<Expr>,
    },
    /// A change of type.
    Cast {
        /// What is cast.
        input: Arc<Expr>,
        /// The type wanted.
        #[serde(with = "type_text")]
        to: DataType,
        /// Whether a value that does not fit is an error (true) or null (false).
        strict: bool,
    },
    /// The value of the first branch whose condition is true; a null condition is not true.
    When {
        /// Conditions with their values.
        branches: Vec<(Expr, Expr)>,
        /// The value where no condition holds; null without one.
        otherwise: Option<Arc<Expr>>,
    },
    /// A function of many rows; only aggregations evaluate it.
    Aggregate {
        /// Which aggregate.
        kind: Aggregate,
        /// What is aggregated, as many as the aggregate is of.
        inputs: Vec<Expr>,
    },
    /// One value a row, in which every aggregate is that of the row's group.
    Over {
        /// What is computed.
        input: Arc<Expr>,
        /// Rows of one group have equal values of these; without them all rows are one group.
        window: Arc<Window>,
    },
    /// Lists of what an expression makes of the elements of each list, of which [`Function::Item`] is one.
    Eval {
        /// The lists.
        input: Arc<Expr>,
        /// What is made of the elements. It reads nothing else, and stands for itself: it is no child.
        body: Arc<Expr>,
        /// Which elements are left, if not all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<Arc<Expr>>,
    },
    /// Whether the value is in a set that lives elsewhere; null is in none unless `nulls_equal`.
    InSet {
        /// The value.
        input: Arc<Expr>,
        /// The set.
        set: LiveSet,
        /// Whether null is in a set that has null, and in no other.
        nulls_equal: bool,
    },
}

/// Which rows are one group, and in what order they are taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Rows with equal values of these are one group; null is a value as any other.
    pub by: Vec<Expr>,
    /// The order in which first and last are meant; that of the table without it.
    pub order: Vec<Expr>,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether nulls come last.
    pub nulls_last: bool,
    /// Which rows of the group, if not all. By stamps, they are those of `order`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling: Option<Rolling>,
    /// What runs on from row to row of the group, if it is that. By stamps, they are those of `order`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
}

impl Window {
    /// Whether it moves along with the row.
    pub fn moves(&self) -> bool {
        self.rolling.is_some() || self.runs.is_some()
    }

    /// Whether `order` is the column of stamps that the window itself goes by.
    pub fn has_stamps(&self) -> bool {
        let between = matches!(self.rolling, Some(Rolling { frame: Frame::Range { .. }, .. }));
        between || self.runs.is_some_and(|runs| matches!(runs.of, RunsOf::EwmMeanBy { .. } | RunsOf::EwmSumBy { .. }))
    }

    /// Whether rows are taken in another order than their own.
    pub fn is_ordered(&self) -> bool {
        !self.order.is_empty() && !self.has_stamps()
    }

    /// Whether it goes by an order that is no other window's matter: of stamps, or of the values.
    pub(super) fn has_own_order(&self) -> bool {
        self.has_stamps() || self.runs.is_some_and(|runs| runs.has_own_order())
    }
}

impl Expr {
    /// The column called `name`.
    pub fn column(name: impl Into<ColumnName>) -> Expr {
        Expr::Column(name.into())
    }

    /// A literal value.
    pub fn literal(value: impl Into<Literal>) -> Expr {
        Expr::Literal(value.into())
    }

    /// This expression under the name `name`.
    pub fn alias(self, name: impl Into<ColumnName>) -> Expr {
        match self {
            Expr::Alias(input, _) => Expr::Alias(input, name.into()),
            other => Expr::Alias(Arc::new(other), name.into()),
        }
    }

    /// A call, within the limits of depth and size. Left-associative operators join their left operand's chain.
    pub fn call(function: Function, args: Vec<Expr>) -> Result<Expr, Error> {
        Expr::joined(function, args).within_limits()
    }

    /// A call as [`Expr::call`] makes it, whose limits are checked later, by whoever makes the whole.
    pub(crate) fn joined(function: Function, mut args: Vec<Expr>) -> Expr {
        if function.is_left_associative()
            && let Some(Expr::Call { function: inner, args: chain }) = args.first_mut()
            && *inner == function
        {
            let mut joined = std::mem::take(chain);
            joined.extend(args.drain(1..));
            return Expr::Call { function, args: joined };
        }
        Expr::Call { function, args }
    }

    /// A cast, within the limits of depth and size.
    pub fn cast(self, to: DataType, strict: bool) -> Result<Expr, Error> {
        Expr::Cast { input: Arc::new(self), to, strict }.within_limits()
    }

    /// A conditional, within the limits of depth and size.
    pub fn when(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr, Error> {
        Expr::When { branches, otherwise: otherwise.map(Arc::new) }.within_limits()
    }

    /// An aggregate, within the limits of depth and size.
    pub fn aggregate(kind: Aggregate, inputs: impl IntoIterator<Item = Expr>) -> Result<Expr, Error> {
        Expr::Aggregate { kind, inputs: inputs.into_iter().collect() }.within_limits()
    }

    /// The expression with every aggregate taken over the row's group, and `shift` within it. What is over groups of its own
    /// is over those within the row's group. What reads other rows in another way is refused: no operation has it.
    pub fn over(self, window: Window) -> Result<Expr, Error> {
        let grouped = !(window.by.is_empty() && window.order.is_empty());
        if grouped && !window.moves() && self.needs_more_than_neighbours() {
            return Err(Error::Unsupported {
                what: format!(
                    "what reads a position, the clock or random numbers over groups, as {} does,",
                    self.to_python()
                ),
                advice: "aggregates, shift and diff are; make a column of the rest before",
            });
        }
        if !window.order.is_empty() && !window.moves() && self.goes_its_own_way() {
            return Err(Error::Unsupported {
                what: format!("what goes by an order of its own in another one, as in {},", self.to_python()),
                advice: "leave order_by out: windows between stamps go by these, and a rank by its values",
            });
        }
        // What is over groups of its own is so within the groups of the window.
        if matches!(self, Expr::Over { .. }) && !window.moves() {
            return self.within(&window)?.within_limits();
        }
        let input = if window.moves() { self } else { self.aggregates_over(&window)?.within(&window)? };
        Expr::Over { input: Arc::new(input), window: Arc::new(window) }.within_limits()
    }

    /// What runs on from row to row. `stamps`: by which, if it goes by stamps.
    pub fn running(self, runs: Runs, stamps: Option<Expr>) -> Result<Expr, Error> {
        if self.is_aggregate() && !self.reads_elements() {
            return Err(Error::Unsupported {
                what: format!("{} of an aggregate, as in {},", runs.name(), self.to_python()),
                advice: "say of which groups the aggregate is: .over(keys)",
            });
        }
        self.over(Window { order: stamps.into_iter().collect(), runs: Some(runs), ..Window::default() })
    }

    /// Whether it is of the elements of lists, and stands within [`Expr::Eval`].
    fn reads_elements(&self) -> bool {
        matches!(self, Expr::Call { function: Function::Item, .. }) || self.children().any(Expr::reads_elements)
    }

    /// Whether a window that moves along, or a value that runs on, stands anywhere in it.
    pub fn rolls(&self) -> bool {
        matches!(self, Expr::Over { window, .. } if window.moves()) || self.children().any(Expr::rolls)
    }

    /// Whether one of those goes by an order of its own, and may come to be over groups.
    fn goes_its_own_way(&self) -> bool {
        match self {
            Expr::Over { window, .. } if window.moves() && window.by.is_empty() && window.has_own_order() => true,
            Expr::Over { window, .. } if !window.moves() || !window.by.is_empty() => false,
            other => other.children().any(Expr::goes_its_own_way),
        }
    }

    /// This expression, or the error that it is too deep or too large.
    pub fn within_limits(self) -> Result<Expr, Error> {
        self.check_limits()?;
        Ok(self)
    }

    /// Fails when the expression is deeper than [`MAX_DEPTH`] or has more than [`MAX_NODES`] nodes.
    pub fn check_limits(&self) -> Result<(), Error> {
        fn walk(expr: &Expr, depth: usize, nodes: &mut usize) -> Result<(), Error> {
            *nodes += 1;
            if depth > MAX_DEPTH {
                return Err(Error::TooDeep { limit: MAX_DEPTH });
            }
            if *nodes > MAX_NODES {
                return Err(Error::TooLarge { limit: MAX_NODES });
            }
            expr.children().chain(expr.of_elements()).try_for_each(|child| walk(child, depth + 1, nodes))
        }
        walk(self, 1, &mut 0)
    }

    /// Fails where the tree is none that the constructors make: too deep, too large, a choice without a branch. What is read
    /// from text is checked by it.
    pub fn check_well_formed(&self) -> Result<(), Error> {
        fn walk(expr: &Expr) -> Result<(), Error> {
            match expr {
                Expr::When { branches, .. } if branches.is_empty() => Err(Error::NoBranch),
                Expr::Eval { .. } => expr.check_eval().and_then(|()| expr.children().try_for_each(walk)),
                other => other.children().try_for_each(walk),
            }
        }
        self.check_limits()?;
        walk(self)
    }

    /// The live sets in it, in order.
    pub fn live_sets(&self) -> Vec<&LiveSet> {
        let own = match self {
            Expr::InSet { set, .. } => Some(set),
            _ => None,
        };
        own.into_iter().chain(self.children().flat_map(Expr::live_sets)).collect()
    }

    /// How deep it nests, and of how many nodes it is.
    pub fn size(&self) -> (usize, usize) {
        let add = |(depth, nodes): (usize, usize), (below, count): (usize, usize)| (depth.max(below), nodes + count);
        let (below, nodes) = self.children().chain(self.of_elements()).map(Expr::size).fold((0, 0), add);
        (below + 1, nodes + 1)
    }

    /// The expressions directly below this one, in order.
    pub fn children(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match self {
            Expr::Column(_) | Expr::Literal(_) => Box::new(std::iter::empty()),
            Expr::Alias(input, _) | Expr::Cast { input, .. } | Expr::InSet { input, .. } | Expr::Eval { input, .. } => {
                Box::new(std::iter::once(&**input))
            }
            Expr::Call { args, .. } | Expr::Host { args, .. } => Box::new(args.iter()),
            Expr::When { branches, otherwise } => {
                Box::new(branches.iter().flat_map(|(condition, value)| [condition, value]).chain(otherwise.as_deref()))
            }
            Expr::Aggregate { inputs, .. } => Box::new(inputs.iter()),
            Expr::Over { input, window } => Box::new(std::iter::once(&**input).chain(&window.by).chain(&window.order)),
        }
    }

    /// Rebuilds the expression with each direct child replaced by `map(child)`.
    pub fn map_children(&self, map: &mut impl FnMut(&Expr) -> Expr) -> Expr {
        match self {
            Expr::Column(_) | Expr::Literal(_) => self.clone(),
            Expr::Alias(input, name) => Expr::Alias(Arc::new(map(input)), name.clone()),
            Expr::Cast { input, to, strict } => {
                Expr::Cast { input: Arc::new(map(input)), to: to.clone(), strict: *strict }
            }
            Expr::Call { function, args } => Expr::Call { function: *function, args: args.iter().map(map).collect() },
            Expr::Host { function, args } => {
                Expr::Host { function: function.clone(), args: args.iter().map(map).collect() }
            }
            Expr::When { branches, otherwise } => {
                let branches = branches.iter().map(|(condition, value)| (map(condition), map(value))).collect();
                let otherwise = otherwise.as_ref().map(|value| Arc::new(map(value)));
                Expr::When { branches, otherwise }
            }
            Expr::Aggregate { kind, inputs } => {
                Expr::Aggregate { kind: kind.clone(), inputs: inputs.iter().map(map).collect() }
            }
            Expr::Eval { input, body, keep } => {
                Expr::Eval { input: Arc::new(map(input)), body: Arc::clone(body), keep: keep.clone() }
            }
            Expr::InSet { input, set, nulls_equal } => {
                Expr::InSet { input: Arc::new(map(input)), set: set.clone(), nulls_equal: *nulls_equal }
            }
            Expr::Over { input, window } => {
                let input = Arc::new(map(input));
                let by = window.by.iter().map(&mut *map).collect();
                let order = window.order.iter().map(map).collect();
                Expr::Over { input, window: Arc::new(Window { by, order, ..**window }) }
            }
        }
    }

    /// The name of the result: the alias, else the first column read, else what the expression is.
    pub fn output_name(&self) -> Result<String, Error> {
        match self {
            Expr::Alias(_, name) | Expr::Column(name) => Ok(name.to_string()),
            Expr::Literal(_) => Ok("literal".to_owned()),
            Expr::Cast { input, .. }
            | Expr::Over { input, .. }
            | Expr::InSet { input, .. }
            | Expr::Eval { input, .. } => input.output_name(),
            Expr::Call { function: Function::Struct(Struct::Field), args } => match &args[..] {
                [_, Expr::Literal(Literal::Str(field))] => Ok(field.to_string()),
                _ => args.first().map_or_else(|| Ok("field".to_owned()), Expr::output_name),
            },
            Expr::Call { function: function @ Function::Struct(Struct::Make), args } => match args.first() {
                Some(Expr::Literal(names)) => Ok(match names.items().as_deref() {
                    Some([Literal::Str(first), ..]) => first.to_string(),
                    _ => function.name(),
                }),
                _ => Ok(function.name()),
            },
            Expr::Call { function, args } => args.first().map_or_else(|| Ok(function.name()), Expr::output_name),
            Expr::Host { function, args } => {
                args.first().map_or_else(|| Ok(function.name().to_string()), Expr::output_name)
            }
            Expr::When { branches, .. } => {
                let (_, value) = branches.first().ok_or(Error::NoBranch)?;
                value.output_name()
            }
            Expr::Aggregate { kind, inputs } => {
                inputs.first().map_or_else(|| Ok(kind.name().to_owned()), Expr::output_name)
            }
        }
    }

    /// As [`Expr::output_name`], with what is known of a hidden column.
    pub fn output_column(&self) -> Result<ColumnName, Error> {
        match self {
            Expr::Alias(_, name) | Expr::Column(name) => Ok(name.clone()),
            other => other.output_name().map(ColumnName::from),
        }
    }

    /// The columns read, each once, in order of first appearance.
    pub fn columns(&self) -> Vec<&str> {
        fn walk<'a>(expr: &'a Expr, seen: &mut HashSet<&'a str>, found: &mut Vec<&'a str>) {
            if let Expr::Column(name) = expr
                && seen.insert(name)
            {
                found.push(name);
            }
            expr.children().for_each(|child| walk(child, seen, found));
        }
        let mut found = Vec::new();
        walk(self, &mut HashSet::new(), &mut found);
        found
    }

    /// Whether an aggregate stands anywhere in the expression, so that its value is one a group. Over groups it has one a row.
    pub fn is_aggregate(&self) -> bool {
        match self {
            Expr::Aggregate { .. } => true,
            Expr::Over { .. } => false,
            other => other.children().any(Expr::is_aggregate),
        }
    }

    /// Whether its value is computed over groups of rows: it has an aggregate, alone or `over` something.
    pub fn reads_groups(&self) -> bool {
        matches!(self, Expr::Aggregate { .. }) || self.reads_tables() || self.children().any(Expr::reads_groups)
    }

    /// Whether `over` or a live set stands anywhere in it: it is planned over other tables before it is computed.
    pub fn reads_tables(&self) -> bool {
        matches!(self, Expr::Over { .. } | Expr::InSet { .. }) || self.children().any(Expr::reads_tables)
    }

    /// The hidden column of this number that an operation makes in place of this expression.
    pub fn hidden(&self, number: usize) -> ColumnName {
        ColumnName::hidden(number, None, self.unaliased().to_python())
    }

    /// This expression without its outermost names.
    pub fn unaliased(&self) -> &Expr {
        match self {
            Expr::Alias(input, _) => input.unaliased(),
            other => other,
        }
    }
}

/// The terms of a conjunction: `a & b & c` gives `a`, `b`, `c`; anything else gives itself.
///
/// Only a filter may split: it keeps what is true in every term, which is what Kleene logic keeps.
pub fn split_conjunction(expr: &Expr) -> Vec<&Expr> {
    match expr.unaliased() {
        Expr::Call { function: Function::And, args } => args.iter().flat_map(split_conjunction).collect(),
        _ => vec![expr],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::rolling::Reach;

    fn col(name: &str) -> Expr {
        Expr::column(name)
    }

    fn add(a: Expr, b: Expr) -> Expr {
        Expr::call(Function::Add, vec![a, b]).unwrap()
    }

    #[test]
    fn a_chain_of_one_operator_is_flat_and_may_be_long() {
        let mut sum = col("a");
        for _ in 0..2_000 {
            sum = add(sum, col("b"));
        }
        assert!(matches!(&sum, Expr::Call { args, .. } if args.len() == 2_001));
        assert_eq!(sum.columns(), ["a", "b"]);
        let right = add(col("a"), add(col("b"), col("c")));
        assert!(matches!(&right, Expr::Call { args, .. } if args.len() == 2));
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused() {
        let mut deep = col("a");
        let error = loop {
            match Expr::call(Function::Negate, vec![deep.clone()]) {
                Ok(next) => deep = next,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("128"), "{error}");
        let mut wide = col("a");
        let error = loop {
            match Expr::call(Function::Add, vec![wide.clone(), wide.clone()]) {
                Ok(next) => wide = next,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("65536"), "{error}");
    }

    #[test]
    fn names_and_columns() {
        let expr = Expr::when(vec![(col("c"), add(col("x"), col("y")))], Some(col("c"))).unwrap();
        assert_eq!(expr.output_name().unwrap(), "x");
        assert_eq!(expr.columns(), ["c", "x", "y"]);
        assert_eq!(expr.clone().alias("z").output_name().unwrap(), "z");
        assert!(!expr.is_aggregate());
        let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(expr)).unwrap();
        assert!(add(sum, col("a")).is_aggregate());
        assert_eq!(Expr::aggregate(Aggregate::Len, None).unwrap().output_name().unwrap(), "len");
    }

    #[test]
    fn over_groups_an_aggregate_has_a_value_in_each_row() {
        let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(col("x"))).unwrap();
        let over = sum.clone().over(Window { by: vec![col("k")], ..Window::default() }).unwrap();
        assert!(!over.is_aggregate() && over.reads_groups() && over.reads_tables());
        assert_eq!(over.output_name().unwrap(), "x");
        assert_eq!(over.columns(), ["x", "k"]);
        assert_eq!(over.to_python(), "col(\"x\").sum().over(col(\"k\"))");
        assert_eq!(Expr::column(over.hidden(3)).to_python(), over.to_python());
        let order =
            Window { by: vec![], order: vec![col("t")], descending: true, nulls_last: true, ..Window::default() };
        let ordered = sum.over(order).unwrap();
        assert_eq!(
            ordered.to_python(),
            "col(\"x\").sum().over(order_by=[col(\"t\")], descending=True, nulls_last=True)"
        );
        let text = serde_json::to_string(&ordered).unwrap();
        assert_eq!(serde_json::from_str::<Expr>(&text).unwrap(), ordered);
        let by = Window { by: vec![col("k")], ..Window::default() };
        let before = Expr::call(Function::Shift { by: 1 }, vec![col("x")]).unwrap();
        assert!(before.clone().over(by.clone()).unwrap().reads_groups());
        let order = Window { order: vec![col("t")], ..by.clone() };
        assert!(before.over(order).unwrap().reads_groups());
        let position = add(col("x"), Expr::call(Function::Position, vec![]).unwrap());
        let error = position.over(by).unwrap_err().to_string();
        assert!(error.contains("a position") && error.contains("over groups"), "{error}");
    }

    #[test]
    fn what_runs_on_takes_the_groups_and_the_order_that_it_has_none_of() {
        let runs = |of| Runs { of, backward: false };
        let sum = col("x").running(runs(RunsOf::Sum), None).unwrap();
        assert_eq!(sum.to_python(), "col(\"x\").cum_sum()");
        let window = Window { by: vec![col("k")], order: vec![col("t")], descending: true, ..Window::default() };
        let over = add(sum.clone(), col("y")).over(window.clone()).unwrap();
        assert_eq!(
            over.to_python(),
            "(col(\"x\").cum_sum().over(col(\"k\"), order_by=[col(\"t\")], descending=True) + col(\"y\"))\
             .over(col(\"k\"), order_by=[col(\"t\")], descending=True)"
        );
        let twice = sum.clone().over(window.clone()).unwrap();
        assert_eq!(twice.clone().over(Window { by: vec![col("g")], ..Window::default() }).unwrap().columns()[0], "x");
        let text = serde_json::to_string(&twice).unwrap();
        assert_eq!(serde_json::from_str::<Expr>(&text).unwrap(), twice);
        let fading = RunsOf::EwmMeanBy { half_life: Reach::Span(2_000_000_000) };
        let fading = col("x").running(runs(fading), Some(col("t"))).unwrap();
        assert_eq!(fading.to_python(), "col(\"x\").ewm_mean_by(col(\"t\"), half_life=\"2s\")");
        let error = fading.over(window).unwrap_err().to_string();
        assert!(error.contains("an order of its own"), "{error}");
        let mean = Expr::aggregate(Aggregate::Mean, Some(col("x"))).unwrap();
        let error = mean.running(runs(RunsOf::Sum), None).unwrap_err().to_string();
        assert!(error.contains("cum_sum of an aggregate"), "{error}");
    }

    #[test]
    fn nan_literals_are_the_same_expression() {
        assert_eq!(Expr::literal(f64::NAN), Expr::literal(-f64::NAN));
        assert_ne!(Expr::literal(0.0), Expr::literal(-0.0));
        assert_ne!(Expr::literal(1_i64), Expr::literal(1.0));
    }

    #[test]
    fn conjunctions_split_through_nesting() {
        let and = |args| Expr::call(Function::And, args).unwrap();
        let expr = and(vec![and(vec![col("a"), col("b")]), and(vec![col("c"), col("d")])]);
        assert_eq!(split_conjunction(&expr), [&col("a"), &col("b"), &col("c"), &col("d")]);
        assert_eq!(split_conjunction(&col("a")), [&col("a")]);
    }

    #[test]
    fn trees_survive_serialisation() {
        let expr = add(col("a"), Expr::literal(f64::INFINITY))
            .cast(DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("Europe/Paris".into())), false)
            .unwrap()
            .alias("z");
        let text = serde_json::to_string(&expr).unwrap();
        assert_eq!(serde_json::from_str::<Expr>(&text).unwrap(), expr);
    }
}
