//! The sources, one file each: what was written in, what stands there after the step out.

mod append;
mod blink;
mod input;
mod keyed;
mod time;

pub use append::AppendSource;
pub use blink::BlinkSource;
pub use input::{InputSource, InputStep};
pub use keyed::{KeyedSource, KeyedWrite};
pub use time::TimeSource;
