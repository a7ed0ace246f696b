//! The plan of a random graph: its operations, and the inputs of each.

use engine::testing::Tape;
use model::Compare;

use crate::expressions::Kind;
use crate::stages::{Shape, Stage, Types};

/// Inputs come first: the left table, then the right one.
pub const INPUTS: usize = 2;

/// An operation over tables that come before it.
#[derive(Debug)]
pub struct Place {
    pub stage: Stage,
    /// The table it is called on.
    pub main: usize,
    /// The other one: a join's right side, what is stacked below. The same as `main` if there is none.
    pub other: usize,
    pub compare: Compare,
}

/// A graph: operation `n` makes table `INPUTS + n`.
#[derive(Debug)]
pub struct Plan {
    pub types: Types,
    pub places: Vec<Place>,
}

impl Plan {
    /// Most graphs are small, some have thirty operations.
    pub fn draw(tape: &mut Tape) -> Plan {
        let most = *tape.choose(&[4, 6, 8, 12, 30]);
        let many = tape.between(3, most);
        let types = Types::draw(tape);
        let mut shapes = vec![Shape::left(types), Shape::right(types)];
        let places = (0..many).map(|_| draw_place(tape, &mut shapes)).collect();
        Plan { types, places }
    }

    /// The tables that an operation stands on.
    pub fn parents(&self, table: usize) -> Vec<usize> {
        let place = &self.places[table - INPUTS];
        if place.other == place.main { vec![place.main] } else { vec![place.main, place.other] }
    }

    /// How a table is compared with the model's.
    pub fn compare(&self, table: usize) -> Compare {
        if table < INPUTS { Compare::ByPosition } else { self.places[table - INPUTS].compare.clone() }
    }
}

fn draw_place(tape: &mut Tape, shapes: &mut Vec<Shape>) -> Place {
    // Names are given once in a graph, so that tables can be joined and stacked whatever they are.
    let names = shapes.iter().map(|shape| shape.names).max().unwrap_or(0);
    // The newest as often as all others together: chains as well as fans.
    let newest = shapes.len() - 1;
    let main = if newest >= INPUTS && tape.chance(128) { newest } else { tape.below(shapes.len() as u64) as usize };
    let mut shape = shapes[main].clone();
    shape.names = names;
    let twins: Vec<usize> = (0..shapes.len()).filter(|&at| at != main && stackable(&shapes[at], &shape)).collect();
    let stage = if !twins.is_empty() && tape.chance(60) { Stage::Stack } else { Stage::draw(tape, &mut shape) };
    let other = match stage {
        Stage::Stack => {
            let twin = *tape.choose(&twins);
            shape.inexact.extend(shapes[twin].inexact.iter().cloned());
            shape.paired |= shapes[twin].paired;
            twin
        }
        Stage::Natural(..)
        | Stage::Join(..)
        | Stage::Asof(..)
        | Stage::Range(..)
        | Stage::Multi(..)
        | Stage::JoinWhere(..)
        | Stage::WhereIn(..) => {
            let sides: Vec<usize> = (0..shapes.len()).filter(|&at| joinable(&shapes[at])).collect();
            *tape.choose(&sides)
        }
        Stage::Sync(_, [_, ref id], _, which) => {
            let has_id = |shape: &Shape| shape.exact().iter().any(|column| column.0 == *id && column.1 == Kind::Int);
            let sides: Vec<usize> =
                (0..shapes.len()).filter(|&at| joinable(&shapes[at]) && has_id(&shapes[at])).collect();
            let side = *tape.choose(&sides);
            if which == 1 {
                // The rows are those of the other table, whatever columns it has.
                shape = Shape { names: shape.names, ..shapes[side].clone() };
            }
            side
        }
        _ => main,
    };
    let compare = shape.compare();
    shapes.push(shape);
    Place { stage, main, other, compare }
}

/// Two tables of the same columns, each in an order of its own.
fn stackable(one: &Shape, other: &Shape) -> bool {
    one.columns == other.columns && one.unordered_by.is_none() && other.unordered_by.is_none()
}

/// What a join can meet: the right table's columns, in an order of its own.
fn joinable(shape: &Shape) -> bool {
    let has = |name: &str, kind: Kind| shape.columns.iter().any(|column| column.0 == name && column.1 == kind);
    let (w, p) = (Kind::named(shape.right.w), Kind::named(shape.right.p));
    let whole = has("k", Kind::Str) && has("g", Kind::Int) && has("t", Kind::Time) && has("w", w) && has("p", p);
    whole
        && !shape.paired
        && shape.unordered_by.is_none()
        && ["k", "g", "t", "p"].iter().all(|name| !shape.inexact.contains(*name))
}
