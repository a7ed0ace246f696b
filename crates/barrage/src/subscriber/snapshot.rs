//! The rows that there are, once, for those who do not follow.

use engine::ColumnSet;
use rowset::RowSet;

use super::window;
use crate::metadata::{SnapshotRequest, UpdateMetadata};
use crate::train::Train;

impl Train {
    /// The answer to a request for the rows of a table as they are at a step, which is -1 for a static table. Rows are told
    /// by their keys, also those of a viewport.
    pub fn of_snapshot(request: &SnapshotRequest, width: usize, step: i64, rows: &RowSet) -> Train {
        let columns = match &request.columns {
            None => ColumnSet::all(width),
            Some(columns) => columns.iter().filter(|column| *column < width).collect(),
        };
        let included = match &request.viewport {
            None => rows.clone(),
            Some(viewport) => window::of(rows, viewport, request.reverse_viewport),
        };
        let metadata = UpdateMetadata {
            first_seq: step,
            last_seq: step,
            is_snapshot: true,
            effective_viewport: request.viewport.clone(),
            effective_reverse_viewport: request.reverse_viewport && request.viewport.is_some(),
            effective_columns: request.columns.as_ref().map(|_| columns.clone()),
            added: Some(rows.clone()),
            added_included: Some(included.clone()),
            shifts: Some(Vec::new()),
            table_size: rows.len() as i64,
            ..UpdateMetadata::default()
        };
        Train::new(metadata, columns, included, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use rowset::Positions;

    use super::*;

    #[test]
    fn a_snapshot_has_all_keys_and_the_cells_that_were_asked_for() {
        let rows: RowSet = [3, 5, 8, 13].into_iter().collect();
        let all = Train::of_snapshot(&SnapshotRequest::default(), 2, 7, &rows);
        let metadata = all.metadata().expect("it is not sent yet");
        assert_eq!((metadata.first_seq, metadata.added_rows(), metadata.modified_rows()), (7, 4, 0));
        assert!(metadata.effective_viewport.is_none() && metadata.effective_columns.is_none());
        let viewport = Some(Positions(RowSet::range(0, 1)));
        let request = SnapshotRequest { viewport, reverse_viewport: true, ..SnapshotRequest::default() };
        let part = Train::of_snapshot(&request, 2, -1, &rows);
        let metadata = part.metadata().expect("it is not sent yet");
        assert_eq!(metadata.added, Some(rows));
        assert_eq!(metadata.added_included, Some([8, 13].into_iter().collect()));
        assert!(metadata.effective_reverse_viewport);
    }
}
