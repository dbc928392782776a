//! Fused regions on the CPU: tile by tile, so that what passes between the instructions stays in the first-level cache.
//!
//! A region works on rows of columns (`penstock_passes::space`). A tile is a part of a row, or several rows where they are
//! short, which may then be read where they lie, with what is between them. Where what a reduction leaves of a row is used
//! again, the row is walked in *phases*: those of one row follow each other, so that all but the first find it in the cache.

mod compile;
mod run;
mod runs;

use penstock_data::{DType, Dims, Loc, Tensor};
use penstock_kernels::LoopFn;
use penstock_kernels::fold::Folds;
use penstock_passes::view::Line;
use smallvec::SmallVec;

/// The most operands of an instruction.
const ARITY: usize = 4;

/// Where an instruction of the program reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Location {
    /// A source, by the strides of its elements.
    Input(u16),
    /// A result.
    Output(u16),
    /// Temporary memory for a tile, by slot, of elements of that many bytes.
    Temp(u16, u8),
    /// Temporary memory for all columns.
    Kept(u16, u8),
    /// Temporary memory for an element a row.
    Row(u16, u8),
}

/// What one step does with a tile, or with the elements of its rows.
enum Act {
    /// An elementwise loop.
    Map(LoopFn),
    /// Copies a source to where the rows of a tile lie one after the other.
    Load,
    /// Repeats the element of each row over its columns; of that many bytes.
    Spread(u8),
    /// Copies the rows of a tile to a result.
    Store,
    /// Several elementwise instructions at once.
    Run(Box<runs::Run>),
}

struct Op {
    act: Act,
    ins: SmallVec<[Location; ARITY]>,
    /// One, but for runs.
    outs: SmallVec<[Location; 1]>,
    /// The number of the instruction, among those that compute.
    origin: u16,
}

/// A reduction.
struct FoldOp {
    folds: Folds,
    src: Location,
    out: Location,
}

/// What is done with a row before what its reductions leave can be used.
#[derive(Default)]
struct Phase {
    /// For each tile.
    ops: Vec<Op>,
    folds: Vec<FoldOp>,
    /// After the reductions, for the elements that they left.
    rows: Vec<Op>,
}

/// An operand.
struct Input {
    dtype: DType,
    dims: Dims,
}

/// An operand, or a view of one, as steps read it.
struct InputView {
    input: u16,
    /// Bytes of an element.
    size: usize,
    /// The element at index 0.
    offset: isize,
    layout: Layout,
}

/// Where the elements of a source lie.
enum Layout {
    /// An element for each row and column, or, for what only elements of rows are computed with, for each row.
    Dense,
    /// One element for all.
    Single,
    /// Lines of rows, outermost first, and of columns, which advance or stand still.
    Strided { rows: SmallVec<[Line; 2]>, columns: Line },
    /// The same among padding, of which an element is given.
    Padded { rows: SmallVec<[Line; 2]>, columns: Line, fill: Tensor },
}

/// A result.
struct Output {
    dtype: DType,
    dims: Dims,
    /// Whether there is an element for each row and column.
    full: bool,
    /// Where its rows lie, if it is a part of something larger.
    window: Option<Window>,
}

/// A part of a tensor. Neighbours of one row are neighbours there.
struct Window {
    /// The dtype and the extents of the tensor.
    dtype: DType,
    dims: Dims,
    /// The element at index 0.
    offset: isize,
    rows: SmallVec<[Line; 2]>,
}

/// A fused region, resolved to loops over tiles.
pub(crate) struct TileProgram {
    inputs: Vec<Input>,
    sources: Vec<InputView>,
    outputs: Vec<Output>,
    /// The operators of the instructions that compute, and where they were traced.
    origins: Vec<(&'static str, Loc)>,
    phases: Vec<Phase>,
    /// Groups of rows that are reduced apart, where rows are reduced.
    outer: usize,
    /// Rows, of one such group where rows are reduced.
    rows: usize,
    columns: usize,
    /// Whether rows are reduced, not columns.
    over_rows: bool,
    /// Rows of a tile; more than one only where a tile has all columns.
    batch: usize,
    /// Elements from row to row of a tile, wherever a step reads or writes it. Where these are more than the columns, steps compute
    /// what is between the rows as well, and nobody reads that.
    pitch: usize,
    /// The rows that lie so far apart wherever they are read; those of a tile are among the same ones.
    even: usize,
    /// Elements of a tile.
    tile: usize,
    /// Bytes of a slot for a tile, for all columns, and for the elements of rows; and how many there are.
    temps: (usize, usize),
    kept: (usize, usize),
    row_slots: (usize, usize),
    /// Estimated nanoseconds of an element,
    cost: f64,
    /// and of what a thread is handed.
    piece_ns: f64,
    /// Elements of a part of a long row that a thread is handed.
    piece: usize,
    /// Elements that are copied in the time that the call of a step takes.
    call: usize,
}

impl TileProgram {
    /// How many results it has.
    pub(crate) fn results(&self) -> usize {
        self.outputs.len()
    }

    /// Elements that a run works on.
    pub(crate) fn elements(&self) -> usize {
        self.outer * self.rows * self.columns
    }

    /// From the first to the last element of a tile, with what is between its rows.
    fn extent(&self, tile: run::Tile) -> usize {
        (tile.rows - 1) * self.pitch + tile.width
    }

    /// Estimated nanoseconds of a run.
    pub(crate) fn nanoseconds(&self) -> u64 {
        100 + (self.elements() as f64 * self.cost) as u64
    }
}
