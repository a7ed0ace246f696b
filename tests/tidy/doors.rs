//! The door of a crate: the names that its `lib.rs` opens. A door has no more than others use, and widens only here.

use std::path::{Path, PathBuf};

use super::{FLOORS, assert_none, code_of, has_word, read, with_extension};

/// How many names each crate opens: modules, and what is re-exported. A new name is worth a line of a change here; one
/// that goes lowers the number.
const DOORS: &[(&str, usize)] = &[
    ("barrage", 38),
    ("column", 28),
    ("durable", 18),
    ("engine", 46),
    ("files", 19),
    ("flight", 29),
    ("formula", 44),
    ("graph", 37),
    ("limits", 13),
    ("log", 20),
    ("memory", 0),
    ("messages", 6),
    ("model", 15),
    ("native", 0),
    ("rowset", 13),
    ("simd", 2),
];

/// The names that a `lib.rs` opens, in the order of the file. What a folder in the file opens counts as its module.
fn opened(lib: &str) -> Vec<String> {
    let code = code_of(lib);
    let mut names = Vec::new();
    let mut depth = 0;
    let mut statement = String::new();
    for letter in code.chars() {
        match letter {
            '{' if !statement.trim_start().starts_with("pub use") => {
                if depth == 0 {
                    names.extend(module(&statement));
                }
                depth += 1;
                statement.clear();
            }
            '}' if depth > 0 && !statement.contains('{') => {
                depth -= 1;
                statement.clear();
            }
            ']' if statement.trim_start().starts_with('#') => statement.clear(),
            ';' => {
                if depth == 0 {
                    names.extend(module(&statement));
                    names.extend(used(&statement));
                }
                statement.clear();
            }
            other => statement.push(other),
        }
    }
    names
}

/// The module that a statement opens.
fn module(statement: &str) -> Option<String> {
    let name = statement.trim().strip_prefix("pub mod ")?;
    Some(name.trim().to_owned())
}

/// The names that a `pub use` passes on.
fn used(statement: &str) -> Vec<String> {
    let Some(path) = statement.trim().strip_prefix("pub use ") else { return Vec::new() };
    let names = match path.split_once('{') {
        Some((_, names)) => names.trim_end().trim_end_matches('}').to_owned(),
        None => path.rsplit("::").next().unwrap_or_default().to_owned(),
    };
    let name = |part: &str| {
        let shown = part.rsplit(" as ").next().unwrap_or_default();
        shown.rsplit("::").next().unwrap_or_default().trim().to_owned()
    };
    names.split(',').map(name).filter(|name| !name.is_empty()).collect()
}

/// Whether a line of the crate lets others meet a type without naming it: in a signature, a field or a variant.
fn is_signature(line: &str, name: &str) -> bool {
    let line = line.trim();
    let defines = ["struct ", "enum ", "trait ", "type "].iter().any(|kind| line.contains(&format!("{kind}{name}")));
    let variant = line.starts_with(char::is_uppercase) && line.contains('(');
    let open = line.starts_with("pub ") && !line.starts_with("pub use") || line.contains("-> ") || variant;
    !defines && open && has_word(line, name)
}

#[test]
fn a_door_opens_what_others_use() {
    let all: Vec<(PathBuf, String)> =
        with_extension("rs").into_iter().map(|path| (path.clone(), code_of(&read(&path)))).collect();
    let mut wrong = Vec::new();
    for (name, ..) in FLOORS {
        let source = Path::new("crates").join(name).join("src");
        let names = opened(&read(&source.join("lib.rs")));
        match DOORS.iter().find(|(known, _)| known == name) {
            Some((_, most)) if names.len() == *most => {}
            known => wrong.push(format!("{name} opens {} names, and its line in DOORS says {known:?}", names.len())),
        }
        let (own, others): (Vec<_>, Vec<_>) = all.iter().partition(|(path, _)| path.starts_with(&source));
        for opened in names {
            let is_type = opened.starts_with(char::is_uppercase) && opened.chars().any(char::is_lowercase);
            let named = || own.iter().any(|(_, code)| code.lines().any(|line| is_signature(line, &opened)));
            let is_used = others.iter().any(|(_, code)| has_word(code, &opened));
            if !is_used && (!is_type || !named()) {
                wrong.push(format!("{name} opens {opened}, which nobody else uses"));
            }
        }
    }
    assert_none("doors", wrong);
}

#[test]
fn a_door_is_read_as_rust_reads_it() {
    let lib = "//! pub mod no;\nmod own;\npub mod a;\n#[cfg(test)]\npub mod b {\n    pub use x::{Inner, Other};\n    pub use y::More;\n}\n\
               pub use own::{One, deep::two as three};\npub use own::Four;\npub(crate) use own::Five;\n";
    assert_eq!(opened(lib), ["a", "b", "One", "three", "Four"]);
}
