//! How many rows each table has that a session holds: at first, and again when it has changed.
//!
//! Sizes are looked at a few times a second while a client asks for them; no cycle knows of it.

use std::collections::HashMap;
use std::time::Duration;

use tonic::Status;

use crate::catalog::Object;
use crate::context::{Context, blocking};
use crate::frames::{Answers, Message, answered, framed};
use crate::proto::{TableUpdates, Ticket};
use crate::race::{First, first};
use crate::tickets::Named;
use crate::trouble::shown;

/// Messages that wait for a client to read.
const AHEAD: usize = 64;
/// How often tables that may change are looked at.
const EACH: Duration = Duration::from_millis(250);

/// What was told last of a table: its size, or that it failed.
type Told = HashMap<i32, Result<u64, String>>;

/// What is news of the tables, and whether any of them may change.
fn news(tables: Vec<(i32, Object)>, told: &mut Told) -> (Vec<Message>, bool) {
    let mut messages = Vec::new();
    let mut live = false;
    let tables: HashMap<i32, _> = tables.into_iter().filter_map(|(id, object)| Some((id, object.table()?))).collect();
    told.retain(|id, _| tables.contains_key(id));
    for (id, table) in tables {
        live |= table.is_live();
        if !table.is_live() && told.contains_key(&id) {
            continue;
        }
        let size = table.rows().map(|rows| rows.len()).map_err(|error| error.to_string());
        if told.get(&id) == Some(&size) {
            continue;
        }
        messages.push(framed(&TableUpdates {
            export_id: Some(Ticket { ticket: Named::Export(id).ticket() }),
            size: size.as_ref().map_or(0, |size| *size as i64),
            update_failure_message: size.as_ref().err().cloned().map(shown).unwrap_or_default(),
        }));
        told.insert(id, size);
    }
    (messages, live)
}

/// The sizes of what a session holds.
pub(crate) fn follow(context: Context) -> Answers {
    answered(AHEAD, |send| async move {
        let mut changes = context.session.exports.changes();
        let mut told = Told::new();
        loop {
            changes.mark_unchanged();
            let ready = context.session.exports.ready();
            let (back, messages, live) = blocking(move || {
                let (messages, live) = news(ready, &mut told);
                Ok((told, messages, live))
            })
            .await?;
            told = back;
            for message in messages {
                if send.send(Ok(message)).await.is_err() {
                    return Ok(());
                }
            }
            let tick = async {
                tokio::time::sleep(EACH).await;
                if !live {
                    std::future::pending::<()>().await;
                }
            };
            let ended = async { first(context.session.over(), context.shared.stopped()).await };
            let quiet = async { first(send.closed(), ended).await };
            match first(first(tick, changes.changed()), quiet).await {
                First::Left(_) => {}
                First::Right(_) => return Ok::<(), Status>(()),
            }
        }
    })
}
