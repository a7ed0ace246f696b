//! A list of instructions run block by block, its last one writing straight into the result.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::run::{LaneOp, Ran};
use super::{BLOCK, Kind, Lane, Operand, Valid, Values};

/// Where an instruction finds an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The result of an earlier instruction, in this register.
    Register(usize),
    /// A column given to the program.
    Leaf(usize),
    /// A constant of the program.
    Constant(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) op: LaneOp,
    pub(crate) args: Vec<Slot>,
    /// The register written; the last instruction's is not used.
    pub(crate) register: usize,
    /// Which part of the expression this is, for errors.
    pub(crate) node: usize,
}

/// One fused part of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) instructions: Vec<Instruction>,
    /// The kind of each register.
    pub(crate) registers: Vec<Kind>,
    /// Constants: one value each, and whether it is there.
    pub(crate) constants: Vec<(Lane, bool)>,
    /// The kind of the result.
    pub(crate) output: Kind,
}

/// A column given to a program.
pub(crate) struct Leaf {
    pub(crate) values: Values,
    pub(crate) valid: Option<Vec<u64>>,
}

/// The result of a program over all rows.
pub(crate) struct Output {
    pub(crate) lane: Lane,
    valid: Option<Vec<u64>>,
}

impl Output {
    pub(crate) fn nulls(&mut self, rows: usize) -> Option<NullBuffer> {
        let words = self.valid.take()?;
        let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, rows));
        (nulls.null_count() > 0).then_some(nulls)
    }

    /// The rows that are true and there.
    pub(crate) fn into_mask(self, rows: usize) -> BooleanBuffer {
        let Lane::Bits(mut words) = self.lane else { unreachable!("masks are asked of booleans only") };
        if let Some(valid) = self.valid {
            words.iter_mut().zip(valid).for_each(|(word, valid)| *word &= valid);
        }
        BooleanBuffer::new(Buffer::from_vec(words), 0, rows)
    }
}

struct Register {
    lane: Lane,
    valid: Vec<u64>,
    nulls: bool,
}

/// The node and row that have no value.
pub(crate) struct Failed {
    pub(crate) node: usize,
    pub(crate) row: usize,
}

impl Program {
    /// Runs over all rows of the leaves.
    pub(crate) fn run(&self, leaves: &[Leaf], rows: usize) -> Result<Output, Failed> {
        let block = self.block();
        let capacity = block.min(rows.next_multiple_of(64));
        let mut registers: Vec<Register> = self
            .registers
            .iter()
            .map(|kind| Register { lane: Lane::zeros(*kind, capacity), valid: vec![0; capacity / 64], nulls: false })
            .collect();
        let mut output = Output { lane: Lane::with_room(self.output, rows), valid: None };
        let mut valid = vec![0; capacity / 64];
        for start in (0..rows).step_by(block) {
            let end = rows.min(start + block);
            self.run_block(leaves, &mut registers, &mut output, &mut valid, start..end, rows)?;
        }
        Ok(output)
    }

    /// How many rows are computed at a time. Values on their way from one instruction to the next, and the result that is cleared
    /// before it is written, should stay in the first cache beside what is read: with 32 KB a register it takes up to twice as
    /// long. Bits are little anyway: there one column after the other is read, and each needs some rows until memory keeps up.
    fn block(&self) -> usize {
        let bits = std::iter::once(&self.output).chain(&self.registers).all(|kind| *kind == Kind::Bits);
        match (bits, self.instructions.len()) {
            (false, _) => BLOCK / 16,
            (true, 1) => BLOCK / 4,
            (true, _) => BLOCK,
        }
    }

    fn run_block(
        &self,
        leaves: &[Leaf],
        registers: &mut [Register],
        output: &mut Output,
        valid: &mut [u64],
        block: std::ops::Range<usize>,
        total: usize,
    ) -> Result<(), Failed> {
        let (start, rows) = (block.start, block.len());
        let words = rows.div_ceil(64);
        let (last, before) = self.instructions.split_last().expect("a program has at least one instruction");
        for instruction in before {
            let empty = Register { lane: Lane::Opaque, valid: Vec::new(), nulls: false };
            let mut out = std::mem::replace(&mut registers[instruction.register], empty);
            let ran = self.with_operands(instruction, leaves, registers, start, rows, |args| {
                instruction.op.run(args, out.lane.block_mut(0, rows), &mut out.valid[..words], rows)
            });
            out.nulls = finished(ran, instruction, start)?;
            registers[instruction.register] = out;
        }
        let ran = self.with_operands(last, leaves, registers, start, rows, |args| {
            last.op.run(args, output.lane.next_block(rows), &mut valid[..words], rows)
        });
        if finished(ran, last, start)? {
            // The first block with nulls finds all earlier rows there.
            let all = output.valid.get_or_insert_with(|| vec![!0; total.div_ceil(64)]);
            all[start / 64..start / 64 + words].copy_from_slice(&valid[..words]);
        }
        Ok(())
    }

    fn with_operands<R>(
        &self,
        instruction: &Instruction,
        leaves: &[Leaf],
        registers: &[Register],
        start: usize,
        rows: usize,
        run: impl FnOnce(&[Operand<'_>]) -> R,
    ) -> R {
        let operand = |slot: &Slot| self.operand(*slot, leaves, registers, start, rows);
        match instruction.args.as_slice() {
            [a] => run(&[operand(a)]),
            [a, b] => run(&[operand(a), operand(b)]),
            [a, b, c] => run(&[operand(a), operand(b), operand(c)]),
            _ => unreachable!("instructions have one to three arguments"),
        }
    }

    fn operand<'a>(
        &'a self,
        slot: Slot,
        leaves: &'a [Leaf],
        registers: &'a [Register],
        start: usize,
        rows: usize,
    ) -> Operand<'a> {
        let words = rows.div_ceil(64);
        match slot {
            Slot::Register(index) => {
                let Register { lane, valid, nulls } = &registers[index];
                let valid = if *nulls { Valid::Words(&valid[..words]) } else { Valid::All };
                Operand { lane: lane.block(0, rows), one: false, valid }
            }
            Slot::Leaf(index) => {
                let Leaf { values, valid } = &leaves[index];
                let valid =
                    valid.as_ref().map_or(Valid::All, |valid| Valid::Words(&valid[start / 64..start / 64 + words]));
                Operand { lane: values.block(start, rows), one: false, valid }
            }
            Slot::Constant(index) => {
                let (lane, there) = &self.constants[index];
                Operand { lane: lane.block(0, 1), one: true, valid: if *there { Valid::All } else { Valid::Never } }
            }
        }
    }
}

fn finished(ran: Ran, instruction: &Instruction, start: usize) -> Result<bool, Failed> {
    match ran {
        Ran::Done { nulls } => Ok(nulls),
        Ran::Failed { row } => Err(Failed { node: instruction.node, row: start + row }),
    }
}
