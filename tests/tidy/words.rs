//! Comments that stand alone: each begins with its own subject, and gives a reason instead of a number.

use super::{assert_none, read, with_extension};

/// Whether a text names a decision by its number alone; a record is linked by its path.
fn names_a_decision(text: &str) -> bool {
    let lower = text.to_lowercase();
    let rest = |at: usize| lower[at + "decision".len()..].trim_start_matches('s').strip_prefix(' ');
    lower
        .match_indices("decision")
        .any(|(at, _)| rest(at).is_some_and(|rest| rest.starts_with(|c: char| c.is_numeric())))
}

/// Lines at which a doc comment begins with "The same": whoever reads it would have to read the one before.
fn leaning_comments(text: &str) -> Vec<usize> {
    let doc = |line: &str| ["///", "//!"].into_iter().find(|marker| line.trim_start().starts_with(marker));
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: usize| at == 0 || doc(lines[at]) != doc(lines[at - 1]);
    let leans = |line: &str| doc(line).is_some_and(|marker| has_first_words(line.trim_start(), marker));
    (0..lines.len()).filter(|at| begins(*at) && leans(lines[*at])).map(|at| at + 1).collect()
}

fn has_first_words(line: &str, marker: &str) -> bool {
    line[marker.len()..]
        .trim_start()
        .strip_prefix("The same")
        .is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
}

#[test]
fn comments_stand_alone() {
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let leaning = leaning_comments(&read(&path));
        wrong.extend(leaning.into_iter().map(|line| format!("{}:{line}: begins with \"The same\"", path.display())));
    }
    let pages = ["rs", "md", "py", "pyi"].into_iter().flat_map(with_extension);
    for path in pages.filter(|path| !path.starts_with("docs/decisions")) {
        let text = read(&path);
        let named = text.lines().enumerate().filter(|(_, line)| names_a_decision(line));
        wrong.extend(named.map(|(at, _)| format!("{}:{}: a decision by its number", path.display(), at + 1)));
    }
    assert_none("say the subject, and the reason itself", wrong);
}

#[test]
fn leaning_comments_are_found() {
    let text = "/// A word.\n/// The same line.\nfn a() {}\n    /// The same for b.\nfn b() {}\n//! The samewise.\n";
    assert_eq!(leaning_comments(text), [4]);
    assert!(names_a_decision(&format!("(decision {})", 17)) && names_a_decision(&format!("Decisions {}", 3)));
    assert!(!names_a_decision("the decision is docs/decisions/017-x.md"));
}
