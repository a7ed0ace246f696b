//! Binding of what is computed of the elements of lists.
//!
//! The body is taken apart as the planner takes apart what is computed of rows: an aggregate, a shift, a value that runs on is a column
//! of its own beside the elements, made of lists by the function of lists of that name, and the rest is computed element by
//! element.

use arrow_schema::{DataType, Field, Schema};

use super::{Binder, bind_part};
use crate::error::Error;
use crate::eval::bound::Bound;
use crate::eval::functions::list_eval::{Column, Part, Program, kernel};
use crate::tree::aggregate::Aggregate;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, List};
use crate::tree::literal::Literal;
use crate::tree::name::ColumnName;
use crate::tree::quantile::Interpolation;
use crate::tree::runs::{Ranking, Runs, RunsOf};
use crate::tree::types::{canonical, element_of, list_of, stored};

/// The name of the column of this place; the first holds the elements.
fn name(place: usize) -> ColumnName {
    ColumnName::hidden(place, None, if place == 0 { "element()".to_owned() } else { String::new() })
}

/// What is known so far of the elements.
struct Lifting {
    fields: Vec<Field>,
    /// Whether there is one value a list.
    one: Vec<bool>,
    columns: Vec<Column>,
    known: Vec<Expr>,
}

impl Binder<'_> {
    pub(super) fn list_eval(
        &mut self,
        input: &Expr,
        body: &Expr,
        keep: Option<&Expr>,
        text: &str,
    ) -> Result<usize, Error> {
        let term = self.expr(input)?;
        let (node, element) = self.as_list("list.eval", &term)?;
        let element = canonical(&element);
        let mut lifting = Lifting {
            fields: vec![name(0).field(element.clone())],
            one: vec![false],
            columns: Vec::new(),
            known: vec![Expr::Call { function: Function::Item, args: Vec::new() }],
        };
        let result = lifting.expr(body)?;
        let keep = keep.map(|keep| lifting.expr(keep)).transpose()?;
        let Lifting { fields, one, columns, .. } = lifting;
        let schema = Schema::new(fields);
        let of_one = |expr: &Expr| {
            let mut read = expr.columns().into_iter().filter_map(|read| schema.index_of(read).ok()).peekable();
            read.peek().is_some() && read.all(|at| one[at])
        };
        let single = of_one(&result);
        let result = bind_part(&result, &schema, false, false)?;
        let keep = keep.map(|keep| boolean(&keep, &schema)).transpose()?;
        if single && keep.is_some() {
            return Err(Error::Unsupported {
                what: format!("{text}: one value a list, of which elements are chosen,"),
                advice: "aggregate the chosen ones: tf.element().filter(...).sum()",
            });
        }
        let made = list_of(&stored(result.data_type()));
        let element = stored(result.data_type());
        let program = Program { of: schema.field(0).data_type().clone(), columns, result, single, keep, element };
        self.whole(text, kernel(program), vec![node], made, text)
    }
}

fn boolean(keep: &Expr, schema: &Schema) -> Result<Bound, Error> {
    let bound = bind_part(keep, schema, false, false)?;
    match bound.data_type() {
        DataType::Boolean | DataType::Null => Ok(bound),
        other => Err(super::type_error("filter", &[other], "it takes a condition")),
    }
}

impl Lifting {
    /// The expression over columns beside the elements.
    fn expr(&mut self, expr: &Expr) -> Result<Expr, Error> {
        match expr {
            Expr::Call { function: Function::Item, .. } => Ok(Expr::column(name(0))),
            Expr::Alias(input, _) => self.expr(input),
            Expr::Aggregate { kind, inputs } => {
                let inputs = inputs.iter().map(|input| self.expr(input)).collect::<Result<Vec<_>, _>>()?;
                self.column(expr, inputs, |lists| aggregated(kind, lists, expr), true)
            }
            Expr::Call { function: Function::Shift { by }, args } => {
                let input = self.expr(&args[0])?;
                self.shifted(expr, input, *by)
            }
            Expr::Over { input, window } => {
                let input = self.expr(input)?;
                match &window.runs {
                    Some(runs) => self.column(expr, vec![input], |lists| running(runs, lists, expr), false),
                    None => Err(unsupported(expr)),
                }
            }
            other => {
                let mut failed = None;
                let made = other.map_children(&mut |child| {
                    self.expr(child).unwrap_or_else(|error| {
                        failed.get_or_insert(error);
                        child.clone()
                    })
                });
                failed.map_or(Ok(made), Err)
            }
        }
    }

    fn schema(&self) -> Schema {
        Schema::new(self.fields.clone())
    }

    /// The column that holds what a function of lists makes of the lists of these; equal ones are one. `one`: one value a list.
    fn column(
        &mut self,
        expr: &Expr,
        inputs: Vec<Expr>,
        make: impl FnOnce(Vec<Expr>) -> Result<Expr, Error>,
        one: bool,
    ) -> Result<Expr, Error> {
        if let Some(place) = self.known.iter().position(|known| known == expr) {
            return Ok(Expr::column(name(place)));
        }
        let schema = self.schema();
        // An aggregate of nothing counts elements.
        let inputs = if inputs.is_empty() { vec![Expr::column(name(0))] } else { inputs };
        let inputs =
            inputs.iter().map(|input| bind_part(input, &schema, false, false)).collect::<Result<Vec<_>, _>>()?;
        let fields = inputs.iter().enumerate().map(|(at, input)| name(at).field(list_of(&stored(input.data_type()))));
        let lists = Schema::new(fields.collect::<Vec<Field>>());
        let made = make((0..inputs.len()).map(|at| Expr::column(name(at))).collect())?;
        let of_lists = bind_part(&made, &lists, false, false)?;
        let given = of_lists.data_type().clone();
        let value = if one { given } else { element_of(&given).map_or(given, |element| canonical(&element)) };
        self.push(expr, value, one, Part::Lists { of_lists }, inputs)
    }

    fn shifted(&mut self, expr: &Expr, input: Expr, by: i64) -> Result<Expr, Error> {
        if let Some(place) = self.known.iter().position(|known| known == expr) {
            return Ok(Expr::column(name(place)));
        }
        let input = bind_part(&input, &self.schema(), false, false)?;
        let value = input.data_type().clone();
        self.push(expr, value, false, Part::Shift { by }, vec![input])
    }

    fn push(&mut self, expr: &Expr, value: DataType, one: bool, part: Part, inputs: Vec<Bound>) -> Result<Expr, Error> {
        let place = self.fields.len();
        self.fields.push(name(place).field(canonical(&value)));
        self.one.push(one);
        self.known.push(expr.clone());
        self.columns.push(Column { inputs, part, one, data_type: canonical(&value) });
        Ok(Expr::column(name(place)))
    }
}

fn unsupported(expr: &Expr) -> Error {
    Error::Unsupported {
        what: format!("{} of the elements of a list", expr.to_python()),
        advice: "explode the lists, and compute it within groups of rows",
    }
}

/// The function of lists that is this aggregate.
fn aggregated(kind: &Aggregate, mut lists: Vec<Expr>, expr: &Expr) -> Result<Expr, Error> {
    let function = match kind {
        Aggregate::Len => List::Len,
        Aggregate::Count => List::Count,
        Aggregate::Sum { .. } => List::Sum,
        Aggregate::Mean => List::Mean,
        Aggregate::Min => List::Min,
        Aggregate::Max => List::Max,
        Aggregate::Std { ddof } => List::Std { ddof: *ddof },
        Aggregate::Var { ddof } => List::Var { ddof: *ddof },
        Aggregate::Skew { bias } => List::Skew { bias: *bias },
        Aggregate::Kurtosis { fisher, bias } => List::Kurtosis { fisher: *fisher, bias: *bias },
        Aggregate::Cov { ddof: 1 } => List::Cov,
        Aggregate::Corr => List::Corr,
        Aggregate::WeightedVar => List::WeightedVar,
        Aggregate::WeightedStd => List::WeightedStd,
        Aggregate::First | Aggregate::Freeze => List::First,
        Aggregate::Last => List::Last,
        Aggregate::NUnique => List::NUnique,
        Aggregate::CountDistinct => List::CountDistinct,
        Aggregate::Median => List::Median,
        Aggregate::Quantile { part, interpolation } if *interpolation == Interpolation::Nearest => {
            lists.push(Expr::literal(part.get()));
            List::Quantile
        }
        Aggregate::Product => List::Product,
        Aggregate::ArgMin => List::ArgMin,
        Aggregate::ArgMax => List::ArgMax,
        Aggregate::Implode => return Ok(lists.remove(0)),
        // No function of lists is this aggregate.
        _ => return Err(unsupported(expr)),
    };
    let least = match kind {
        Aggregate::Sum { min_count } if *min_count > 0 => Some(*min_count),
        _ => None,
    };
    let count = Expr::call(Function::List(List::Count), vec![lists[0].clone()])?;
    let made = Expr::call(Function::List(function), lists)?;
    match least {
        None => Ok(made),
        Some(least) => {
            let enough = Expr::call(Function::GreaterEqual, vec![count, Expr::Literal(Literal::UInt(least))])?;
            Expr::when(vec![(enough, made)], None)
        }
    }
}

/// The function of lists whose elements run on so.
fn running(runs: &Runs, mut lists: Vec<Expr>, expr: &Expr) -> Result<Expr, Error> {
    let function = match runs.of {
        RunsOf::Sum => List::CumSum,
        RunsOf::Prod => List::CumProd,
        RunsOf::Min => List::CumMin,
        RunsOf::Max => List::CumMax,
        RunsOf::Fill { limit: None } => List::ForwardFill,
        RunsOf::Rank { method: Ranking::Average, descending: false } => List::Rank,
        _ => return Err(unsupported(expr)),
    };
    let turned = |list: Expr| match runs.backward {
        true => Expr::call(Function::List(List::Reverse), vec![list]),
        false => Ok(list),
    };
    turned(Expr::call(Function::List(function), vec![turned(lists.remove(0))?])?)
}
