//! What is known of the cells of one column: one row, of the rows that there are now.
//!
//! Of every column `SIZE` and `COUNT` (rows, and those that are not null); of numbers `SUM`, `AVG`, `MIN`, `MAX`, each also
//! without signs (`…_ABS`), and `STD_DEV`; of times `MIN` and `MAX`; of anything else `UNIQUE_VALUES`, how many there are,
//! and the most frequent of them with their counts (`UNIQUE_KEYS`, `UNIQUE_COUNTS`).

use arrow_schema::DataType;
use engine::plan::{EquiOptions, How, Op, SortBy, StandingGroups, Validate, apply};
use engine::{OnError, Table};
use formula::{Aggregate as Kind, Expr, Function};
use tonic::Status;

use super::formulas::{refused, rows};
use super::messages::Statistics;
use crate::columns;
use crate::context::engine_error;

const METHOD: &str = "column_statistics";
/// The most frequent values, unless a client says otherwise.
const VALUES: i32 = 20;
const COUNT: &str = "COUNT";
const KEYS: &str = "UNIQUE_KEYS";
const COUNTS: &str = "UNIQUE_COUNTS";

fn one(op: Op, inputs: &[Table]) -> Result<Table, Status> {
    apply(op, METHOD, inputs).map_err(engine_error)
}

fn aggregate(name: &str, kind: Kind, of: impl IntoIterator<Item = Expr>) -> Result<Expr, Status> {
    Ok(Expr::aggregate(kind, of).map_err(|error| refused(METHOD, error))?.alias(name))
}

/// One row, also of no rows.
fn row(aggregates: Vec<Expr>, of: &Table) -> Result<Table, Status> {
    let (keys, on_error) = (Vec::new(), OnError::default());
    let groups =
        StandingGroups { keys, aggregates, preserve_empty: true, named: false, on_error, bounds: Default::default() };
    one(Op::StandingGroups(groups), std::slice::from_ref(of))
}

/// The statistics of a column.
pub(super) fn of(of: &Statistics, table: &Table) -> Result<Table, Status> {
    let name = of.column.as_str();
    let field = columns::asked(METHOD, table.schema(), name)?;
    let column = || Expr::column(name);
    let still = table.snapshot().map_err(engine_error)?;
    let mut aggregates = vec![aggregate("SIZE", Kind::Len, [])?, aggregate(COUNT, Kind::Count, [column()])?];
    let kind = field.data_type();
    if kind.is_numeric() {
        let size = || Expr::call(Function::Abs, vec![column()]).map_err(|error| refused(METHOD, error));
        let kinds = [("SUM", Kind::Sum { min_count: 1 }), ("AVG", Kind::Mean), ("MIN", Kind::Min), ("MAX", Kind::Max)];
        for (name, kind) in kinds {
            aggregates.push(aggregate(name, kind.clone(), [column()])?);
            aggregates.push(aggregate(&format!("{name}_ABS"), kind, [size()?])?);
        }
        aggregates.push(aggregate("STD_DEV", Kind::Std { ddof: 1 }, [column()])?);
        return row(aggregates, &still);
    }
    if kind.is_temporal() && !matches!(kind, DataType::Interval(_)) {
        aggregates.push(aggregate("MIN", Kind::Min, [column()])?);
        aggregates.push(aggregate("MAX", Kind::Max, [column()])?);
        return row(aggregates, &still);
    }
    aggregates.push(aggregate("UNIQUE_VALUES", Kind::CountDistinct, [column()])?);
    let counted = Op::Aggregate {
        keys: vec![column()],
        aggregates: vec![aggregate(COUNTS, Kind::Len, [])?],
        on_error: OnError::default(),
    };
    let mut counts = one(counted, std::slice::from_ref(&still))?;
    let by = vec![SortBy { column: COUNTS.to_owned(), descending: true, nulls_last: true }];
    counts = one(Op::Sort { by }, &[counts])?;
    let most = rows(METHOD, of.values.filter(|values| *values > 0).unwrap_or(VALUES).into())?;
    counts = one(Op::Head { rows: most }, &[counts])?;
    let lists = [(KEYS, name), (COUNTS, COUNTS)].map(|(new, old)| aggregate(new, Kind::Implode, [Expr::column(old)]));
    let lists = row(lists.into_iter().collect::<Result<_, _>>()?, &counts)?;
    let options = EquiOptions {
        on: Vec::new(),
        how: How::Cross,
        suffix: "_right".to_owned(),
        nulls_equal: false,
        validate: Validate::ManyToMany,
        coalesce: true,
    };
    one(Op::Join(options), &[row(aggregates, &still)?, lists])
}
