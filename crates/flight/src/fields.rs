//! What the scope holds, told to whoever asks: all of it at first, then what changes.

use std::collections::BTreeMap;

use crate::context::{Context, SCOPE};
use crate::frames::{Answers, answered, framed};
use crate::proto::{FieldInfo, FieldsChange, Ticket, TypedTicket};
use crate::race::{First, first};
use crate::tickets::Named;

/// Messages that wait for a client to read.
const AHEAD: usize = 4;

/// What is told of a name of the scope.
pub(crate) fn info(name: &str, kind: &str) -> FieldInfo {
    let ticket = Some(Ticket { ticket: Named::Scope(name.to_owned()).ticket() });
    FieldInfo {
        typed_ticket: Some(TypedTicket { ticket, kind: kind.to_owned() }),
        field_name: name.to_owned(),
        field_description: "query scope variable".to_owned(),
        application_name: String::new(),
        application_id: SCOPE.to_owned(),
    }
}

/// The names of the scope, each with what tells its object from another, and what clients call its type.
type Seen = BTreeMap<String, (usize, &'static str)>;

fn difference(before: &Seen, now: &Seen) -> FieldsChange {
    let of = |chosen: &dyn Fn(&str, usize) -> bool, all: &Seen| -> Vec<FieldInfo> {
        all.iter()
            .filter(|(name, (object, _))| chosen(name, *object))
            .map(|(name, (_, kind))| info(name, kind))
            .collect()
    };
    FieldsChange {
        created: of(&|name, _| !before.contains_key(name), now),
        updated: of(&|name, object| before.get(name).is_some_and(|(known, _)| *known != object), now),
        removed: of(&|name, _| !now.contains_key(name), before),
    }
}

/// All names, also if there are none; then what comes, changes and goes.
pub(crate) fn list(context: Context) -> Answers {
    answered(AHEAD, |send| async move {
        let catalog = &context.shared.catalog;
        let mut changes = catalog.changes();
        let mut before: Option<Seen> = None;
        loop {
            changes.mark_unchanged();
            let now: Seen =
                catalog.all().into_iter().map(|(name, object)| (name, (object.identity(), object.kind()))).collect();
            let change = difference(before.as_ref().unwrap_or(&Seen::new()), &now);
            let is_news = before.is_none() || change != FieldsChange::default();
            if is_news && send.send(Ok(framed(&change))).await.is_err() {
                return Ok(());
            }
            before = Some(now);
            let ended = async { first(context.session.over(), context.shared.stopped()).await };
            let quiet = async { first(send.closed(), ended).await };
            match first(changes.changed(), quiet).await {
                First::Left(Ok(())) => {}
                _ => return Ok(()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_changed_and_went_is_told() {
        let seen = |of: &[(&str, usize)]| {
            of.iter().map(|(name, object)| ((*name).to_owned(), (*object, "Table"))).collect::<Seen>()
        };
        let change = difference(&seen(&[("a", 1), ("b", 2), ("c", 3)]), &seen(&[("b", 2), ("c", 4), ("d", 5)]));
        let names = |of: Vec<FieldInfo>| of.into_iter().map(|info| info.field_name).collect::<Vec<_>>();
        assert_eq!(names(change.created), ["d"]);
        assert_eq!(names(change.updated), ["c"]);
        assert_eq!(names(change.removed), ["a"]);
        assert_eq!(difference(&seen(&[("a", 1)]), &seen(&[("a", 1)])), FieldsChange::default());
    }
}
