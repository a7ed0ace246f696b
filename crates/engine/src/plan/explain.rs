//! A plan for a reader: as it was asked for, the rules that the optimiser applied, and as it runs; as text, or as a drawing for
//! Graphviz (DOT) or Mermaid.

use std::fmt::Write;

use super::node::{Nodes, Plan};

/// How a plan is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Lines, indented by depth.
    Text,
    /// A digraph of Graphviz.
    Dot,
    /// A flowchart of Mermaid.
    Mermaid,
}

impl Plan {
    /// The plan before and after the optimiser, and the rules between them. A drawing is of the plan as it runs.
    pub fn explain(&self, drawing: Drawing) -> String {
        let (better, fired) = self.optimized();
        match drawing {
            Drawing::Dot | Drawing::Mermaid => draw(&labels(better.nodes()), drawing),
            Drawing::Text if fired.is_empty() => format!("{}\n\nno rule applies", self.nodes()),
            Drawing::Text => {
                let rules: Vec<String> = fired.iter().map(|one| format!("- {}: {}", one.rule, one.operation)).collect();
                format!("{}\n\nrules\n{}\n\n{}", self.nodes(), rules.join("\n"), better.nodes())
            }
        }
    }
}

/// A drawing of labels, each with the places of those that it stands on.
pub fn draw(nodes: &[(String, Vec<usize>)], drawing: Drawing) -> String {
    let mermaid = drawing == Drawing::Mermaid;
    let head = if mermaid { "flowchart BT" } else { "digraph plan {\n  rankdir = BT\n  node [shape = box]" };
    let mut text = String::from(head);
    // Writing to a text cannot fail.
    for (at, (label, inputs)) in nodes.iter().enumerate() {
        if mermaid {
            let shown: String = label.chars().map(escape).collect();
            let _ = write!(text, "\n  n{at}[\"{shown}\"]");
            inputs.iter().for_each(|input| _ = write!(text, "\n  n{input} --> n{at}"));
        } else {
            let shown = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "\n  n{at} [label = \"{shown}\"]");
            inputs.iter().for_each(|input| _ = write!(text, "\n  n{input} -> n{at}"));
        }
    }
    if mermaid { text } else { text + "\n}" }
}

fn labels(nodes: Nodes) -> Vec<(String, Vec<usize>)> {
    nodes.0.into_iter().map(|node| (node.label(), node.inputs)).collect()
}

/// A character of a label as Mermaid takes it: what has a meaning there is written by its number.
fn escape(given: char) -> String {
    match given {
        '"' | '#' | '<' | '>' | '&' | '`' | '\n' => format!("#{};", u32::from(given)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use formula::{Expr, Function};

    use super::*;
    use crate::plan::{Op, apply};
    use crate::row_errors::OnError;
    use crate::testing::{Drawn, still_graph};

    #[test]
    fn a_plan_is_drawn() {
        let drawn = Drawn::new(&still_graph(), "0 A 1");
        let table = drawn.table().snapshot().expect("it stands still");
        let is = Expr::call(Function::Equal, vec![Expr::column("K"), Expr::literal("a\"b")]).expect("a call");
        let op = Op::Filter { predicates: vec![is], turns: Vec::new(), on_error: OnError::Fail };
        let plan = apply(op, "where", &[table]).expect("it is made").plan();
        assert_eq!(
            plan.explain(Drawing::Dot),
            "digraph plan {\n  rankdir = BT\n  node [shape = box]\n  n0 [label = \"input_0: K: String, V: Int64\"]\n  \
             n1 [label = \"where((col(\\\"K\\\") == \\\"a\\\\\\\"b\\\"))\"]\n  n0 -> n1\n}"
        );
        assert_eq!(
            plan.explain(Drawing::Mermaid),
            "flowchart BT\n  n0[\"input_0: K: String, V: Int64\"]\n  \
             n1[\"where((col(#34;K#34;) == #34;a\\#34;b#34;))\"]\n  n0 --> n1"
        );
        assert!(plan.explain(Drawing::Text).ends_with("no rule applies"));
    }
}
