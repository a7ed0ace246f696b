//! Import circles: files of a crate that use each other in a ring are one file in several pieces.
//!
//! A path is followed as the compiler does it, through folders and re-exports, to the file that defines the name. A
//! re-export is no use: a folder's `mod.rs` may open what its files define.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{assert_none, code_of, read, with_extension};

/// Crates whose files are one protocol, told as a whole in their README.
const ONE_PROTOCOL: &[&str] = &["graph"];
/// Two files that use each other are a type and its parts. So are a folder's root and the files below it.
const MOST: usize = 2;
/// Crates with rings that are still to be cut, and how many files these have together. It may only fall.
const LEFT: &[(&str, usize)] = &[];

type Segments = Vec<String>;

/// A file as a module of its crate.
struct Module {
    file: PathBuf,
    /// What it uses, as paths from the root of the crate.
    uses: Vec<Segments>,
    /// Names that it passes on, and where they come from.
    exports: BTreeMap<String, Segments>,
    /// Modules whose every name it passes on.
    globs: Vec<Segments>,
}

fn segments(text: &str) -> Segments {
    text.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The module of a file; None of tests, which may look at anything.
fn module_of(source: &Path, file: &Path) -> Option<Segments> {
    let inside = file.strip_prefix(source).ok()?;
    let mut path: Segments = inside.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_test = |part: &String| ["tests", "testing", "laws"].contains(&part.as_str()) || part.ends_with("_tests");
    if path.iter().any(is_test) {
        return None;
    }
    if path.last().is_some_and(|last| last == "mod" || (last == "lib" && path.len() == 1)) {
        path.pop();
    }
    Some(path)
}

/// Code without modules of tests: from `#[cfg(test)]` before a `mod` with a body to the end of that body.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        rest = &rest[at + "#[cfg(test)]".len()..];
        let (open, end) = (rest.find('{'), rest.find(';'));
        let Some(open) = open.filter(|open| end.is_none_or(|end| *open < end)) else { continue };
        let mut depth = 0;
        let close = rest[open..].char_indices().find_map(|(at, letter)| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            (depth == 0).then_some(open + at + 1)
        });
        rest = close.map_or("", |close| &rest[close..]);
    }
    kept + rest
}

/// All paths of a tree of imports, with the names under which they come in.
fn leaves(tree: &str, before: &[String], found: &mut Vec<(Segments, String)>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let prefix: Segments = before.iter().cloned().chain(segments(&tree[..open])).collect();
        let body = tree[open + 1..].trim_end().trim_end_matches('}');
        let mut depth = 0;
        let mut start = 0;
        for (at, letter) in body.char_indices().chain([(body.len(), ',')]) {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            if letter == ',' && depth == 0 {
                if !body[start..at].trim().is_empty() {
                    leaves(&body[start..at], &prefix, found);
                }
                start = (at + 1).min(body.len());
            }
        }
        return;
    }
    let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim())));
    let mut path: Segments = before.iter().cloned().chain(segments(path)).collect();
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = name.map_or_else(|| path.last().cloned().unwrap_or_default(), str::to_owned);
    found.push((path, name));
}

/// A path from the root of the crate, if it begins at a place in the crate.
fn from_root(path: &[String], module: &[String]) -> Option<Segments> {
    let mut base: Segments = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    let mut rest = &path[1..];
    while rest.first().is_some_and(|next| next == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    Some(base.into_iter().chain(rest.iter().cloned()).collect())
}

/// Paths in code that begin at `crate` or `super`, outside of imports.
fn inline_paths(code: &str) -> Vec<Segments> {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].chars().next_back().is_some_and(|letter| part(letter) || letter == ':') {
                continue;
            }
            let end = code[at..].find(|letter| !part(letter) && letter != ':').map_or(code.len(), |end| at + end);
            found.push(segments(&code[at..end]));
        }
    }
    found
}

fn parsed(file: &Path, module: &[String], children: &BTreeSet<String>) -> Module {
    let code = without_tests(&code_of(&read(file)));
    let mut made = Module { file: file.to_owned(), uses: Vec::new(), exports: BTreeMap::new(), globs: Vec::new() };
    let mut rest = String::new();
    for statement in code.split_inclusive([';', '}']) {
        rest.push_str(statement);
    }
    let mut outside = String::new();
    let mut left = rest.as_str();
    while let Some(at) = left.find("use ") {
        let line = left[..at].rfind('\n').map_or(0, |end| end + 1);
        let visible = left[line..at].trim();
        let is_import = visible.is_empty() || (visible.starts_with("pub") && !visible.contains([' ', '=']));
        let Some(end) = left[at..].find(';').filter(|_| is_import) else {
            outside.push_str(&left[..at + 4]);
            left = &left[at + 4..];
            continue;
        };
        outside.push_str(&left[..at]);
        let mut found = Vec::new();
        leaves(&left[at + 4..at + end], &[], &mut found);
        for (path, name) in found {
            let own = path.first().is_some_and(|first| children.contains(first));
            let path = if own { Some(module.iter().cloned().chain(path).collect()) } else { from_root(&path, module) };
            let Some(mut path): Option<Segments> = path else { continue };
            match (visible.is_empty(), name.as_str()) {
                (false, "*") => {
                    path.pop();
                    made.globs.push(path);
                }
                (false, _) => {
                    made.exports.insert(name, path);
                }
                (true, _) => made.uses.push(path),
            }
        }
        left = &left[at + end + 1..];
    }
    outside.push_str(left);
    made.uses.extend(inline_paths(&outside).iter().filter_map(|path| from_root(path, module)));
    made
}

/// The module that defines what a path leads to.
fn definer(modules: &BTreeMap<Segments, Module>, path: &[String], depth: usize) -> Option<Segments> {
    let mut at: Segments = Vec::new();
    for (index, name) in path.iter().enumerate() {
        let below: Segments = at.iter().cloned().chain([name.clone()]).collect();
        if modules.contains_key(&below) {
            at = below;
            continue;
        }
        let here = &modules[&at];
        let follow = |start: &Segments, rest: &[String]| {
            let whole: Segments = start.iter().chain(rest).cloned().collect();
            definer(modules, &whole, depth + 1)
        };
        if depth < 8 {
            if let Some(start) = here.exports.get(name) {
                return follow(start, &path[index + 1..]);
            }
            let passed = |glob: &&Segments| {
                let text = modules.get(*glob).map(|module| code_of(&read(&module.file))).unwrap_or_default();
                ["struct", "enum", "fn", "trait", "type", "const", "static", "macro_rules!"]
                    .iter()
                    .any(|kind| text.contains(&format!("{kind} {name}")))
            };
            if let Some(glob) = here.globs.iter().find(passed) {
                return follow(glob, &path[index..]);
            }
        }
        return Some(at);
    }
    Some(at)
}

/// The rings of a graph: sets of places from each of which every other can be reached.
fn rings(edges: &BTreeMap<Segments, BTreeSet<Segments>>) -> Vec<BTreeSet<Segments>> {
    let reached = |from: &Segments| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(edges.get(at).into_iter().flatten().filter(|next| seen.insert((*next).clone())));
        }
        seen
    };
    let reach: BTreeMap<&Segments, BTreeSet<Segments>> = edges.keys().map(|from| (from, reached(from))).collect();
    let mut found: Vec<BTreeSet<Segments>> = Vec::new();
    for (from, seen) in &reach {
        let ring: BTreeSet<Segments> =
            seen.iter().filter(|to| reach.get(to).is_some_and(|back| back.contains(*from))).cloned().collect();
        if ring.len() > MOST && !found.contains(&ring) {
            found.push(ring);
        }
    }
    found
}

fn modules_of(name: &str) -> BTreeMap<Segments, Module> {
    let source = Path::new("crates").join(name).join("src");
    let files: BTreeMap<Segments, PathBuf> = with_extension("rs")
        .into_iter()
        .filter(|file| file.starts_with(&source))
        .filter_map(|file| Some((module_of(&source, &file)?, file)))
        .collect();
    let children = |module: &Segments| {
        let below = |other: &&Segments| other.len() == module.len() + 1 && other.starts_with(module);
        files.keys().filter(below).filter_map(|other| other.last().cloned()).collect()
    };
    files.iter().map(|(module, file)| (module.clone(), parsed(file, module, &children(module)))).collect()
}

#[test]
fn no_files_use_each_other_in_a_ring() {
    let mut wrong = Vec::new();
    for (name, ..) in super::FLOORS.iter().filter(|(name, ..)| !ONE_PROTOCOL.contains(name)) {
        let modules = modules_of(name);
        let mut edges: BTreeMap<Segments, BTreeSet<Segments>> = BTreeMap::new();
        for (module, parsed) in &modules {
            let to = parsed.uses.iter().filter_map(|path| definer(&modules, path, 0));
            let to = to.filter(|to| !module.starts_with(to));
            edges.insert(module.clone(), to.collect());
        }
        let found = rings(&edges);
        let files: usize = found.iter().map(BTreeSet::len).sum();
        if LEFT.iter().any(|(left, most)| left == name && *most == files) {
            continue;
        }
        for ring in found {
            let shown = |module: &Segments| {
                let to: Vec<String> = edges[module].intersection(&ring).map(|to| to.join("::")).collect();
                format!("{} -> {}", modules[module].file.display(), to.join(", "))
            };
            let lines: Vec<String> = ring.iter().map(shown).collect();
            wrong.push(format!("{name}, {} files:\n    {}", ring.len(), lines.join("\n    ")));
        }
    }
    assert_none("files that use each other in a ring: cut the weakest tie, or move what both need below them", wrong);
}

#[test]
fn paths_are_followed_as_the_compiler_does() {
    let module = segments("a::b");
    assert_eq!(from_root(&segments("super::c::D"), &module), Some(segments("a::c::D")));
    assert_eq!(from_root(&segments("crate::x"), &module), Some(segments("x")));
    assert_eq!(from_root(&segments("std::x"), &module), None);
    let mut found = Vec::new();
    leaves("crate::{a::{self, B as C}, d}", &[], &mut found);
    let shown: Vec<String> = found.iter().map(|(path, name)| format!("{} {name}", path.join("::"))).collect();
    assert_eq!(shown, ["crate::a a", "crate::a::B C", "crate::d d"]);
    assert_eq!(inline_paths("x(crate::a::b(1), $crate::c, super::d)").len(), 3);
    assert_eq!(
        without_tests("a #[cfg(test)]\nmod tests { { x } } b #[cfg(test)] mod c; d").replace('\n', " "),
        "a  b  mod c; d"
    );
}

#[test]
fn a_ring_is_found_and_a_pair_is_none() {
    let edges = |pairs: &[(&str, &str)]| {
        let mut made: BTreeMap<Segments, BTreeSet<Segments>> = BTreeMap::new();
        for (from, to) in pairs {
            made.entry(segments(to)).or_default();
            made.entry(segments(from)).or_default().insert(segments(to));
        }
        made
    };
    assert!(rings(&edges(&[("a", "b"), ("b", "a"), ("b", "c")])).is_empty());
    assert_eq!(rings(&edges(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])).len(), 1);
}
