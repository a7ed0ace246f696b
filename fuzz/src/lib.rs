//! The fuzz targets, one function each. `fuzz/run` feeds them inputs from a coverage-guided search; the ordinary tests
//! feed them the corpus, and mutations of each of its files (`tests/fuzzed.rs`).
//!
//! A target panics if something is wrong. It depends on nothing but its input: no clock, no machine, no other case.

pub mod bodies;
pub mod calls;
pub mod casts;
pub mod cells;
pub mod credentials;
pub(crate) mod decoders;
pub mod exchange;
pub mod expressions;
pub mod files;
pub mod folders;
pub mod formulas;
pub mod logs;
pub mod pages;
pub mod plans;
pub mod reader;
pub mod requests;
pub mod scope;
pub(crate) mod scratch;
pub mod sessions;
pub mod tickets;
pub mod world;

/// A target: any bytes are a case of it.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder in the corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("apply", calls::apply),
    ("bodies", bodies::bodies),
    ("casts", casts::casts),
    ("credentials", credentials::credentials),
    ("expressions", expressions::expressions),
    ("files", |bytes| _ = files::files(bytes)),
    ("folders", |bytes| _ = folders::folders(bytes)),
    ("formulas", formulas::formulas),
    ("logs", logs::logs),
    ("metadata", |bytes| _ = exchange::metadata(bytes)),
    ("pages", pages::pages),
    ("plans", plans::plans),
    ("requests", requests::requests),
    ("roaring", |bytes| _ = exchange::roaring(bytes)),
    ("rows", |bytes| _ = exchange::rows(bytes)),
    ("sessions", sessions::sessions),
    ("shifts", |bytes| _ = exchange::shifts(bytes)),
    ("tickets", tickets::tickets),
    ("trees", expressions::trees),
    ("updates", |bytes| _ = exchange::updates(bytes)),
];

/// Gives bytes to the target of this name.
///
/// # Panics
/// Where the target finds something wrong, or there is no such target.
pub fn call(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    target(bytes);
}
