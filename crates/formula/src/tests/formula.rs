//! Formula strings: what they mean, how errors show the place, and that no text does harm.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;

use crate::error::Error;
use crate::eval::bind::bind;
use crate::language::formula::{Formula, FormulaError};
use crate::language::names::Names;
use crate::language::parse::Purpose;
use crate::missing::NoColumn;
use crate::testing::{call, col, ints, lit, run, shown, texts};
use crate::tree::expr::Expr;
use crate::tree::function::{Closed, Function, Text};
use crate::tree::literal::Literal;

fn values() -> HashMap<String, Literal> {
    HashMap::from([
        ("limit".to_owned(), Literal::Int(5)),
        ("half".to_owned(), Literal::Float(0.5)),
        ("name".to_owned(), Literal::from("abc")),
        ("wanted".to_owned(), Literal::List(vec![Literal::Int(1), Literal::Int(2)])),
        ("nothing".to_owned(), Literal::Null),
        ("X".to_owned(), Literal::Int(7)),
        ("i".to_owned(), Literal::Int(7)),
    ])
}

fn schema() -> Schema {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Schema::new(vec![
        field("X", DataType::Int64),
        field("Y", DataType::Float64),
        field("Small", DataType::Int8),
        field("S", DataType::Utf8View),
        field("B", DataType::Boolean),
        field("T", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        field("Price", DataType::Float64),
    ])
}

fn lowered(text: &str, purpose: Purpose) -> Result<Expr, FormulaError> {
    Formula::parse(text, purpose)?.lower(&Names {
        columns: Some(&schema()),
        values: &values(),
        functions: &HashMap::new(),
        sets: &HashMap::new(),
    })
}

/// The Python of what a formula means, over the columns above.
fn python(text: &str) -> String {
    lowered(text, Purpose::Column).unwrap_or_else(|error| panic!("{error}")).to_python()
}

fn filter(text: &str) -> String {
    lowered(text, Purpose::Filter).unwrap_or_else(|error| panic!("{error}")).to_python()
}

fn error(text: &str) -> FormulaError {
    let names =
        Names { columns: Some(&schema()), values: &values(), functions: &HashMap::new(), sets: &HashMap::new() };
    match Formula::parse(text, Purpose::Column) {
        Ok(formula) => formula.check(&names, &schema()).err().unwrap_or_else(|| panic!("{text} is accepted")),
        Err(error) => error,
    }
}

#[test]
fn what_formulas_mean() {
    let cases = [
        ("Z = X * 2", r#"(col("X") * 2).alias("Z")"#),
        ("Z=X", r#"col("X").alias("Z")"#),
        ("X = X", r#"col("X")"#),
        ("X", r#"col("X")"#),
        ("X + Y * 2 - 1", r#"((col("X") + (col("Y") * 2)) - 1)"#),
        ("(X + Y) * 2", r#"((col("X") + col("Y")) * 2)"#),
        ("X / 2 / 3 // 4 % 5", r#"(((col("X") / 2 / 3) // 4) % 5)"#),
        ("-X ** 2", r#"(-(col("X") ** 2))"#),
        ("2 ** -X ** 2", r#"(lit(2) ** (-(col("X") ** 2)))"#),
        ("-5 + +X", r#"(lit(-5) + col("X"))"#),
        ("X > 1 && Y < 2 || !B", r#"(((col("X") > 1) & (col("Y") < 2)) | (~col("B")))"#),
        ("X > 1 and Y < 2 or not B", r#"(((col("X") > 1) & (col("Y") < 2)) | (~col("B")))"#),
        ("X & 3 | 4 ^ 1 << 2", r#"((col("X") & 3) | (lit(4) ^ (lit(1) << 2)))"#),
        ("X == 1 & B", r#"((col("X") == 1) & col("B"))"#),
        (
            "B ? X : Y > 1 ? 2 : 3",
            r#"when(col("B")).then(col("X")).otherwise(when((col("Y") > 1)).then(lit(2)).otherwise(lit(3)))"#,
        ),
        ("X == null", r#"col("X").is_null()"#),
        ("null != X", r#"col("X").is_not_null()"#),
        ("X == nothing", r#"col("X").is_null()"#),
        ("(int)X + (double) -Y", r#"(col("X").cast(Int32) + (-col("Y")).cast(Float64))"#),
        ("(X) - 1", r#"(col("X") - 1)"#),
        ("cast(X, Int32, strict=false)", r#"col("X").cast(Int32, strict=False)"#),
        ("cast(X, decimal(10, 2))", r#"col("X").cast(Decimal(10, 2))"#),
        ("(decimal(10, 2))X", r#"col("X").cast(Decimal(10, 2))"#),
        ("cast(T, Datetime(`ms`, `Europe/Paris`))", r#"col("T").cast(Datetime("ms", "Europe/Paris"))"#),
        ("5L", "lit(5).cast(Int64)"),
        ("3.5f", "lit(3.5).cast(Float32)"),
        ("`a\\`b`", r#"lit("a`b")"#),
        ("S.startsWith(`a`)", r#"col("S").str.starts_with("a")"#),
        ("startsWith(S, `a`)", r#"col("S").str.starts_with("a")"#),
        ("S.toUpperCase().length()", r#"col("S").str.to_uppercase().str.len_chars()"#),
        ("S.substring(1, 3)", r#"col("S").str.slice(1, 2)"#),
        ("S.matches(`a.c`)", r#"col("S").str.contains("^(?:a.c)$")"#),
        ("S + X", r#"(col("S") + col("X").cast(String))"#),
        ("X + 1 + S", r#"((col("X") + 1).cast(String) + col("S"))"#),
        ("S + `!` + 1", r#"(col("S") + "!" + lit(1).cast(String))"#),
        ("sqrt(Y) + abs(X)", r#"(col("Y").sqrt() + col("X").abs())"#),
        ("max(X, 3, Small)", r#"max_horizontal(col("X"), lit(3), col("Small"))"#),
        ("ifelse(B, X, null)", r#"when(col("B")).then(col("X")).otherwise(lit(None))"#),
        ("inRange(X, 1, limit)", r#"col("X").is_between(lit(1), lit(5))"#),
        ("replaceIfNull(X, 0)", r#"col("X").fill_null(0)"#),
        ("hourOfDay(T, 'ET')", r#"col("T").dt.convert_time_zone("America/New_York").dt.hour()"#),
        ("T + 'P1M'", r#"col("T").dt.offset_by("1mo")"#),
        ("T - 'P1M'", r#"col("T").dt.offset_by("-1mo")"#),
        ("T + 'PT1S'", r#"(col("T") + lit(1000000000, Duration("ns")))"#),
        ("T + 5 * MINUTE", r#"(col("T") + (lit(5) * 60000000000).cast(Duration("ns")))"#),
        ("T > '2025-01-01T00:00:00Z'", r#"(col("T") > lit(1735689600000000000, Datetime("ns", "UTC")))"#),
        ("diffNanos(T, T)", r#"(col("T") - col("T")).dt.total_nanoseconds()"#),
        ("X_[i-1]", r#"col("X").shift(1)"#),
        ("X_[(i)+2]", r#"col("X").shift(-2)"#),
        ("X_[ii - limit]", r#"col("X").shift(5)"#),
        ("X_[i]", r#"col("X")"#),
        ("X + limit", r#"(col("X") + lit(5).cast(Int64))"#),
        ("X > limit", r#"(col("X") > 5)"#),
        ("Y * half", r#"(col("Y") * lit(0.5).cast(Float64))"#),
        ("col(`a b`) + 1", r#"(col("a b") + 1)"#),
        ("NULL_INT", "lit(None, Int32)"),
        ("NAN_DOUBLE", r#"lit(float("nan"))"#),
    ];
    for (text, expected) in cases {
        assert_eq!(python(text), expected, "{text}");
    }
}

#[test]
fn what_filters_mean() {
    let cases = [
        ("X = 5", r#"(col("X") == 5)"#),
        ("X = 5 && S = `a`", r#"((col("X") == 5) & (col("S") == "a"))"#),
        ("X in 1, 2, limit", r#"col("X").is_in([1, 2, 5])"#),
        ("X in wanted", r#"col("X").is_in([1, 2])"#),
        ("X not in 1, null", r#"(~col("X").is_in([1, None], nulls_equal=True))"#),
        ("X in [1, 2] && B", r#"(col("X").is_in([1, 2]) & col("B"))"#),
        ("X in (1, 2)", r#"col("X").is_in([1, 2])"#),
        ("X in 1, 2 && B", r#"(col("X").is_in([1, 2]) & col("B"))"#),
        ("(X in 1, 2) || B", r#"(col("X").is_in([1, 2]) | col("B"))"#),
        ("X in []", r#"col("X").is_in([])"#),
        ("X in 1, Small", r#"(col("X").is_in([1]) | (col("X") == col("Small")))"#),
        ("ifelse(X in 1, B, false)", r#"when(col("X").is_in([1])).then(col("B")).otherwise(lit(False))"#),
        ("S icase in `A`, `É`", r#"col("S").str.to_lowercase().is_in(["a", "é"])"#),
        ("S icase not in `A`", r#"(~col("S").str.to_lowercase().is_in(["a"]))"#),
        (
            "S includes any `a`, `b`",
            r#"(col("S").str.contains("a", literal=True) | col("S").str.contains("b", literal=True))"#,
        ),
        (
            "S not includes all `a`, `b`",
            r#"(~(col("S").str.contains("a", literal=True) & col("S").str.contains("b", literal=True)))"#,
        ),
        ("not B", r#"(~col("B"))"#),
    ];
    for (text, expected) in cases {
        assert_eq!(filter(text), expected, "{text}");
    }
}

#[test]
fn columns_beat_variables_and_without_a_table_both_are_kept() {
    assert_eq!(python("X + name"), r#"(col("X").cast(String) + "abc")"#);
    let bare = |text: &str| {
        let values = values();
        let names = Names { columns: None, values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
        Formula::parse(text, Purpose::Column).unwrap().lower(&names).unwrap()
    };
    let expr = bare("Z = Unknown * limit");
    assert_eq!(expr.to_python(), r#"(col("Unknown") * variable("limit", 5)).alias("Z")"#);
    let with = |columns: &[&str]| {
        Schema::new(columns.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Vec<_>>())
    };
    let alone = bind(&bare("A + limit"), &with(&["A"])).unwrap();
    assert_eq!(alone.inputs().len(), 1);
    let both = bind(&bare("A + limit"), &with(&["A", "limit"])).unwrap();
    assert_eq!(both.inputs().len(), 2);
    assert_eq!(*bind(&bare("Small + limit"), &schema()).unwrap().data_type(), DataType::Int64);
    assert_eq!(*bind(&bare("Small + 5"), &schema()).unwrap().data_type(), DataType::Int8);
    let formula = Formula::parse("Z = f(A_[i-1]) + limit.g() in B, c", Purpose::Column);
    assert_eq!(formula.unwrap().names(), ["f", "A_", "A", "i", "limit", "B", "c"]);
}

#[test]
fn errors_show_the_place() {
    let cases = [
        ("Z = X +", "^", "expected a value, the formula ends"),
        ("Z = X + * 2", "^", "expected a value, found *"),
        ("Z = (X + 1", "^", "expected ) to close the bracket, the formula ends"),
        ("Z = X 2", "^", "expected an operator or the end, found 2"),
        ("Z = X == 2 = 3", "^", "a lone ="),
        ("Z = Prize * 2", "^^^^^", "did you mean \"Price\"?"),
        ("Z = limt * 2", "^^^^", "did you mean \"limit\"?"),
        ("Z = sqroot(X)", "^^^^^^", "there is no function sqroot, did you mean sqrt?"),
        ("Z = S.startWith(`a`)", "^^^^^^^^^", "there is no method startWith, did you mean startsWith?"),
        ("Z = sqrt(X, 1)", "^^^^^^^^^^", "sqrt takes 1 argument, not 2"),
        ("Z = X + sqrt", "^^^^", "write sqrt(…)"),
        ("Z = X * (S - 1)", "^^^^^^^", "-"),
        ("Z = B ? X : S", "^^^^^^^^^", "cast one side"),
        ("Z = X_ + 1", "^^", "whole column X"),
        ("Z = 'abc'", "^^^^^", "no character, date"),
        ("Z = T + S.matches(Y)", "^^^^^^^^^^^^", "pattern that is a string"),
        ("Z = X.field", "^^^^^", "methods need brackets"),
        ("Z = null.x()", "^", "no method x"),
        ("größe = X + ß", "^", "no column \"ß\""),
        ("not = X", "^^^", "the name of a new column"),
        ("", "^", "expected an expression"),
    ];
    for (text, carets, message) in cases {
        let error = error(text);
        let shown = error.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let [first, .., formula, caret] = lines.as_slice() else { panic!("{shown}") };
        assert!(first.contains(message), "{shown}");
        assert_eq!(*formula, format!("  {text}"), "{shown}");
        assert_eq!(caret.trim(), carets, "{shown}");
        let span = error.span();
        assert_eq!(caret.chars().take_while(|blank| *blank == ' ').count(), 2 + span.start, "{shown}");
    }
}

#[test]
fn a_long_formula_is_shown_around_the_place() {
    let many = " + X".repeat(400);
    for (text, carets) in [
        (format!("Z = Prize{many}"), 5),
        (format!("Z = X{many} + Prize{many}"), 5),
        (format!("Z = X{many} + Prize"), 5),
        (format!("Z = X{many} +"), 1),
        (format!("Z = `{}", "ß".repeat(5_000)), 120),
    ] {
        let error = error(&text);
        let shown = error.shown();
        let [line, caret] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert!(line.chars().count() <= 4 + 3 * 60 && caret.trim().len() <= carets, "{shown}");
        let place = caret.chars().take_while(|blank| *blank == ' ').count();
        let under: String = line.chars().skip(place).take(caret.trim().len()).collect();
        let blamed: String = text.chars().skip(error.span().start).take(under.chars().count()).collect();
        assert!(under == blamed && text.contains(line.trim().trim_matches('…')), "{shown}");
        assert_eq!(error.text(), text);
    }
}

#[test]
fn errors_of_columns_name_them() {
    let found = error("Z = Prize * 2");
    assert!(matches!(found.error(), Error::UnknownColumn(NoColumn { name, nearest: Some(nearest), .. })
        if name == "Prize" && nearest == "Price"));
    assert_eq!(found.span(), 4..9);
    assert!(matches!(error("Z = S * 2").error(), Error::Type { .. }));
}

#[test]
fn length_and_depth_are_limited() {
    let long = "X + ".repeat(20_000);
    assert!(error(&long).to_string().contains("65536 bytes"));
    let chain = format!("Z = {}1", "X + ".repeat(16_000));
    assert!(matches!(lowered(&chain, Purpose::Column), Ok(Expr::Alias(..))));
    let division = format!("Z = {}1", "X / ".repeat(16_000));
    assert!(lowered(&division, Purpose::Column).is_ok());
    let deepest = format!("{}X{}", "(".repeat(127), ")".repeat(127));
    assert!(lowered(&deepest, Purpose::Column).is_ok());
    for deep in [
        "(".repeat(30_000),
        format!("{}X{}", "(".repeat(129), ")".repeat(129)),
        format!("{}B", "!".repeat(30_000)),
        format!("{}X{}", "abs(".repeat(10_000), ")".repeat(10_000)),
        format!("{}1", "X + 1 - ".repeat(8_000)),
        format!("X{}", ".abs()".repeat(10_000)),
        format!("X{}", "[i]".repeat(10_000)),
        format!("{}1", "B ? 1 : ".repeat(8_000)),
        format!("{}1", "2 ** ".repeat(12_000)),
        format!("{}X", "(int)".repeat(12_000)),
        format!("X {}", "in 1 ".repeat(12_000)),
    ] {
        let message = error(&deep).to_string();
        assert!(message.contains("128 deep"), "{}", message.lines().next().unwrap());
    }
}

#[test]
fn formulas_evaluate_as_their_expressions() {
    let x = ints([Some(1), Some(2), None, Some(-7)]);
    let s = texts([Some("ab"), Some("É"), None, Some("")]);
    let columns = [("X", x), ("S", s)];
    let given = values();
    let schema = Schema::new(vec![Field::new("X", DataType::Int64, true), Field::new("S", DataType::Utf8View, true)]);
    let cases = [
        ("X * 2 + 1", "3 5 null -13"),
        ("X > 1 ? `big` : S", "ab big null "),
        ("X % 3", "1 2 null 2"),
        ("S + X", "ab1 É2 null -7"),
        ("X in 1, 2", "true true null false"),
        ("X not in 1, null", "false true false true"),
        ("S.indexOf(`b`)", "1 -1 null -1"),
        ("S.charAt(0)", "a É null "),
        ("S.isEmpty()", "false false null true"),
        ("lowerBin(X, 3)", "0 0 null -9"),
        ("upperBin(X, 3)", "3 3 null -6"),
        ("lowerBin(X, 3, 1)", "1 1 null -8"),
        ("isNormal(X)", "true true false true"),
        ("replaceIfNonFinite(X, 0)", "1 2 0 -7"),
        ("padStart(S, 3, `*`)", "*ab **É null ***"),
    ];
    for (text, expected) in cases {
        let names = Names { columns: Some(&schema), values: &given, functions: &HashMap::new(), sets: &HashMap::new() };
        let expr = Formula::parse(text, Purpose::Column).unwrap().lower(&names).unwrap();
        assert_eq!(shown(&run(&expr, &columns)).join(" "), expected, "{text}");
    }
}

/// A formula and the expression it must mean.
type Pair = (String, Expr);

fn leaf() -> impl Strategy<Value = Pair> {
    prop_oneof![
        prop::sample::select(vec!["X", "Y", "größe", "Small"]).prop_map(|name| (name.to_owned(), col(name))),
        (0_i64..1_000_000).prop_map(|value| (value.to_string(), lit(value))),
        (0_i64..1_000).prop_map(|value| (format!("-{value}"), lit(-value))),
        any::<u16>().prop_map(|value| (format!("{:#x}", value), lit(i64::from(value)))),
        (0.0..1e9_f64).prop_map(|value| (format!("{value:?}"), lit(value))),
        "[ -~éß]{0,8}".prop_map(|text| {
            let written = text.replace('\\', "\\\\").replace('`', "\\`");
            (format!("`{written}`"), lit(&*text))
        }),
        any::<bool>().prop_map(|flag| (flag.to_string(), lit(flag))),
        Just(("null".to_owned(), Expr::Literal(Literal::Null))),
    ]
}

fn pair() -> impl Strategy<Value = Pair> {
    marked().prop_map(|(text, expr)| (in_words(&text), expr))
}

/// The words of logic, marked by what stands in no other text; and what they are where they combine bits.
const LOGIC: &[(&str, &str)] =
    &[("‹&&›", "&"), ("‹and›", "&"), ("‹||›", "|"), ("‹or›", "|"), ("‹!›", "~"), ("‹not ›", "~")];

fn in_words(marked: &str) -> String {
    LOGIC.iter().fold(marked.to_owned(), |text, (word, _)| text.replace(word, word.trim_matches(['‹', '›'])))
}

fn in_bits(marked: &str) -> String {
    LOGIC.iter().fold(marked.to_owned(), |text, (word, bits)| text.replace(word, bits))
}

/// A formula with its words of logic marked, and the tree that it means.
fn marked() -> impl Strategy<Value = Pair> {
    leaf().prop_recursive(6, 48, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let operators = vec![
            ("*", "*"),
            ("/", "/"),
            ("//", "//"),
            ("%", "%"),
            ("**", "**"),
            ("<", "<"),
            ("<=", "<="),
            (">", ">"),
            (">=", ">="),
            ("‹&&›", "&"),
            ("‹||›", "|"),
            ("‹and›", "&"),
            ("‹or›", "|"),
            ("&", "&"),
            ("|", "|"),
            ("^", "^"),
            ("<<", "<<"),
            (">>", ">>"),
        ];
        prop_oneof![
            (prop::sample::select(operators), two.clone())
                .prop_map(|((sign, name), (a, b))| { (format!("({}) {sign} ({})", a.0, b.0), call(name, [a.1, b.1])) }),
            (inner.clone(), "‹!›|~|‹not ›").prop_map(|(a, sign)| (format!("{sign}({})", a.0), call("~", [a.1]))),
            inner.clone().prop_map(|a| (format!("-({})", a.0), call("neg", [a.1]))),
            (inner.clone(), two.clone()).prop_map(|(c, (a, b))| {
                let expr = Expr::when(vec![(c.1, a.1)], Some(b.1)).unwrap();
                (format!("(({}) ? {} : {})", c.0, a.0, b.0), expr)
            }),
            inner.clone().prop_map(|a| (format!("(int)({})", a.0), a.1.cast(DataType::Int32, true).unwrap())),
            inner.clone().prop_map(|a| (format!("abs({})", a.0), call("abs", [a.1]))),
            two.clone()
                .prop_map(|(a, b)| (format!("({}).startsWith({})", a.0, b.0), call("str.starts_with", [a.1, b.1]))),
            (inner.clone(), prop::collection::vec(0_i64..9, 0..3)).prop_map(|(a, items)| {
                let list = Expr::Literal(Literal::List(items.iter().copied().map(Literal::Int).collect()));
                let expr = Expr::call(Function::IsIn { nulls_equal: false }, vec![a.1, list]).unwrap();
                let items: Vec<String> = items.iter().map(i64::to_string).collect();
                (format!("(({}) in [{}])", a.0, items.join(", ")), expr)
            }),
            (inner.clone(), two).prop_map(|(x, (a, b))| {
                let expr = Expr::call(Function::IsBetween { closed: Closed::Both }, vec![x.1, a.1, b.1]).unwrap();
                (format!("inRange({}, {}, {})", x.0, a.0, b.0), expr)
            }),
            (inner, "[a-z]{1,3}").prop_map(|(a, part)| {
                let contains = Function::Text(Text::Contains { literal: true });
                (format!("({}).contains(`{part}`)", a.0), Expr::call(contains, vec![a.1, lit(&*part)]).unwrap())
            }),
        ]
    })
}

/// Parses and lowers, within the time that a mistake may take.
fn survives(text: &str, purpose: Purpose) {
    let start = Instant::now();
    let (schema, values) = (schema(), values());
    for columns in [None, Some(&schema)] {
        let names = Names { columns, values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
        let checked = Formula::parse(text, purpose).and_then(|formula| formula.check(&names, &schema).map(drop));
        if let Err(error) = checked {
            assert!(error.span().end <= text.chars().count());
            assert!(!error.to_string().is_empty());
        }
    }
    assert!(start.elapsed() < Duration::from_millis(500), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn strings_and_objects_make_one_tree((text, expr) in marked()) {
        let values = HashMap::new();
        let names = Names { columns: None, values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
        let lowered = |text: &str| Formula::parse(text, Purpose::Filter).unwrap().lower(&names);
        let (words, bits) = (in_words(&text), in_bits(&text));
        prop_assert_eq!(&lowered(&bits).unwrap(), &expr, "{}", bits);
        match lowered(&words) {
            Ok(tree) => prop_assert_eq!(tree, expr, "{}", words),
            // The words of logic take no whole numbers, which operators of expressions combine bit by bit: the message
            // says how a formula does so.
            Err(wrong) => {
                let refused = wrong.to_string();
                prop_assert!(words != bits && refused.contains("it takes conditions"), "{}: {}", words, refused);
                prop_assert!(["&", "|", "~"].iter().any(|bits| refused.contains(&format!("write {bits} for"))), "{}", refused);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        survives(&text, Purpose::Column);
        survives(&text, Purpose::Filter);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..24)) {
        survives(&words.join(" "), Purpose::Column);
        survives(&words.concat(), Purpose::Filter);
    }

    #[test]
    fn a_formula_cut_or_changed_does_no_harm((text, _) in pair(), at in any::<prop::sample::Index>(), other in "\\PC") {
        let characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let cut: String = characters[..at].iter().collect();
        survives(&cut, Purpose::Column);
        let rest: String = characters[at + 1..].iter().collect();
        survives(&format!("{cut}{other}{rest}"), Purpose::Filter);
    }
}

const WORDS: &[&str] = &[
    "X",
    "Y",
    "S",
    "T",
    "B",
    "X_",
    "i",
    "ii",
    "k",
    "limit",
    "wanted",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "==",
    "!=",
    "<",
    "<=",
    "=",
    "&&",
    "||",
    "!",
    "~",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "?",
    ":",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "in",
    "not",
    "icase",
    "includes",
    "any",
    "all",
    "and",
    "or",
    "null",
    "true",
    "1",
    "2L",
    "0x1F",
    "3.5f",
    "1e308",
    "`a`",
    "'x'",
    "'2025-01-01'",
    "'PT1S'",
    "'P1M'",
    "(int)",
    "(String)",
    "abs(",
    "cast(",
    "Int32",
    "strict",
    "lowerBin(",
    "ifelse(",
    "startsWith(",
    "matches(",
    "substring(",
    "length()",
    "plus(",
    "hourOfDay(",
    "col(",
    "9223372036854775807",
    "18446744073709551615",
    "MINUTE",
    "NULL_INT",
    "NAN_DOUBLE",
];

#[test]
fn the_parts_of_a_long_chain_share_its_text() {
    let instants = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None);
    let schema = Schema::new(vec![
        Field::new("t", instants, true),
        Field::new("d", DataType::Duration(arrow_schema::TimeUnit::Nanosecond), true),
    ]);
    let (values, functions) = (HashMap::new(), HashMap::new());
    let names = Names { columns: Some(&schema), values: &values, functions: &functions, sets: &HashMap::new() };
    let text = format!("t{}", " + d".repeat(10_000));
    let formula = Formula::parse(&text, Purpose::Column).unwrap();
    let checked = formula.check(&names, &schema).unwrap();
    let bound = checked.bound();
    let texts: std::collections::HashSet<*const u8> =
        bound.nodes.iter().filter(|node| node.text.len() > 1_000).map(|node| node.text.as_ptr()).collect();
    assert_eq!((bound.nodes.len(), texts.len()), (10_002, 1));
}
