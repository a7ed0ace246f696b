//! The house rules that a compiler does not know: who may lean on whom, what every file begins
//! with, where `unsafe` may stand, that every operation has its law, that links lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

mod circles;
mod doors;
mod words;

/// Each crate, the crates of ours it may use, and the names from outside. Arrow's data crates are
/// open to every floor from `column` up.
const FLOORS: &[(&str, &[&str], &[&str])] = &[
    ("limits", &[], &[]),
    ("simd", &["limits"], &[]),
    ("memory", &["limits"], &[]),
    ("log", &["limits"], &["crc32fast", "fastrand", "thiserror"]),
    (
        "messages",
        &["limits"],
        &["arrow-array", "arrow-buffer", "arrow-ipc", "arrow-schema", "flatbuffers", "thiserror"],
    ),
    ("rowset", &["limits", "simd"], &["roaring", "thiserror"]),
    ("graph", &["limits"], &["rayon", "thiserror", "loom", "shuttle"]),
    (
        "column",
        &["limits", "simd", "rowset", "graph"],
        &["arrow-arith", "arrow-ord", "arrow-row", "foldhash", "hashbrown", "rayon", "thiserror"],
    ),
    (
        "formula",
        &["limits", "simd", "column"],
        &[
            "arrow-arith",
            "arrow-ord",
            "arrow-row",
            "arrow-string",
            "base64",
            "foldhash",
            "jiff",
            "memchr",
            "regex",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    (
        "engine",
        &["limits", "simd", "rowset", "graph", "column", "formula"],
        &[
            "arrow-arith",
            "arrow-ord",
            "arrow-row",
            "foldhash",
            "hashbrown",
            "rayon",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    (
        "durable",
        &["limits", "log", "messages", "rowset", "graph", "column", "engine"],
        &["arrow-ipc", "arrow-select", "serde", "serde_json", "thiserror"],
    ),
    (
        "files",
        &["limits", "messages", "rowset", "graph", "column", "formula", "engine"],
        &[
            "arrow-cast",
            "arrow-ipc",
            "arrow-json",
            "bytes",
            "flate2",
            "glob",
            "itoa",
            "memchr",
            "parquet",
            "ryu",
            "serde",
            "serde_json",
            "thiserror",
            "zstd",
        ],
    ),
    ("barrage", &["limits", "messages", "rowset", "engine"], &["arrow-ipc", "flatbuffers", "thiserror"]),
    (
        "flight",
        &["limits", "messages", "rowset", "graph", "column", "formula", "engine", "barrage"],
        &[
            "arrow-ipc",
            "arrow-row",
            "base64",
            "bytes",
            "getrandom",
            "http",
            "http-body",
            "hyper",
            "hyper-util",
            "prost",
            "rustls-native-certs",
            "thiserror",
            "tokio",
            "tokio-rustls",
            "tonic",
        ],
    ),
    (
        "native",
        &["limits", "memory", "log", "rowset", "graph", "column", "formula", "engine", "files", "durable", "flight"],
        &["arrow-arith", "arrow-ord", "arrow-row", "getrandom", "getrandom_02", "pyo3", "serde_json"],
    ),
    ("model", &[], &["syn"]),
];

const ARROW: &[&str] = &["arrow-array", "arrow-buffer", "arrow-cast", "arrow-data", "arrow-schema", "arrow-select"];

/// What a test or a bench may use besides.
const TEST_ONLY: &[&str] = &["criterion", "fastrand", "http-body-util", "proptest", "roaring"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the project").to_path_buf()
}

/// Every file of the project: what git knows or would take in, else what lies there.
fn files() -> Vec<PathBuf> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let listed: Vec<PathBuf> = match listing {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect()
        }
        _ => walk(&root()).into_iter().filter_map(|path| Some(path.strip_prefix(root()).ok()?.to_path_buf())).collect(),
    };
    listed.into_iter().filter(|path| root().join(path).is_file()).collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let hidden = |name: &str| {
        (name.starts_with('.') && name != ".ci") || ["target", "out", "data", "__pycache__"].contains(&name)
    };
    entries
        .iter()
        .filter(|entry| !hidden(&entry.file_name().to_string_lossy()))
        .flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

fn with_extension(extension: &str) -> Vec<PathBuf> {
    files().into_iter().filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// The text of a file; nothing if it is no text.
fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// One message with all that is wrong, so that one run tells everything.
fn assert_none(what: &str, wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

/// The names in a section of a manifest.
fn section(manifest: &str, name: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let head = line.trim_matches(['[', ']']);
            inside = head == name;
            if let Some(dependency) = head.strip_prefix(&format!("{name}.")) {
                found.insert(dependency.to_owned());
            }
        } else if inside && !line.starts_with('#') && line.contains('=') {
            let dependency = line.split(['=', '.']).next().unwrap_or_default().trim();
            found.insert(dependency.trim_matches('"').to_owned());
        }
    }
    found
}

#[test]
fn crates_lean_only_downwards() {
    let ours: BTreeSet<&str> = FLOORS.iter().map(|(name, ..)| *name).collect();
    let mut wrong = Vec::new();
    for path in files().iter().filter(|path| path.starts_with("crates") && path.ends_with("Cargo.toml")) {
        let name = path.components().nth(1).expect("a crate has a folder").as_os_str().to_string_lossy().into_owned();
        let Some((_, own, outside)) = FLOORS.iter().find(|(known, ..)| *known == name) else {
            wrong.push(format!("{name} stands on no floor: give it a line in FLOORS"));
            continue;
        };
        let manifest = read(path);
        for used in section(&manifest, "dependencies").union(&section(&manifest, "build-dependencies")) {
            let allowed = own.contains(&used.as_str())
                || outside.contains(&used.as_str())
                || (ARROW.contains(&used.as_str()) && !["rowset", "graph", "model"].contains(&name.as_str()));
            if !allowed {
                wrong.push(format!("{name} must not depend on {used}"));
            }
        }
        for used in section(&manifest, "dev-dependencies") {
            let lower = own.contains(&used.as_str()) || !ours.contains(used.as_str());
            let known = lower || used == "model" || used == name;
            let outside_known = ours.contains(used.as_str())
                || TEST_ONLY.contains(&used.as_str())
                || ARROW.contains(&used.as_str())
                || FLOORS.iter().any(|(_, _, outside)| outside.contains(&used.as_str()));
            if !known || !outside_known {
                wrong.push(format!("the tests of {name} must not depend on {used}"));
            }
        }
    }
    assert_none("wrong edges", wrong);
}

#[test]
fn manifests_are_read_as_cargo_reads_them() {
    let manifest = "[dependencies]\na = { workspace = true }\nb.workspace = true\n# c = 1\n[dependencies.d]\nversion = \"1\"\n[dev-dependencies]\ne = \"1\"\n";
    assert_eq!(section(manifest, "dependencies"), ["a", "b", "d"].map(String::from).into());
    assert_eq!(section(manifest, "dev-dependencies"), ["e"].map(String::from).into());
}

#[test]
fn every_rust_file_says_what_it_is() {
    let silent = |path: &PathBuf| !read(path).starts_with("//!");
    let wrong = with_extension("rs").into_iter().filter(silent).map(|path| path.display().to_string()).collect();
    assert_none("files that do not begin with //!", wrong);
}

/// Rust text without comments, and without what stands in quotes.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                letters.by_ref().take_while(|letter| *letter != '\n').for_each(drop);
                code.push('\n');
            }
            '"' => {
                let mut escaped = false;
                for inner in letters.by_ref() {
                    if inner == '\n' {
                        code.push('\n');
                    }
                    if inner == '"' && !escaped {
                        break;
                    }
                    escaped = inner == '\\' && !escaped;
                }
                code.push_str("\"\"");
            }
            // A quote in quotes would open a string that never ends.
            '\'' => {
                let rest: Vec<char> = letters.clone().take(3).collect();
                let skip = match rest[..] {
                    ['\\', _, '\''] => 3,
                    [_, '\'', ..] => 2,
                    _ => 0,
                };
                letters.by_ref().take(skip).for_each(drop);
            }
            _ => code.push(letter),
        }
    }
    code
}

fn has_word(code: &str, word: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].chars().next_back().is_some_and(part) && !code[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[test]
fn comments_and_strings_are_no_code() {
    let text = "let a = '\"'; // unsafe\nlet b = \"unsafe \\\" unsafe\"; call('\\'', 'x');\n";
    let code = code_of(text);
    assert!(!has_word(&code, "unsafe") && has_word(&code, "call"));
    assert!(has_word("x = unsafe { }", "unsafe") && !has_word("deny(unsafe_code)", "unsafe"));
}

#[test]
fn unsafe_code_stands_where_it_may_and_says_why() {
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        let code = code_of(&text);
        if !has_word(&code, "unsafe") {
            continue;
        }
        let open = ["crates/simd/", "crates/memory/", "crates/column/", "crates/native/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        if !open && path != Path::new("crates/rowset/src/kernels/mod.rs") {
            wrong.push(format!(
                "{}: unsafe code outside of simd, memory, column, native and the kernels of rowset",
                path.display()
            ));
        }
        for (at, line) in code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe") && line.contains('{')) {
            // An unsafe function or trait states its contract in its docs; its uses are the blocks.
            let is_block = line.contains("unsafe {") || line.contains("unsafe impl");
            let reason =
                lines[at.saturating_sub(8)..=at.min(lines.len() - 1)].iter().any(|line| line.contains("SAFETY:"));
            if is_block && !reason {
                wrong.push(format!("{}:{}: an unsafe block without a SAFETY: line", path.display(), at + 1));
            }
        }
    }
    assert_none("unsafe code", wrong);
}

/// What is not inlined into the loop of a width is compiled for the narrowest one, and nothing but its time tells.
#[test]
fn a_loop_that_is_compiled_for_several_widths_is_inlined() {
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let text = code_of(&read(&path));
        for (at, _) in text.match_indices("Loop for ").filter(|(at, _)| text[..*at].ends_with([' ', ':'])) {
            let body = text[at..].split("fn run").next().unwrap_or_default();
            if !body.trim_end().ends_with("#[inline(always)]") {
                let line = text[..at].lines().count();
                wrong.push(format!("{}:{line}: the `run` of a Loop without #[inline(always)]", path.display()));
            }
        }
    }
    assert_none("loops", wrong);
}

/// A law stands in the operation's own file, in a file whose name begins with its name, or, for a
/// family's `mod.rs`, anywhere in the family's folder.
#[test]
fn every_operation_has_its_law() {
    let folder = Path::new("crates/engine/src/ops");
    let ops: Vec<(PathBuf, String)> = with_extension("rs")
        .into_iter()
        .filter(|path| path.starts_with(folder))
        .map(|path| (path.clone(), read(&path)))
        .collect();
    let has_law = |text: &str| text.contains("fn law") || text.contains("_law(") || text.contains("_law_");
    let mut wrong = Vec::new();
    for (path, text) in ops.iter().filter(|(_, text)| text.contains("impl Operation for ")) {
        let stem = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let near = |(other, _): &&(PathBuf, String)| {
            let name = other.file_stem().expect("a file has a name").to_string_lossy();
            let same_folder = other.parent() == path.parent();
            same_folder && (stem == "mod" || name.starts_with(&stem)) || other.starts_with(path.with_extension(""))
        };
        if !has_law(text) && !ops.iter().filter(near).any(|(_, text)| has_law(text)) {
            wrong.push(path.display().to_string());
        }
    }
    assert_none("operations without a law test", wrong);
}

#[test]
fn nothing_is_left_undone() {
    let left = ["todo!", "dbg!", "unimplemented!"];
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let code = code_of(&read(&path));
        wrong.extend(left.iter().filter(|word| code.contains(*word)).map(|word| format!("{}: {word}", path.display())));
    }
    assert_none("left in the code", wrong);
}

/// The targets of `[text](target)` in a page, without what stands in fences or back-ticks.
fn links(page: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        for (at, _) in prose.match_indices("](") {
            let target: String = prose[at + 2..].chars().take_while(|letter| *letter != ')').collect();
            found.push(target.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for path in with_extension("md") {
        for target in links(&read(&path)) {
            let outside = target.contains("://") || target.starts_with("mailto:") || target.starts_with('#');
            let file = target.split('#').next().unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new(""));
            if !outside && !root().join(folder).join(file).exists() {
                wrong.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert_none("links to nowhere", wrong);
}

#[test]
fn links_are_found_in_prose_only() {
    let page = "[a](b.md) and `[c](d)` and [e](f/g.md#h \"title\")\n```\n[x](y)\n```\n";
    assert_eq!(links(page), ["b.md", "f/g.md#h"]);
}

/// Letters turned by thirteen places, so that this file does not hold what it looks for.
fn turned(word: &str) -> String {
    word.bytes()
        .map(
            |letter| {
                if letter.is_ascii_lowercase() { (b'a' + (letter - b'a' + 13) % 26) as char } else { letter as char }
            },
        )
        .collect()
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let places = ["/jbex/", "/ubzr/", "/ebbg/", "/hfref/"].map(turned);
    let names = ["pynhqr", "naguebcvp", "bcranv", "pungtcg", "tvguho pbcvybg", "trzvav", "yyz"].map(turned);
    let mut wrong = Vec::new();
    for path in files().iter().filter(|path| !path.ends_with("Cargo.lock")) {
        for (at, line) in read(path).lines().enumerate() {
            let lower = line.to_lowercase();
            let place = places.iter().find(|place| is_path_start(&lower, place));
            let name = names.iter().find(|name| has_word(&lower, name));
            if let Some(found) = place.or(name) {
                wrong.push(format!("{}:{}: {found}", path.display(), at + 1));
            }
        }
    }
    assert_none("absolute paths of a machine, or names of tools", wrong);
}

/// Whether a path begins here; `a/home/b` is only a part of one.
fn is_path_start(line: &str, place: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || "._-~/}$*".contains(letter);
    line.match_indices(place).any(|(at, _)| !line[..at].chars().next_back().is_some_and(part))
}
