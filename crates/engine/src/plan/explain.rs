//! A plan for a reader: as it was asked for, the rules that the optimiser applied, and as it runs; as text, or as a drawing for
//! Graphviz (DOT) or Mermaid.

use std::fmt::Write;
use std::sync::Arc;

use column::{ColumnSource, RedirectColumn};

use super::fuse::Chain;
use super::node::{Nodes, Plan};
use super::op::Op;
use super::run::{Made, Measured};
use crate::error::Error;
use crate::eval::call::Call;
use crate::table::handle::Table;

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
            Drawing::Text if fired.is_empty() => {
                format!("{}\n\nno rule applies{}", self.nodes(), passes(&better.nodes()))
            }
            Drawing::Text => {
                let rules: Vec<String> = fired.iter().map(|one| format!("- {}: {}", one.rule, one.operation)).collect();
                let better = better.nodes();
                format!("{}\n\nrules\n{}\n\n{better}{}", self.nodes(), rules.join("\n"), passes(&better))
            }
        }
    }
}

impl Plan {
    /// As [`Plan::explain`], with the rows, the bytes and the time of each node over these tables as they are now: the plan runs
    /// twice, as it was asked for and as it runs.
    pub fn explain_over(&self, call: &Call, given: &[(String, Table)], drawing: Drawing) -> Result<String, Error> {
        let [asked, runs] = self.measured(call, given)?;
        if drawing != Drawing::Text {
            let notes = runs.notes();
            let labelled = labels(runs.nodes).into_iter().zip(notes);
            return Ok(draw(
                &labelled.map(|((label, inputs), note)| (label + &note, inputs)).collect::<Vec<_>>(),
                drawing,
            ));
        }
        let fired = self.optimized().1.into_iter().chain(runs.fired.iter().cloned());
        let rules: Vec<String> = fired.map(|one| format!("- {}: {}", one.rule, one.operation)).collect();
        let rules =
            if rules.is_empty() { "no rule applies".to_owned() } else { format!("rules\n{}", rules.join("\n")) };
        Ok(format!("{}\n\n{rules}\n\n{}", asked.text(), runs.text()))
    }
}

impl Measured {
    /// The tree, and under it what all nodes come to.
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.nodes.write(&mut text, &self.notes());
        let read: u64 =
            (0..self.made.len()).filter(|place| self.made[*place].table.is_some()).map(|at| self.read(at)).sum();
        let took: f64 = self.made.iter().map(|made| made.took.as_secs_f64() * 1e3).sum();
        text + &format!("\n= {} rows read, {took:.2} ms", thousands(read))
    }

    /// The rows that a node read: those of its inputs, or of what stands below the pass that it ends.
    fn read(&self, place: usize) -> u64 {
        let inputs = self.nodes.0[place].inputs.iter();
        inputs.map(|input| self.made[*input].table.as_ref().map_or_else(|| self.read(*input), rows)).sum()
    }

    /// The bytes of the columns that a node did not take from its inputs. Those that are read through an index share one.
    fn stored(&self, place: usize, table: &Table) -> u64 {
        let inputs = self.nodes.0[place].inputs.iter().filter_map(|input| self.made[*input].table.as_ref());
        let given: Vec<&Arc<dyn ColumnSource>> = inputs.flat_map(|input| &input.parts().columns).collect();
        let own = table.parts().columns.iter().filter(|own| !given.iter().any(|given| Arc::ptr_eq(given, own)));
        let (redirected, stored): (Vec<_>, Vec<_>) = own.partition(|own| own.as_any().is::<RedirectColumn>());
        stored.into_iter().chain(redirected.first().copied()).map(|column| column.bytes()).sum()
    }

    fn notes(&self) -> Vec<String> {
        let note = |(place, Made { table, took }): (usize, &Made)| {
            let Some(table) = table else { return " · in the pass of the node above".to_owned() };
            let made = rows(table);
            if matches!(self.nodes.0[place].op, Op::Input(_)) {
                return format!(" · {} rows", thousands(made));
            }
            let bytes = self.stored(place, table);
            let owned = if bytes == 0 { String::new() } else { format!(", {} bytes", thousands(bytes)) };
            let (read, ms) = (thousands(self.read(place)), took.as_secs_f64() * 1e3);
            format!(" · {} rows of {read}{owned}, {ms:.2} ms", thousands(made))
        };
        self.made.iter().enumerate().map(note).collect()
    }
}

fn rows(table: &Table) -> u64 {
    table.size().items
}

/// A number with a comma after each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The chains that run in one pass over a static table, the first operation first.
fn passes(nodes: &Nodes) -> String {
    let of = |chain: &Chain| {
        let methods: Vec<&str> = chain.places().iter().map(|place| &*nodes.0[*place].method).collect();
        format!("\n- {}", methods.join(", "))
    };
    let chains: String = Chain::all(nodes).iter().rev().map(of).collect();
    if chains.is_empty() { chains } else { format!("\n\none pass over a static table{chains}") }
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
        let op = Op::Filter { predicates: vec![is], orders: Vec::new(), on_error: OnError::Fail };
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
        let length = Expr::aggregate(formula::Aggregate::Len, None).expect("an aggregate").alias("n");
        let group = Op::Aggregate { keys: vec![Expr::column("K")], aggregates: vec![length], on_error: OnError::Fail };
        let grouped = Plan::new(group, "agg".into(), vec![plan]);
        let text = grouped.explain(Drawing::Text);
        assert!(text.ends_with("no rule applies\n\none pass over a static table\n- where, agg"), "{text}");
    }
}
