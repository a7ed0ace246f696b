//! Columns that run along with the rows: operators of requests as those of `update_by`.

use arrow_schema::{DataType, Schema};
use engine::plan::{BadData, Clock, Control, Cumulative, Decay, Op, Operator, OperatorKind, RunningKind};
use formula::functions::Closed;
use formula::{Aggregate as Kind, Expr, Frame, Function, Reach, Rolling as Window, Window as Over};
use tonic::Status;

use super::aggregations::{counted, replaced, weighted_mean};
use super::formulas::{Formulas, pair, refused, unknown};
use super::messages::UpdateBy;
use super::specs::{Delta, Fading, FadingOptions, Running, Scale, ScaleOf, TimeScale};

const WHAT: &str = "update_by";

fn wrong(error: formula::Error) -> Status {
    refused(WHAT, error)
}

/// A length of time, as nanoseconds or as text.
fn nanos(of: &TimeScale) -> Result<i64, Status> {
    if of.text.is_empty() {
        return Ok(of.nanos);
    }
    let text = of.text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let span = (text == "0").then_some(0).or_else(|| clock_span(text)).or_else(|| formula::types::span_of_time(text));
    let span = span.and_then(|span| i64::try_from(sign * span).ok());
    span.ok_or_else(|| refused(WHAT, format!("{:?} is no length of time, such as PT1M or PT00:00:10", of.text)))
}

/// `PT00:00:10.5` or `PT00:00:.5`, in nanoseconds.
pub(super) fn clock_span(text: &str) -> Option<i128> {
    let text = text.strip_prefix("PT")?;
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes, seconds] = parts[..] else { return None };
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let seconds = if seconds.is_empty() && !fraction.is_empty() { "0" } else { seconds };
    let digits = |text: &str| text.len() <= 9 && text.bytes().all(|digit| digit.is_ascii_digit());
    if ![hours, minutes, seconds, fraction].into_iter().all(digits) {
        return None;
    }
    let whole = |text: &str| text.parse::<i128>().ok();
    let total = (whole(hours)? * 60 + whole(minutes)?) * 60 + whole(seconds)?;
    Some(sign * (total * 1_000_000_000 + whole(&format!("{fraction:0<9}"))?))
}

fn scale(of: Option<&Scale>) -> Result<&ScaleOf, Status> {
    of.and_then(|of| of.of.as_ref()).ok_or_else(|| refused(WHAT, "a window has no size"))
}

fn ticks(of: Option<&Scale>) -> Result<i64, Status> {
    match of.and_then(|of| of.of.as_ref()) {
        None => Ok(0),
        Some(ScaleOf::Ticks(of)) if of.ticks.fract() == 0.0 && of.ticks.abs() < 2_f64.powi(53) => Ok(of.ticks as i64),
        Some(ScaleOf::Ticks(of)) => Err(refused(WHAT, format!("a window of {} rows", of.ticks))),
        Some(ScaleOf::Time(_)) => Err(refused(WHAT, "one end of a window goes by rows, the other by time")),
    }
}

/// Every aggregate of an expression over a window that moves along with each row.
fn moving(of: Expr, reverse: Option<&Scale>, forward: Option<&Scale>) -> Result<Expr, Status> {
    let (frame, order) = match scale(reverse)? {
        ScaleOf::Ticks(_) => {
            let (back, ahead) = (ticks(reverse)?, ticks(forward)?);
            if back.saturating_add(ahead) <= 0 {
                return Err(refused(WHAT, format!("a window of {back} rows back and {ahead} ahead has no row in it")));
            }
            (Frame::Rows { back: back - 1, ahead }, vec![])
        }
        ScaleOf::Time(of) => {
            let ahead = match forward.and_then(|of| of.of.as_ref()) {
                None => 0,
                Some(ScaleOf::Time(of)) => nanos(of)?,
                Some(ScaleOf::Ticks(of)) if of.ticks == 0.0 => 0,
                Some(ScaleOf::Ticks(_)) => {
                    return Err(refused(WHAT, "one end of a window goes by time, the other by rows"));
                }
            };
            let back = nanos(of)?;
            if back.saturating_add(ahead) < 0 {
                return Err(refused(WHAT, "a window ends before it begins"));
            }
            let (back, ahead) = (Reach::Span(back), Reach::Span(ahead));
            (Frame::Range { back, ahead, closed: Closed::Both, ordered: true }, vec![Expr::column(of.column.as_str())])
        }
    };
    let rolling = Some(Window { frame, least: 0 });
    of.over(Over { order, rolling, ..Over::default() }).map_err(wrong)
}

fn bad_data(of: i32) -> Result<BadData, Status> {
    Ok(match of {
        0 | 3 => BadData::Skip,
        1 => BadData::Throw,
        2 => BadData::Reset,
        4 => BadData::Poison,
        other => return Err(refused(WHAT, format!("there is no behaviour {other} for bad data"))),
    })
}

fn fading(of: Decay, how: &Fading) -> Result<OperatorKind, Status> {
    let clock = match scale(how.window.as_ref())? {
        ScaleOf::Ticks(of) if of.ticks > 0.0 && of.ticks.is_finite() => Clock::Ticks(of.ticks),
        ScaleOf::Ticks(of) => {
            return Err(refused(WHAT, format!("what fades by rows fades by more than 0, not {}", of.ticks)));
        }
        ScaleOf::Time(of) => {
            let nanos = nanos(of)?;
            if nanos <= 0 {
                return Err(refused(WHAT, "what fades by time fades by more than nothing"));
            }
            Clock::Time { stamp: of.column.clone(), nanos: nanos as f64, counted: false }
        }
    };
    let none = FadingOptions::default();
    let options = how.options.as_ref().unwrap_or(&none);
    let control = Control { on_null: bad_data(options.on_null)?, on_nan: bad_data(options.on_nan)? };
    Ok(OperatorKind::Running(RunningKind::Decay { of, clock, control }))
}

fn cumulative(of: Cumulative) -> OperatorKind {
    OperatorKind::Running(RunningKind::Cumulative { of, null_at_null: false })
}

fn delta(of: Expr, how: &Delta) -> Result<Expr, Status> {
    let call = |function, args| Expr::call(function, args).map_err(wrong);
    let before = call(Function::Shift { by: 1 }, vec![of.clone()])?;
    let step = call(Function::Difference, vec![of.clone(), before.clone()])?;
    let alone = match how.options.as_ref().map_or(0, |options| options.nulls) {
        0 | 1 => return Ok(step),
        2 => of,
        3 => call(Function::Difference, vec![of.clone(), of])?,
        other => return Err(refused(WHAT, format!("there is no behaviour {other} for nulls of delta"))),
    };
    Expr::when(vec![(call(Function::IsNull, vec![before])?, alone)], Some(step)).map_err(wrong)
}

/// What a new column is of, and how it runs.
fn one(spec: &Running, name: &str, formulas: &Formulas<'_>) -> Result<(Expr, OperatorKind), Status> {
    let of = || Expr::column(name);
    let rolled = |kind: Kind, how: &super::specs::Rolling| {
        let aggregate = Expr::aggregate(kind, [of()]).map_err(wrong)?;
        Ok((moving(aggregate, how.reverse.as_ref(), how.forward.as_ref())?, OperatorKind::Value))
    };
    match spec {
        Running::Sum(_) => Ok((of(), cumulative(Cumulative::Sum))),
        Running::Min(_) => Ok((of(), cumulative(Cumulative::Min))),
        Running::Max(_) => Ok((of(), cumulative(Cumulative::Max))),
        Running::Product(_) => Ok((of(), cumulative(Cumulative::Product))),
        Running::Fill(_) => Ok((of(), OperatorKind::Running(RunningKind::ForwardFill))),
        Running::Ema(how) => Ok((of(), fading(Decay::Mean, how)?)),
        Running::Ems(how) => Ok((of(), fading(Decay::Sum, how)?)),
        Running::EmMin(how) => Ok((of(), fading(Decay::Min, how)?)),
        Running::EmMax(how) => Ok((of(), fading(Decay::Max, how)?)),
        Running::EmStd(how) => Ok((of(), fading(Decay::Std, how)?)),
        Running::Delta(how) => Ok((delta(of(), how)?, OperatorKind::Value)),
        Running::RollingSum(how) => rolled(Kind::Sum { min_count: 1 }, how),
        Running::RollingGroup(how) => rolled(Kind::Implode, how),
        Running::RollingAvg(how) => rolled(Kind::Mean, how),
        Running::RollingMin(how) => rolled(Kind::Min, how),
        Running::RollingMax(how) => rolled(Kind::Max, how),
        Running::RollingProduct(how) => rolled(Kind::Product, how),
        Running::RollingCount(how) => rolled(Kind::Count, how),
        Running::RollingStd(how) => rolled(Kind::Std { ddof: 1 }, how),
        Running::RollingWeighted(how) => {
            let mean = weighted_mean(of(), &how.text)?;
            Ok((moving(mean, how.reverse.as_ref(), how.forward.as_ref())?, OperatorKind::Value))
        }
        Running::RollingFormula(how) if how.token.is_empty() => {
            Err(unknown(WHAT, "rolling_formula of several columns is not here; one column with its word is"))
        }
        Running::RollingFormula(how) => {
            let expr = formulas.over_groups(&replaced(&how.text, &how.token, name))?;
            Ok((moving(expr, how.reverse.as_ref(), how.forward.as_ref())?, OperatorKind::Value))
        }
        Running::RollingCountWhere(how) => {
            let counted = counted(formulas.all_of(&how.filters)?)?;
            Ok((moving(counted, how.reverse.as_ref(), how.forward.as_ref())?, OperatorKind::Value))
        }
        Running::CountWhere(how) => Ok((formulas.all_of(&how.filters)?, cumulative(Cumulative::CountTrue))),
    }
}

/// Whether an operator takes columns of this type, where it names none.
fn takes(spec: &Running, of: &DataType) -> bool {
    let any = matches!(
        spec,
        Running::Fill(_)
            | Running::RollingGroup(_)
            | Running::RollingCount(_)
            | Running::Min(_)
            | Running::Max(_)
            | Running::RollingMin(_)
            | Running::RollingMax(_)
    );
    any || of.is_numeric()
}

/// The operation that a request means.
pub(super) fn operation(request: &UpdateBy, formulas: &Formulas<'_>, schema: &Schema) -> Result<Op, Status> {
    let (mut inputs, mut operators) = (Vec::new(), Vec::new());
    if request.operations.is_empty() {
        return Err(refused(WHAT, "there is no operation"));
    }
    for operation in &request.operations {
        let column = operation.column.as_ref().ok_or_else(|| refused(WHAT, "an operation is empty"))?;
        let spec = column.spec.as_ref().and_then(|spec| spec.of.as_ref());
        let spec = spec.ok_or_else(|| refused(WHAT, "an operation is empty"))?;
        let named: Vec<(String, String)> = match spec {
            Running::CountWhere(how) => vec![(how.name.clone(), String::new())],
            Running::RollingCountWhere(how) => vec![(how.name.clone(), String::new())],
            _ if column.pairs.is_empty() => {
                let fields = schema.fields().iter();
                let fields =
                    fields.filter(|field| !request.by.contains(field.name()) && takes(spec, field.data_type()));
                fields.map(|field| (field.name().clone(), field.name().clone())).collect()
            }
            _ => column.pairs.iter().map(|text| pair(WHAT, text)).collect::<Result<_, Status>>()?,
        };
        for (output, name) in named {
            if output.is_empty() {
                return Err(refused(WHAT, "count_where has no name for its column"));
            }
            let (input, kind) = one(spec, &name, formulas)?;
            inputs.push(input);
            operators.push(Operator { output, kind });
        }
    }
    Ok(Op::UpdateBy {
        by: request.by.clone(),
        inputs,
        operators,
        resets: false,
        bounds: Default::default(),
        on_error: Default::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_in_both_forms() {
        let of = |text: &str| nanos(&TimeScale { text: text.to_owned(), ..TimeScale::default() }).ok();
        let second = 1_000_000_000;
        assert_eq!(of("PT00:00:10"), Some(10 * second));
        assert_eq!(of("-PT00:00:20"), Some(-20 * second));
        assert_eq!(of("PT-00:00:20"), Some(-20 * second));
        assert_eq!(of("PT00:00:00.1"), Some(second / 10));
        assert_eq!(of("PT1M"), Some(60 * second));
        assert_eq!(of("PT30S"), Some(30 * second));
        assert_eq!(of("PT0.1S"), Some(second / 10));
        for wrong in ["PT", "PT00:10", "PT00:00:1x", "ten", "PT99999999999:00:00", "PT00:00:0.1234567890"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        let plain = TimeScale { nanos: 5, ..TimeScale::default() };
        assert_eq!(nanos(&plain).ok(), Some(5));
    }
}
