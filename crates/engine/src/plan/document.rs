//! A plan as text: JSON with a format number, read back with every mistake told.
//!
//! ```json
//! {"format": 1, "nodes": [
//!   {"op": {"input": {"name": "trades", "schema": [{"name": "x", "type": "Int64"}]}}},
//!   {"op": {"head": {"rows": 5}}, "inputs": [0]}]}
//! ```

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use formula::{Expr, HostId};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::node::{Listed, Nodes, Plan};
use super::op::Op;
use crate::error::Error;

/// The format that is written, and the newest that is read.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document {
    format: u32,
    nodes: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    op: Op,
    /// The method that the user called, where it is not the operation's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<usize>,
}

impl Plan {
    /// The plan as JSON. Functions of the user are in it by name.
    pub fn to_json(&self) -> String {
        self.written(true)
    }

    /// A number that is one for equal plans.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.written(false).hash(&mut hasher);
        hasher.finish()
    }

    fn written(&self, methods: bool) -> String {
        let by_name = |function: &HostId| HostId::unbound(Arc::clone(function.name()));
        let entry = |mut node: Listed| {
            if node.op.expressions().any(Expr::calls_host) {
                node.op = node.op.map_expressions(&mut |expression| expression.map_hosts(&mut { by_name }));
            }
            let method = (methods && *node.method != *node.op.method()).then_some(node.method);
            Entry { op: node.op, method, inputs: node.inputs }
        };
        let document = Document { format: FORMAT, nodes: self.nodes().0.into_iter().map(entry).collect() };
        serde_json::to_string(&document).expect("a plan is written")
    }

    /// The plan that a text says; the error says where it is none. `functions`: those of the user that it calls, by name.
    pub fn from_json(text: &str, functions: &HashMap<String, HostId>) -> Result<Plan, Error> {
        let refused = |message: String| Error::Data { operation: "Plan.from_json".into(), message };
        let Document { format, nodes } =
            formula::json::read(text).map_err(|why| refused(format!("it is no plan: {why}")))?;
        if format > FORMAT {
            return Err(refused(format!("it has format {format}, and this version reads formats up to {FORMAT}")));
        }
        let nodes = nodes.into_iter().enumerate().map(|(at, entry)| bound(checked(at, entry)?, functions));
        let nodes = Nodes(nodes.collect::<Result<_, String>>().map_err(refused)?);
        nodes.plan().ok_or_else(|| refused("it has no operation".into()))
    }
}

/// The number of the format decides what is read after it: the nodes of a newer one are passed over, however they look.
impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Document;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a plan")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let (mut format, mut nodes) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        _ if format.is_some_and(|format| format > FORMAT) => drop(map.next_value::<IgnoredAny>()?),
                        "format" if format.is_none() => format = Some(map.next_value()?),
                        "nodes" if nodes.is_none() => nodes = Some(map.next_value()?),
                        "format" => return Err(serde::de::Error::duplicate_field("format")),
                        "nodes" => return Err(serde::de::Error::duplicate_field("nodes")),
                        other => return Err(serde::de::Error::unknown_field(other, &["format", "nodes"])),
                    }
                }
                let format = format.ok_or_else(|| serde::de::Error::missing_field("format"))?;
                let nodes = if format > FORMAT {
                    Vec::new()
                } else {
                    nodes.ok_or_else(|| serde::de::Error::missing_field("nodes"))?
                };
                Ok(Document { format, nodes })
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A node whose inputs stand before it, as many as its operation has, and whose expressions are within their limits.
fn checked(at: usize, entry: Entry) -> Result<Listed, String> {
    let Entry { op, method, inputs } = entry;
    let method = method.unwrap_or_else(|| op.method().into());
    let told = |what: String| format!("node {at} ({method}): {what}");
    if let Some(input) = inputs.iter().find(|input| **input >= at) {
        return Err(told(format!("it stands on node {input}, which is not before it")));
    }
    let mut sets = 0;
    for expression in op.expressions() {
        expression.check_well_formed().map_err(|why| told(why.to_string()))?;
        let most = expression.live_sets().into_iter().map(|set| set.id.saturating_add(1)).max().unwrap_or(0);
        sets = sets.max(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let own = op.arity().unwrap_or(inputs.len());
    if inputs.len() < own || sets > inputs.len() || inputs.len() > own.max(sets) {
        return Err(told(format!("it stands on {} nodes and not on {}", own.max(sets), inputs.len())));
    }
    Ok(Listed { op, method, inputs })
}

/// The node with the functions of the user that its expressions name.
fn bound(node: Listed, functions: &HashMap<String, HostId>) -> Result<Listed, String> {
    if !node.op.expressions().any(Expr::calls_host) {
        return Ok(node);
    }
    let mut unknown = None;
    let op = node.op.map_expressions(&mut |expression| {
        expression.map_hosts(&mut |function| match functions.get(&**function.name()) {
            Some(known) => known.clone(),
            None => {
                unknown.get_or_insert_with(|| function.name().to_string());
                function.clone()
            }
        })
    });
    match unknown {
        None => Ok(Listed { op, ..node }),
        Some(name) => Err(format!(
            "it calls the function {name:?}, which is not known here: a plan has functions by name, so give it, \
             functions={{{name:?}: {name}}}"
        )),
    }
}
