//! Plans: what was asked for as a value ([`Plan`], made of [`Op`]s), how it is written ([`Plan::to_json`]), and how tables are
//! made of it ([`apply`], [`Plan::run`]). A plan knows no table and no graph; what needs several operations is in [`lower`].

mod apply;
#[cfg(any(test, feature = "testing"))]
mod asking;
pub(crate) mod bounds;
pub(crate) mod closing;
mod document;
mod explain;
mod fuse;
pub(crate) mod input;
pub(crate) mod lift;
mod lower;
pub(crate) mod node;
mod op;
mod optimize;
mod run;
mod sets;
pub(crate) mod spec;
pub(crate) mod standing;
pub(crate) mod update_by;
mod watermarks;

pub use apply::apply;
#[cfg(any(test, feature = "testing"))]
pub use asking::{aggregate, columns, distinct, filtered, natural_join};
pub use bounds::{GroupBounds, RowBounds, WhenFull};
pub use closing::{Closing, Emit, Late};
pub use explain::{Drawing, draw};
#[cfg(any(test, feature = "testing"))]
pub use fuse::passes;
pub use input::Input;
pub use lower::{ColumnOptions, live_set};
pub use node::{Listed, Nodes, Plan};
pub use op::Op;
pub use optimize::Fired;
pub use spec::{
    AsofOptions, Bound, EquiOptions, ExplodeOptions, Extent, How, InputColumns, Keep, Label, Matches, Materialization,
    Member, NowOptions, PivotOptions, RangeEnd, RangeOptions, Recent, RollingOptions, SessionOptions, SortBy, Strategy,
    Tolerance, Validate, WindowOptions,
};
pub use standing::StandingGroups;
pub use update_by::{BadData, Clock, Control, Cumulative, Decay, Operator, OperatorKind, RunningKind};
