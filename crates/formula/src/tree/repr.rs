//! Expressions as the Python that makes them, with names as after `from tickframe import *`.

use arrow_schema::DataType;

use crate::tree::aggregate::Aggregate;
use crate::tree::expr::{Expr, Window};
use crate::tree::function::{Function, List, OptionValue, Struct, Text, Written};
use crate::tree::literal::Literal;
use crate::tree::settings::{Given, Setting};
use crate::tree::types::type_name;

impl Expr {
    /// Python that reads back as this expression: `(col("x") * 2)`.
    pub fn to_python(&self) -> String {
        match self {
            Expr::Column(name) => name.hidden_text().map_or_else(|| format!("col({})", quoted(name)), str::to_owned),
            Expr::Literal(literal) => format!("lit({})", arguments(literal)),
            Expr::Alias(input, name) if name.hidden_text().is_some() => input.to_python(),
            Expr::Alias(input, name) => format!("{}.alias({})", input.to_python(), quoted(name)),
            Expr::Cast { input, to, strict } => {
                let strict = if *strict { "" } else { ", strict=False" };
                format!("{}.cast({}{strict})", input.to_python(), type_name(to))
            }
            Expr::When { branches, otherwise } => {
                let mut text = String::new();
                for (index, (condition, value)) in branches.iter().enumerate() {
                    let dot = if index == 0 { "" } else { "." };
                    text.push_str(&format!("{dot}when({}).then({})", condition.to_python(), value.to_python()));
                }
                if let Some(otherwise) = otherwise {
                    text.push_str(&format!(".otherwise({})", otherwise.to_python()));
                }
                text
            }
            Expr::Aggregate { kind, inputs } => aggregate(kind, inputs),
            Expr::InSet { input, set, nulls_equal } => {
                let nulls_equal = if *nulls_equal { ", nulls_equal=True" } else { "" };
                format!("{}.is_in({}{nulls_equal})", input.to_python(), set.text)
            }
            Expr::Eval { input, body, keep } => {
                let kept = keep.as_ref().map(|keep| format!(".filter({})", keep.to_python())).unwrap_or_default();
                format!("{}.list.eval({}{kept})", input.to_python(), body.to_python())
            }
            Expr::Over { input, window } if window.rolling.is_some() => rolling(input, window),
            Expr::Over { input, window } if window.runs.is_some() => running(input, window),
            Expr::Over { input, window } => format!("{}.over({})", input.to_python(), over(window)),
            Expr::Host { function, args } => format!("{}({})", function.name(), joined(args, Expr::to_python)),
            Expr::Call { function, args } => call(*function, args),
        }
    }
}

/// An aggregate of a window that moves along, as the method that gives it.
fn rolling(input: &Expr, window: &Window) -> String {
    let by = window.order.first().filter(|_| window.has_stamps()).map(Expr::to_python);
    let given = window.rolling.map(|rolling| rolling.text(by.as_deref())).unwrap_or_default();
    let ends = if by.is_some() { "_by" } else { "" };
    let text = match input {
        Expr::Aggregate { kind, inputs } if inputs.len() == 1 => {
            format!("{}.rolling_{}{ends}({given})", inputs[0].to_python(), kind.name())
        }
        other => format!("{}.rolling{ends}({given})", other.to_python()),
    };
    let order = if window.has_stamps() { Vec::new() } else { window.order.clone() };
    match window.by.is_empty() && order.is_empty() {
        true => text,
        false => format!("{text}.over({})", over(&Window { order, ..window.clone() })),
    }
}

/// A value that runs on, as the method that gives it.
fn running(input: &Expr, window: &Window) -> String {
    let Some(runs) = window.runs else { return input.to_python() };
    let stamps = window.order.first().filter(|_| window.has_stamps()).map(Expr::to_python);
    let text = format!("{}.{}", input.to_python(), runs.text(stamps.as_deref()));
    let order = if window.has_stamps() { Vec::new() } else { window.order.clone() };
    match window.by.is_empty() && order.is_empty() {
        true => text,
        false => format!("{text}.over({})", over(&Window { order, ..window.clone() })),
    }
}

fn over(window: &Window) -> String {
    let mut given: Vec<String> = window.by.iter().map(Expr::to_python).collect();
    if !window.order.is_empty() {
        given.push(format!("order_by=[{}]", joined(&window.order, Expr::to_python)));
    }
    let flags = [("descending", window.descending), ("nulls_last", window.nulls_last)];
    given.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| format!("{name}=True")));
    given.join(", ")
}

fn call(function: Function, args: &[Expr]) -> String {
    match (function, args) {
        (Function::Variable, [Expr::Column(name), value]) => {
            return format!("variable({}, {})", quoted(name), argument(value));
        }
        (Function::Random { .. }, _) => {
            let mut given: Vec<String> = args.iter().map(argument).collect();
            given.extend(options(function));
            return format!("{}({})", function.name(), given.join(", "));
        }
        (Function::Text(Text::Format), [Expr::Literal(Literal::Str(template)), values @ ..]) => {
            let given = std::iter::once(quoted(template)).chain(values.iter().map(Expr::to_python));
            return format!("format({})", given.collect::<Vec<_>>().join(", "));
        }
        (Function::Struct(Struct::Make), [Expr::Literal(names), values @ ..]) => {
            let names = names.items().unwrap_or_default();
            let field = |(value, name): (&Expr, &Literal)| match name {
                Literal::Str(name) if value.output_name().is_ok_and(|own| own == **name) => value.to_python(),
                Literal::Str(name) => format!("{}.alias({})", value.to_python(), quoted(name)),
                _ => value.to_python(),
            };
            return format!("struct({})", values.iter().zip(names.iter()).map(field).collect::<Vec<_>>().join(", "));
        }
        (
            Function::Difference | Function::RelativeChange,
            [of, Expr::Call { function: Function::Shift { by }, args }],
        ) if args.as_slice() == std::slice::from_ref(of) => {
            let name = if function == Function::Difference { "diff" } else { "pct_change" };
            return format!("{}.{name}({by})", of.to_python());
        }
        (Function::Position, []) => return "formula(\"i\")".to_owned(),
        (Function::RowKey, []) => return "formula(\"k\")".to_owned(),
        (Function::Now, []) => return "formula(\"now()\")".to_owned(),
        (Function::Array, [Expr::Column(name)]) => return format!("formula(\"{}_\")", name.as_str()),
        (Function::List(_), _) => {
            if let Some(text) = of_whole(function, args) {
                return format!("formula(\"{text}\")");
            }
        }
        (Function::Rows, [Expr::Column(name)]) => return format!("formula(\"{}_.size()\")", name.as_str()),
        _ => {}
    }
    match function.written() {
        Written::Infix(symbol) => {
            let mut text = args.first().map_or_else(String::new, Expr::to_python);
            for operand in args.iter().skip(1) {
                text.push_str(&format!(" {symbol} {}", argument(operand)));
            }
            format!("({text})")
        }
        Written::Prefix(symbol, _) => format!("({symbol}{})", joined(args, Expr::to_python)),
        Written::Free(name) | Written::Formula(name) => format!("{name}({})", joined(args, Expr::to_python)),
        Written::Method(name) => {
            let Some((subject, rest)) = args.split_first() else { return format!("{name}()") };
            let mut given: Vec<String> =
                rest.iter().map(|arg| if is_bare(function) { argument(arg) } else { arg.to_python() }).collect();
            given.extend(options(function));
            format!("{}.{name}({})", subject.to_python(), given.join(", "))
        }
    }
}

/// A function of a whole column as a formula writes it.
fn of_whole(function: Function, args: &[Expr]) -> Option<String> {
    let (Function::List(of), Some((list, rest))) = (function, args.split_first()) else { return None };
    let list = match list {
        Expr::Call { function: Function::Array, args } => match args.as_slice() {
            [Expr::Column(name)] => format!("{}_", name.as_str()),
            _ => return None,
        },
        Expr::Call { function, args } => of_whole(*function, args)?,
        _ => return None,
    };
    let number = |expr: &Expr| match expr {
        Expr::Literal(literal @ (Literal::Int(_) | Literal::Float(_))) => Some(arguments(literal)),
        _ => None,
    };
    match (of, rest) {
        (List::Slice, [Expr::Literal(Literal::Int(from)), Expr::Literal(Literal::Int(length))]) => {
            Some(format!("{list}.subVector({from}, {})", from.saturating_add(*length)))
        }
        // Distinct elements that are not null are one function there.
        (List::DropNulls, []) if list.starts_with("distinct(") => Some(list),
        (List::Unique, []) => Some(format!("distinct({list})")),
        _ => {
            let (name, last) = function.written_of_list()?;
            let rest = rest.iter().map(number).collect::<Option<Vec<_>>>()?;
            let all = if last { [rest, vec![list]].concat() } else { [vec![list], rest].concat() };
            Some(format!("{name}({})", all.join(", ")))
        }
    }
}

fn joined(args: &[Expr], text: impl Fn(&Expr) -> String) -> String {
    args.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Whether a bare string among the method's arguments is a value, not a column's name.
fn is_bare(function: Function) -> bool {
    !matches!(function, Function::IsBetween { .. } | Function::Clip)
}

/// The options that are not at their defaults: numbers as they stand, others by their names.
fn options(mut function: Function) -> Vec<String> {
    let mut usual = function.declared().function;
    let usual = usual.options();
    let given = function.options().into_iter().zip(usual).filter_map(|((name, value), (_, usual))| match value {
        OptionValue::Rows(rows) => Some(rows.to_string()),
        value if value == usual => None,
        OptionValue::Small(_) | OptionValue::Number(_) => Some(value.to_python()),
        value => Some(format!("{name}={}", value.to_python())),
    });
    given.collect()
}

/// An argument beside an expression: plain values need no `lit`.
fn argument(expr: &Expr) -> String {
    match expr {
        Expr::Literal(
            literal @ (Literal::Null
            | Literal::Bool(_)
            | Literal::Int(_)
            | Literal::UInt(_)
            | Literal::Float(_)
            | Literal::Str(_)
            | Literal::Binary(_)
            | Literal::List(_)
            | Literal::Values(_)),
        ) => arguments(literal),
        other => other.to_python(),
    }
}

/// What stands between the brackets of `lit(...)`.
fn arguments(literal: &Literal) -> String {
    match literal {
        Literal::Null => "None".to_owned(),
        Literal::TypedNull(data_type) => format!("None, {}", type_name(data_type)),
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
        Literal::Int(value) => value.to_string(),
        Literal::UInt(value) => value.to_string(),
        Literal::Float(value) => float(*value),
        Literal::Str(value) => quoted(value),
        Literal::Binary(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
        Literal::Timestamp { ns, zone } => {
            format!("{ns}, {}", type_name(&DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, zone.clone())))
        }
        Literal::Date(days) => format!("{days}, Date"),
        Literal::Time(ns) => format!("{ns}, Time"),
        Literal::Duration(ns) => format!("{ns}, Duration(\"ns\")"),
        Literal::Decimal { value, precision, scale } => {
            format!("\"{value}e{}\", Decimal({precision}, {scale})", -i32::from(*scale))
        }
        Literal::List(items) => list(items, items.len()),
        Literal::Values(values) => list(&values.literals(SHOWN), values.len()),
    }
}

/// So many values of a long list are shown.
const SHOWN: usize = 64;

/// A list of so many values, of which these are the first ones.
fn list(items: &[Literal], all: usize) -> String {
    let shown = &items[..items.len().min(SHOWN)];
    let mut text = joined_literals(shown);
    if shown.len() < all {
        text.push_str(&format!(", … ({all} in all)"));
    }
    format!("[{text}]")
}

fn joined_literals(items: &[Literal]) -> String {
    items.iter().map(|item| argument(&Expr::Literal(item.clone()))).collect::<Vec<_>>().join(", ")
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "float(\"nan\")".to_owned()
    } else if value.is_infinite() {
        format!("float(\"{}inf\")", if value < 0.0 { "-" } else { "" })
    } else {
        format!("{value:?}")
    }
}

/// A string as Python writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\U{:08x}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A method of the one column that it is of; of none, or of several, a function.
fn aggregate(kind: &Aggregate, inputs: &[Expr]) -> String {
    let declared = kind.declaration();
    let shown = |setting: &Setting| {
        let value = kind.setting(setting);
        let text = match &value {
            Given::Whole(number) => number.to_string(),
            Given::Number(number) => float(*number),
            flag @ Given::Flag(_) => flag.to_string(),
            Given::Word(word) => quoted(word),
        };
        let given = setting.required || value != declared.kind.setting(setting);
        given.then(|| if setting.named { format!("{}={text}", setting.name) } else { text })
    };
    let options = declared.settings.iter().filter_map(shown);
    match inputs {
        [input, others @ ..] if others.is_empty() || declared.method => {
            let given: Vec<String> = others.iter().map(Expr::to_python).chain(options).collect();
            format!("{}.{}({})", input.to_python(), declared.name, given.join(", "))
        }
        several => {
            let given: Vec<String> = several.iter().map(Expr::to_python).chain(options).collect();
            format!("{}({})", declared.name, given.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_read_as_python() {
        let col = |name: &str| Expr::column(name);
        let call = |function, args| Expr::call(function, args).unwrap();
        let cases = [
            (call(Function::Multiply, vec![col("x"), Expr::literal(2_i64)]), "(col(\"x\") * 2)"),
            (call(Function::Less, vec![Expr::literal(2_i64), col("x")]), "(lit(2) < col(\"x\"))"),
            (call(Function::Not, vec![call(Function::IsNull, vec![col("x")])]), "(~col(\"x\").is_null())"),
            (call(Function::Equal, vec![col("a\"b"), Expr::literal("it's\n")]), "(col(\"a\\\"b\") == \"it's\\n\")"),
            (call(Function::FillNull, vec![col("x"), Expr::literal(f64::NAN)]), "col(\"x\").fill_null(float(\"nan\"))"),
            (
                call(
                    Function::IsIn { nulls_equal: true },
                    vec![col("x"), Expr::Literal(Literal::List(vec![Literal::Int(1), Literal::Null]))],
                ),
                "col(\"x\").is_in([1, None], nulls_equal=True)",
            ),
            (
                Expr::when(vec![(col("c"), Expr::literal(1_i64)), (col("d"), Expr::literal("a"))], Some(col("x")))
                    .unwrap()
                    .alias("z"),
                "when(col(\"c\")).then(lit(1)).when(col(\"d\")).then(lit(\"a\")).otherwise(col(\"x\")).alias(\"z\")",
            ),
            (
                col("x")
                    .cast(DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("UTC".into())), false)
                    .unwrap(),
                "col(\"x\").cast(Datetime(\"ns\", \"UTC\"), strict=False)",
            ),
            (Expr::aggregate(Aggregate::Sum { min_count: 1 }, Some(col("x"))).unwrap(), "col(\"x\").sum(min_count=1)"),
            (Expr::aggregate(Aggregate::Len, None).unwrap(), "len()"),
            (
                call(Function::Text(Text::Contains { literal: true }), vec![col("s"), Expr::literal("a")]),
                "col(\"s\").str.contains(\"a\", literal=True)",
            ),
            (call(Function::Coalesce, vec![col("a"), Expr::literal("b")]), "coalesce(col(\"a\"), lit(\"b\"))"),
        ];
        for (expr, python) in cases {
            assert_eq!(expr.to_python(), python);
        }
    }
}
