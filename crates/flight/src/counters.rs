//! What a server counts: of itself, of who asks, and of the graphs whose tables it serves. The action `counters` tells it as
//! JSON, to each login of itself alone.

use bytes::Bytes;
use graph::UpdateGraph;
use tonic::Status;

use crate::context::{Context, Shared};
use crate::frames::{Answers, framed};
use crate::logins::{Login, What};
use crate::proto::{Action, ActionResult, ActionType};

/// The name of the action.
const ACTION: &str = "counters";

/// Each count by its name.
pub(crate) type Counts = Vec<(&'static str, u64)>;

/// What these logins hold.
fn held<'a>(logins: impl Iterator<Item = &'a Login> + Clone) -> Counts {
    let all = |what: What| logins.clone().map(|login| login.holds(what)).sum();
    vec![
        ("sessions", all(What::Sessions)),
        ("exports", all(What::Exports)),
        ("subscriptions", all(What::Subscriptions)),
        ("memory", all(What::Memory)),
    ]
}

/// What the graphs of the scope's tables do.
fn graphs(shared: &Shared) -> Counts {
    let mut seen: Vec<UpdateGraph> = Vec::new();
    for (_, object) in shared.catalog.all() {
        let graph = object.table().and_then(|table| table.graph().cloned());
        seen.extend(graph.filter(|graph| !seen.contains(graph)));
    }
    let counted: Vec<graph::Counters> = seen.iter().map(UpdateGraph::counters).collect();
    let sum = |of: fn(&graph::Counters) -> u64| counted.iter().map(of).sum();
    vec![
        ("nodes", sum(|of| of.nodes as u64)),
        ("failed_nodes", sum(|of| of.failed_nodes as u64)),
        ("cycles", sum(|of| of.cycles)),
        ("last_cycle_ns", counted.iter().map(|of| of.last_cycle_ns).max().unwrap_or(0)),
    ]
}

/// Of the whole server.
pub(crate) fn all(shared: &Shared) -> Counts {
    let connections = shared.limits.connections.saturating_sub(shared.places.available_permits());
    let mut counts = vec![("connections", connections as u64)];
    counts.extend(held(shared.sessions.logins()));
    counts.extend(graphs(shared));
    counts
}

fn json(counts: &Counts) -> String {
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("\"{name}\": {count}")).collect();
    format!("{{{}}}", each.join(", "))
}

/// Does what a client asks for by name.
pub(crate) fn act(context: &Context, action: &Action) -> Result<Answers, Status> {
    if action.kind != ACTION {
        return Err(Status::unimplemented(format!("DoAction: there is no action '{}'", action.kind)));
    }
    let mut counts = held(std::iter::once(&*context.session.login));
    counts.extend(graphs(&context.shared));
    Ok(Answers::once(&ActionResult { body: Bytes::from(json(&counts)) }))
}

/// The actions that there are.
pub(crate) fn actions() -> Answers {
    let description = "what the caller holds, and what the graphs of the served tables do, as JSON".to_owned();
    Answers::all([framed(&ActionType { kind: ACTION.to_owned(), description })])
}
