//! Functions of strings.

use arrow_array::ArrayRef;

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Text};
use crate::tree::literal::Literal;

fn words() -> Vec<(&'static str, ArrayRef)> {
    vec![("s", texts([Some("Ünïcödé and more than twelve"), Some(""), None, Some("  ab "), Some("日本語")]))]
}

fn strings(expr: &Expr) -> Vec<String> {
    shown(&run(expr, &words()))
}

fn with(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    call(name, std::iter::once(col("s")).chain(args))
}

#[test]
fn lengths_and_case() {
    assert_eq!(strings(&with("str.len_chars", [])), ["28", "0", "null", "5", "3"]);
    assert_eq!(strings(&with("str.len_bytes", [])), ["32", "0", "null", "5", "9"]);
    assert_eq!(strings(&with("str.to_uppercase", []))[0], "ÜNÏCÖDÉ AND MORE THAN TWELVE");
    assert_eq!(strings(&with("str.to_lowercase", []))[0], "ünïcödé and more than twelve");
}

#[test]
fn finding() {
    let find = |pattern: &str, literal| {
        Expr::call(Function::Text(Text::Contains { literal }), vec![col("s"), lit(pattern)]).unwrap()
    };
    assert_eq!(strings(&find("and", false)), ["true", "false", "null", "false", "false"]);
    assert_eq!(strings(&find("^.{3}$", false)), ["false", "false", "null", "false", "true"]);
    assert_eq!(strings(&find("^.{3}$", true)), ["false", "false", "null", "false", "false"]);
    assert_eq!(strings(&find("", true)), ["true", "true", "null", "true", "true"]);
    assert_eq!(strings(&with("str.starts_with", [lit("日")])), ["false", "false", "null", "false", "true"]);
    assert_eq!(strings(&with("str.ends_with", [col("s")])), ["true", "true", "null", "true", "true"]);
    let error = bound(&find("(", false), &words()).unwrap_err().to_string();
    assert!(error.starts_with("str.contains: regex parse error"), "{error}");
    let error = bound(&with("str.contains", [col("s")]), &words()).unwrap_err().to_string();
    assert_eq!(error, "str.contains: the pattern must be a literal, not a column");
    // A pattern that would take exponential time to backtrack.
    let long = "a".repeat(5_000);
    let columns = [("s", texts([Some(long.as_str())]))];
    check(&call("str.contains", [col("s"), lit("(a*)*b")]), &columns, "false");
}

#[test]
fn parts() {
    let slice =
        |offset: i64, length: Option<i64>| with("str.slice", std::iter::once(lit(offset)).chain(length.map(lit)));
    assert_eq!(strings(&slice(1, Some(3))), ["nïc", "", "null", " ab", "本語"]);
    assert_eq!(strings(&slice(-2, None)), ["ve", "", "null", "b ", "本語"]);
    assert_eq!(strings(&slice(-5, Some(3))), ["wel", "", "null", "  a", "日"]);
    assert_eq!(strings(&slice(i64::MAX, Some(i64::MAX))), ["", "", "null", "", ""]);
    assert_eq!(strings(&slice(i64::MIN, Some(-1))), ["", "", "null", "", ""]);
    assert_eq!(strings(&with("str.head", [lit(2_i64)])), ["Ün", "", "null", "  ", "日本"]);
    assert_eq!(strings(&with("str.head", [lit(-2_i64)]))[4], "日");
    assert_eq!(strings(&with("str.tail", [lit(2_i64)])), ["ve", "", "null", "b ", "本語"]);
    assert_eq!(strings(&with("str.tail", [lit(-1_i64)]))[4], "本語");
    assert_eq!(strings(&with("str.tail", [lit(i64::MIN)]))[4], "");
}

#[test]
fn replacing_and_stripping() {
    assert_eq!(strings(&with("str.replace", [lit("[a-z]"), lit("<$0>")]))[3], "  <a>b ");
    assert_eq!(strings(&with("str.replace_all", [lit("[a-z]"), lit("<$0>")]))[3], "  <a><b> ");
    let literal = Function::Text(Text::ReplaceAll { literal: true });
    let expr = Expr::call(literal, vec![col("s"), lit(" "), lit("$0")]).unwrap();
    assert_eq!(strings(&expr)[3], "$0$0ab$0");
    assert_eq!(strings(&with("str.strip_chars", []))[3], "ab");
    assert_eq!(strings(&with("str.strip_chars_start", []))[3], "ab ");
    assert_eq!(strings(&with("str.strip_chars_end", [Expr::Literal(Literal::Null)]))[3], "  ab");
    assert_eq!(
        strings(&with("str.strip_chars", [lit("語 日b")])),
        ["Ünïcödé and more than twelve", "", "null", "a", "本"]
    );
    assert_eq!(strings(&with("str.strip_prefix", [lit("日本")]))[4], "語");
    assert_eq!(strings(&with("str.strip_suffix", [lit("語")]))[4], "日本");
}

#[test]
fn zeros_come_after_the_sign() {
    let columns = [("s", texts([Some("7"), Some("-7"), Some("+7"), Some("12345"), Some(""), None]))];
    check(&call("str.zfill", [col("s"), lit(4_i64)]), &columns, "0007 -007 +007 12345 0000 null");
}

#[test]
fn text_is_read_as_dates_and_instants() {
    let columns = [("s", texts([Some("2013-02-28"), Some("x"), None]))];
    let date = |strict| Expr::call(Function::Text(Text::ToDate { strict }), vec![col("s"), lit("%Y-%m-%d")]).unwrap();
    check(&date(false), &columns, "2013-02-28 null null");
    let error = try_run(&date(true), &columns).unwrap_err();
    assert_eq!((error.row, error.value.as_str()), (1, "\"x\""));
    let columns = [("s", texts([Some("2013-02-28 01:02:03"), Some("2013-02-28T01:02:03.5")]))];
    check(&call("str.to_datetime", [col("s")]), &columns, "2013-02-28T01:02:03 2013-02-28T01:02:03.500");
    for zoned in
        ["2013-02-28T01:02:03Z", "2013-02-28 01:02:03+02:00", "2013-02-28T01-05", "2013-02-28T01:02[Europe/Paris]"]
    {
        let error = try_run(&call("str.to_datetime", [col("s")]), &[("s", texts([Some(zoned)]))]).unwrap_err();
        assert!(error.message.contains("offset"), "an offset is not dropped in silence: {}", error.message);
    }
    let zoned = call("str.to_datetime", [col("s"), lit("%Y-%m-%d %H:%M:%S %z")]);
    check(&zoned, &[("s", texts([Some("2013-02-28 01:02:03 +0100")]))], "2013-02-28T00:02:03Z");
}

#[test]
fn text_is_written_in_an_encoding_and_read_of_it() {
    let columns = [("s", texts([Some(""), None, Some("ab"), Some("é"), Some("abc")]))];
    check(&call("str.encode", [col("s"), lit("hex")]), &columns, " null 6162 c3a9 616263");
    check(&call("str.encode", [col("s"), lit("base64")]), &columns, " null YWI= w6k= YWJj");
    for (encoding, right, wrong) in [
        ("hex", "aF0b", &["0", "abc", "g0", " 0a", "0a\n", "éé"][..]),
        ("base64", "YQ==", &["YQ", "YQ=", "Y", "Y!==", "YR=="]),
    ] {
        for wrong in wrong {
            let columns = [("s", texts([None, Some(right), Some(wrong)]))];
            let decode = |strict| {
                Expr::call(Function::Text(Text::Decode { strict }), vec![col("s"), lit(encoding)])
                    .expect("two arguments")
            };
            let kept = call("is_null", [decode(false)]);
            check(&kept, &columns, "true false true");
            let error = try_run(&decode(true), &columns).unwrap_err();
            assert_eq!(error.row, 2, "{wrong:?}");
            assert!(error.message.contains(encoding), "{}", error.message);
        }
    }
    let error = bound(&call("str.encode", [col("s"), lit("utf-8")]), &columns).unwrap_err().to_string();
    assert!(error.contains("\"utf-8\" is no encoding; choose among hex base64"), "{error}");
}

#[test]
fn only_strings_are_strings() {
    let columns = [("n", ints([Some(1)]))];
    let error = bound(&call("str.len_chars", [col("n")]), &columns).unwrap_err().to_string();
    assert_eq!(error, "str.len_chars does not take Int64: it takes strings; cast first with .cast(String)");
    let error = bound(&call("str.head", [lit("a")]), &columns).unwrap_err().to_string();
    assert_eq!(error, "str.head takes a string and a number of characters, not 1");
}

#[test]
fn padding_reversing_and_title_case() {
    assert_eq!(strings(&with("str.pad_start", [lit(5_i64), lit("*")]))[1..], ["*****", "null", "  ab ", "**日本語"]);
    assert_eq!(strings(&with("str.pad_end", [lit(4_i64)]))[1..], ["    ", "null", "  ab ", "日本語 "]);
    assert_eq!(strings(&with("str.pad_end", [lit(i64::MIN), lit("é")]))[4], "日本語");
    assert_eq!(strings(&with("str.pad_end", [Expr::Literal(Literal::Null)]))[4], "null");
    assert_eq!(strings(&with("str.reverse", []))[1..], ["", "null", " ba  ", "語本日"]);
    assert_eq!(strings(&with("str.to_titlecase", []))[0], "Ünïcödé And More Than Twelve");
    check(&call("str.to_titlecase", [col("s")]), &[("s", texts([Some("o'neil-2nd ßx"), None]))], "O'Neil-2nd SSx null");
    let error = bound(&with("str.pad_start", [lit("x")]), &words()).unwrap_err().to_string();
    assert!(error.contains("it counts in integers"), "{error}");
}

#[test]
fn searching() {
    let search = |function, pattern: &str| Expr::call(Function::Text(function), vec![col("s"), lit(pattern)]).unwrap();
    assert_eq!(strings(&search(Text::Find { literal: true }, "a")), ["12", "null", "null", "2", "null"]);
    assert_eq!(strings(&search(Text::Find { literal: false }, "[a本]")), ["12", "null", "null", "2", "3"]);
    assert_eq!(strings(&search(Text::IndexOf, "本")), ["-1", "-1", "null", "-1", "1"]);
    assert_eq!(strings(&search(Text::IndexOf, "")), ["0", "0", "null", "0", "0"]);
    assert_eq!(strings(&search(Text::CountMatches { literal: false }, "[a-e]")), ["8", "0", "null", "2", "0"]);
    assert_eq!(strings(&search(Text::CountMatches { literal: true }, "")), ["29", "1", "null", "6", "4"]);
    assert_eq!(strings(&search(Text::Extract { group: 1 }, "(本.)|a")), ["null", "null", "null", "null", "本語"]);
    assert_eq!(strings(&search(Text::Extract { group: 0 }, "a.")), ["an", "null", "null", "ab", "null"]);
    let error = bound(&search(Text::Extract { group: 2 }, "(a)"), &words()).unwrap_err().to_string();
    assert!(error.contains("has 1 groups, and no group 2"), "{error}");
    let empty = [("s", texts([]))];
    for function in ["str.to_uppercase", "str.reverse", "str.len_chars", "str.to_titlecase"] {
        assert_eq!(run(&call(function, [col("s")]), &empty).len(), 0);
    }
}

#[test]
fn case_and_length_of_ascii_and_of_slices() {
    let words = texts([Some("plain"), None, Some("Longer than TWELVE, but plain"), Some("")]);
    check(
        &call("str.to_uppercase", [col("s")]),
        &[("s", words.slice(0, 3))],
        "PLAIN null LONGER THAN TWELVE, BUT PLAIN",
    );
    check(&call("str.to_lowercase", [col("s")]), &[("s", words.slice(2, 2))], "longer than twelve, but plain ");
    check(&call("str.len_chars", [col("s")]), &[("s", words.slice(1, 3))], "null 29 0");
    let edges = texts([Some("ééééééx"), Some("日本語日"), Some("ééééééé"), Some("\u{10ffff}\u{7f}")]);
    check(&call("str.len_chars", [col("s")]), &[("s", edges)], "7 4 7 2");
}

#[test]
fn codes_of_a_dictionary_stand_for_their_values() {
    use arrow_array::{DictionaryArray, types::Int8Type};
    let codes: DictionaryArray<Int8Type> = [Some("b"), None, Some("a"), Some("b")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![("s", std::sync::Arc::new(codes))];
    check(&call("str.to_uppercase", [col("s")]), &columns, "B null A B");
    check(&call("==", [col("s"), lit("b")]), &columns, "true null false true");
    check(&call("is_null", [col("s")]), &columns, "false true false false");
    check(&call("<", [col("s"), lit("b")]), &columns, "false null true false");
    check(&call("fill_null", [col("s"), lit("?")]), &columns, "b ? a b");
}

#[test]
fn plain_patterns_replace_as_literals_do() {
    let replace = |function, pattern: &str, value: &str| {
        strings(&Expr::call(Function::Text(function), vec![col("s"), lit(pattern), lit(value)]).unwrap())
    };
    for (pattern, value) in [("a", "XX"), ("an", ""), ("本", "é"), ("", "-"), ("  ", " "), ("zzz", "y")] {
        let words = ["Ünïcödé and more than twelve", "", "  ab ", "日本語"];
        let all: Vec<String> = words.iter().map(|word| word.replace(pattern, value)).collect();
        let first: Vec<String> = words.iter().map(|word| word.replacen(pattern, value, 1)).collect();
        let without_null = |mut found: Vec<String>| {
            assert_eq!(found.remove(2), "null");
            found
        };
        for literal in [false, true] {
            assert_eq!(
                without_null(replace(Text::ReplaceAll { literal }, pattern, value)),
                all,
                "{pattern:?} {literal}"
            );
            assert_eq!(
                without_null(replace(Text::Replace { literal }, pattern, value)),
                first,
                "{pattern:?} {literal}"
            );
        }
    }
    assert_eq!(replace(Text::ReplaceAll { literal: false }, "a", "$0$0")[0], "Ünïcödé aand more thaan twelve");
}
