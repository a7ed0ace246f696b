//! From nodes to steps: which parts are fused into programs, and which registers they use.

use std::collections::HashMap;

use crate::eval::lanes::{Check, Instruction, Kind, Lane, LaneOp, Program, Slot, Values};
use crate::eval::node::{Node, Op, Whole};
use crate::tree::types::type_name;

/// By the number of a node.
type ByNode<V> = HashMap<usize, V, foldhash::fast::RandomState>;

/// The steps that compute one node and all it needs, in order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) root: usize,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone)]
pub(crate) enum Step {
    /// One kernel over whole chunks.
    Whole { node: usize, kernel: Whole },
    /// A program over lanes; `leaves` are the nodes it reads.
    Fused { node: usize, program: Program, leaves: Vec<usize> },
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Whole { node, .. } => write!(f, "Whole {node}"),
            Step::Fused { node, program, leaves } => write!(f, "Fused {node} {program:?} {leaves:?}"),
        }
    }
}

/// Who needs a node's value.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    Nobody,
    /// Only instructions of the program that computes this node.
    Program(usize),
    /// A kernel, several programs, or the caller: it is an array of its own.
    Array,
}

impl Plan {
    pub(crate) fn new(nodes: &[Node], root: usize) -> Plan {
        let homes = homes(nodes, root);
        let mut members: ByNode<Vec<usize>> = ByNode::default();
        for (index, home) in homes.iter().enumerate() {
            if let Home::Program(program) = home {
                members.entry(*program).or_default().push(index);
            }
        }
        let mut steps = Vec::new();
        for (index, node) in nodes[..=root].iter().enumerate() {
            if homes[index] != Home::Array {
                continue;
            }
            match &node.op {
                Op::Input(_) | Op::Constant(_) => {}
                Op::Whole(kernel) | Op::Host(kernel) => steps.push(Step::Whole { node: index, kernel: kernel.clone() }),
                Op::Lane(_) => {
                    let mut inside = members.remove(&index).unwrap_or_default();
                    inside.push(index);
                    let (program, leaves) = Compiler::compile(nodes, &homes, inside, index);
                    steps.push(Step::Fused { node: index, program, leaves });
                }
            }
        }
        Plan { root, steps }
    }
}

/// Settles homes from the root down: users stand behind what they use.
fn homes(nodes: &[Node], root: usize) -> Vec<Home> {
    let mut homes = vec![Home::Nobody; nodes.len()];
    homes[root] = Home::Array;
    for index in (0..=root).rev() {
        let inside = match (&nodes[index].op, homes[index]) {
            (_, Home::Nobody) => continue,
            (Op::Lane(_), Home::Program(program)) => Home::Program(program),
            (Op::Lane(_), Home::Array) => Home::Program(index),
            _ => Home::Array,
        };
        for arg in &nodes[index].args {
            let fusible = matches!(nodes[*arg].op, Op::Lane(_));
            homes[*arg] = match homes[*arg] {
                Home::Nobody if fusible => inside,
                home if home == inside => home,
                _ => Home::Array,
            };
        }
    }
    homes
}

/// Lays one program out over registers.
struct Compiler<'a> {
    nodes: &'a [Node],
    program: Program,
    leaves: Vec<usize>,
    slots: ByNode<Slot>,
    /// How many instructions still read a node's register.
    readers: ByNode<usize>,
    free: Vec<usize>,
}

impl<'a> Compiler<'a> {
    /// `members`: the nodes that the program computes, in order, the root among them.
    fn compile(nodes: &'a [Node], homes: &[Home], members: Vec<usize>, root: usize) -> (Program, Vec<usize>) {
        let inside = |index: usize| index == root || homes[index] == Home::Program(root);
        let mut readers: ByNode<usize> = ByNode::default();
        for arg in members.iter().flat_map(|index| &nodes[*index].args) {
            *readers.entry(*arg).or_insert(0) += 1;
        }
        let output = Kind::of(&nodes[root].data_type).unwrap_or(Kind::Opaque);
        let program = Program { instructions: Vec::new(), registers: Vec::new(), constants: Vec::new(), output };
        let mut compiler =
            Compiler { nodes, program, leaves: Vec::new(), slots: ByNode::default(), readers, free: Vec::new() };
        for index in members {
            compiler.instruction(index, index == root, &inside);
        }
        (compiler.program, compiler.leaves)
    }

    fn instruction(&mut self, index: usize, is_root: bool, inside: &impl Fn(usize) -> bool) {
        let node = &self.nodes[index];
        let Op::Lane(op) = node.op else { unreachable!("programs are made of lane operations") };
        let args: Vec<Slot> = node.args.iter().map(|arg| self.slot(*arg, inside)).collect();
        // The result's register is taken before the arguments' are given back: none is read and written at once.
        let register =
            if is_root { usize::MAX } else { self.register(Kind::of(&node.data_type).unwrap_or(Kind::Opaque)) };
        for arg in &node.args {
            self.release(*arg);
        }
        self.slots.insert(index, Slot::Register(register));
        self.program.instructions.push(Instruction { op, args, register, node: index });
    }

    fn slot(&mut self, arg: usize, inside: &impl Fn(usize) -> bool) -> Slot {
        if let Some(slot) = self.slots.get(&arg) {
            return *slot;
        }
        debug_assert!(!inside(arg) || !matches!(self.nodes[arg].op, Op::Lane(_)));
        let slot = if let Op::Constant(value) = &self.nodes[arg].op {
            self.program.constants.push((constant(value), !arrow_array::Array::is_null(value, 0)));
            Slot::Constant(self.program.constants.len() - 1)
        } else {
            self.leaves.push(arg);
            Slot::Leaf(self.leaves.len() - 1)
        };
        self.slots.insert(arg, slot);
        slot
    }

    fn register(&mut self, kind: Kind) -> usize {
        let reusable = self.free.iter().position(|register| self.program.registers[*register] == kind);
        reusable.map(|position| self.free.swap_remove(position)).unwrap_or_else(|| {
            self.program.registers.push(kind);
            self.program.registers.len() - 1
        })
    }

    fn release(&mut self, arg: usize) {
        let readers = self.readers.get_mut(&arg).expect("every argument was counted");
        *readers -= 1;
        if *readers == 0
            && let Some(Slot::Register(register)) = self.slots.get(&arg)
        {
            self.free.push(*register);
        }
    }
}

/// The one value of a constant as a lane.
fn constant(value: &arrow_array::ArrayRef) -> Lane {
    macro_rules! owned {
        ($($variant:ident)*) => {
            match Values::of(value) {
                $(Values::$variant(values) => Lane::$variant(values.to_vec()),)*
                Values::Bits(words) => Lane::Bits(words),
                Values::Opaque => Lane::Opaque,
            }
        };
    }
    owned!(I8 I16 I32 I64 U8 U16 U32 U64 F32 F64)
}

/// Why a lane operation can have no value in a row.
pub(crate) fn message(node: &Node) -> String {
    match node.op {
        Op::Lane(LaneOp::Convert { check: Check::Strict, .. }) => {
            format!("the value does not fit {0}; cast with strict=False for null instead", type_name(&node.data_type))
        }
        _ => format!(
            "the result is outside the range of {}, 1677-09-21 to 2262-04-11 for instants",
            type_name(&node.data_type)
        ),
    }
}
