//! The graph as a picture: text for Graphviz, or for the Mermaid that readers of a README see drawn.

use crate::node::NodeId;
use crate::report::NodeTiming;
use std::collections::BTreeMap;
use std::fmt::Write;

/// In which language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drawing {
    /// Graphviz: `dot -Tsvg`.
    Dot,
    /// Mermaid: a fenced block in a README.
    Mermaid,
}

/// The nodes, numbered in order of their places, with an arrow from each node to those that wait for it.
pub(crate) fn draw(nodes: &[NodeTiming], drawing: Drawing) -> String {
    let mut nodes: Vec<&NodeTiming> = nodes.iter().collect();
    nodes.sort_by_key(|node| node.id);
    let numbers: BTreeMap<NodeId, usize> = nodes.iter().enumerate().map(|(number, node)| (node.id, number)).collect();
    let mut text = match drawing {
        Drawing::Dot => "digraph tickframe {\n  node [shape=box];\n",
        Drawing::Mermaid => "flowchart TD\n",
    }
    .to_owned();
    for (number, node) in nodes.iter().enumerate() {
        let label = escaped(&node.label, drawing);
        let line = match (drawing, node.failed) {
            (Drawing::Dot, false) => format!("  n{number} [label=\"{label}\"];"),
            (Drawing::Dot, true) => format!("  n{number} [label=\"{label}\", color=red];"),
            (Drawing::Mermaid, false) => format!("  n{number}[\"{label}\"]"),
            (Drawing::Mermaid, true) => format!("  n{number}[\"{label}\"]:::failed"),
        };
        let _ = writeln!(text, "{line}");
    }
    for (number, node) in nodes.iter().enumerate() {
        let mut parents: Vec<usize> = node.parents.iter().filter_map(|parent| numbers.get(parent).copied()).collect();
        parents.sort_unstable();
        for parent in parents {
            let _ = match drawing {
                Drawing::Dot => writeln!(text, "  n{parent} -> n{number};"),
                Drawing::Mermaid => writeln!(text, "  n{parent} --> n{number}"),
            };
        }
    }
    text.push_str(match drawing {
        Drawing::Dot => "}\n",
        Drawing::Mermaid if nodes.iter().any(|node| node.failed) => "  classDef failed stroke:#c00\n",
        Drawing::Mermaid => "",
    });
    text
}

/// A label that ends neither its quotes nor its line, and is no markup.
fn escaped(label: &str, drawing: Drawing) -> String {
    let mut text = String::with_capacity(label.len());
    for letter in label.chars() {
        match (drawing, letter) {
            (Drawing::Dot, '"' | '\\') => text.extend(['\\', letter]),
            (Drawing::Dot, '\n') => text.push_str("\\n"),
            (Drawing::Mermaid, '"' | '<' | '>' | '&' | '#' | '`') => {
                let _ = write!(text, "#{};", u32::from(letter));
            }
            (Drawing::Mermaid, '\n') => text.push_str("<br>"),
            (_, letter) if letter.is_control() => text.push(' '),
            (_, letter) => text.push(letter),
        }
    }
    text
}
