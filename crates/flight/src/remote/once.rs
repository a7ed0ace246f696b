//! Rows of a table of a server as they are now, as a static table here: each message a piece of it, none of them copied.

use std::sync::Arc;

use arrow_schema::Field;
use barrage::{Metadata, SnapshotOptions, SnapshotRequest, from_wire};
use engine::sources::from_chunks;
use engine::{ColumnSet, Table};

use super::RemoteError;
use super::follow::{Followed, opened, received, unfit};
use super::peer::Peer;
use super::viewport::Viewport;
use crate::tickets::Named;

/// Asks once.
pub(super) async fn once(peer: &Peer, wanted: &Followed) -> Result<Table, RemoteError> {
    let width = wanted.whole.fields().len();
    let columns = (wanted.columns.len() < width).then(|| wanted.columns.iter().copied().collect::<ColumnSet>());
    let request = SnapshotRequest {
        ticket: Named::Scope(wanted.name.clone()).ticket().to_vec(),
        columns,
        viewport: wanted.viewport.map(Viewport::positions),
        options: SnapshotOptions::default(),
        reverse_viewport: wanted.viewport.is_some_and(Viewport::counts_from_end),
    };
    let mut exchange = peer.exchange(Metadata::Snapshot(request)).await?;
    let mut receiver = opened(peer, &mut exchange, wanted).await?;
    let update = received(peer, &mut exchange, &mut receiver, wanted).await?;
    let pieces = |(place, field): (&usize, &Arc<Field>)| {
        update.added[*place].iter().map(|piece| from_wire(piece, field.data_type())).collect::<Result<Vec<_>, _>>()
    };
    let cells = wanted.columns.iter().zip(wanted.schema.fields()).map(pieces);
    let cells = cells.collect::<Result<Vec<_>, _>>().map_err(|error| unfit(wanted, error))?;
    from_chunks(wanted.schema.clone(), cells, update.metadata.added_rows()).map_err(RemoteError::Engine)
}
