//! Every interleaving of a few threads up to a number of preemptions, and every order of memory that the language
//! allows. The checker knows which events can matter to each other; what one thread alone touches costs it nothing.

mod protocol;
mod whole;

use loom::model::Builder;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `body` in every interleaving, and prints how many there are. The checker may take the turn `preemptions` times
/// from a thread that could go on; `TICKFRAME_PREEMPTIONS` says otherwise.
fn every_interleaving(preemptions: usize, name: &str, body: impl Fn() + Send + Sync + 'static) {
    let asked = std::env::var("TICKFRAME_PREEMPTIONS").ok();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(asked.map_or(preemptions, |text| text.parse().expect("a number of preemptions")));
    builder.max_branches = 100_000;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    });
    println!("{name}: {} interleavings", runs.load(Ordering::Relaxed));
}
