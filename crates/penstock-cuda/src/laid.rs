//! A program for operands of certain extents: all that is known of its launches before addresses are.

use std::sync::{Arc, Mutex, OnceLock};

use penstock_data::{Dims, Result, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::kernel::{Arg, Variant};
use crate::layout::Layout;
use crate::opened::{Loaded, Opened, kernel_of, lock};
use crate::parts::PartId;
use crate::program::Program;

/// How many sets of extents of a program are kept.
const KEPT: usize = 4;

/// A program for operands of certain extents.
pub(crate) struct Laid {
    dims: Dims,
    /// The extents of each operand, and whether it is an argument itself.
    operands: SmallVec<[(Dims, bool); 4]>,
    pub(crate) layout: Layout,
    pub(crate) variant: Variant,
    /// The arguments behind the addresses.
    pub(crate) extents: Vec<Arg>,
    /// The blocks of threads.
    pub(crate) blocks: u32,
    /// The bytes that are read and written, and one for each instruction, at each element of the index space.
    pub(crate) bytes: usize,
    /// The kernel, where it was asked for, and what the program is as a part of a kernel of several.
    loaded: OnceLock<Arc<Loaded>>,
    part: OnceLock<PartId>,
}

impl Laid {
    fn is_for(&self, dims: &[usize], operands: &[(&Tensor, bool)]) -> bool {
        let same = |((extents, is_value), (tensor, value)): (&(Dims, bool), &(&Tensor, bool))| {
            is_value == value && extents[..] == *tensor.dims()
        };
        self.dims[..] == *dims && self.operands.len() == operands.len() && self.operands.iter().zip(operands).all(same)
    }

    /// The number of words of a launch's arguments, of which the first `addresses` are addresses and values.
    pub(crate) fn words(&self, addresses: usize) -> usize {
        let mut words = addresses;
        self.extents.iter().for_each(|arg| arg.words(|_| words += 1));
        words
    }
}

/// What was made of a program so far.
#[derive(Default)]
pub(crate) struct Ways {
    /// The latest first.
    laid: Mutex<Vec<Arc<Laid>>>,
    loaded: Mutex<FxHashMap<Variant, Arc<Loaded>>>,
    parts: Mutex<FxHashMap<Variant, PartId>>,
}

impl Ways {
    /// The program for these operands, of which some are arguments themselves, and results of extents `dims`.
    ///
    /// # Errors
    /// Those of [`Layout::new`].
    pub(crate) fn of(
        &self,
        device: &Opened,
        program: &Program,
        dims: &[usize],
        operands: &[(&Tensor, bool)],
    ) -> Result<Arc<Laid>> {
        let mut kept = lock(&self.laid);
        if let Some(i) = kept.iter().position(|laid| laid.is_for(dims, operands)) {
            kept[..=i].rotate_right(1);
            return Ok(kept[0].clone());
        }
        let extents: SmallVec<[&[usize]; 4]> = operands.iter().map(|(tensor, _)| tensor.dims()).collect();
        let mut layout = Layout::new(dims, &extents)?;
        layout.columns = program.columns();
        for (i, _) in operands.iter().enumerate().filter(|(_, (_, is_value))| *is_value) {
            layout.pass_value(i);
        }
        let variant = Variant::new(program, &layout, true);
        let laid = Arc::new(Laid {
            dims: dims.into(),
            operands: operands.iter().map(|(tensor, is_value)| (tensor.dims().into(), *is_value)).collect(),
            extents: variant.extents(&layout),
            blocks: variant.grid(&layout, device.resident_blocks()),
            bytes: layout.len * (program.element_bytes() + program.steps.len()),
            layout,
            variant,
            loaded: OnceLock::new(),
            part: OnceLock::new(),
        });
        kept.truncate(KEPT - 1);
        kept.insert(0, laid.clone());
        Ok(laid)
    }

    /// The kernel.
    ///
    /// # Errors
    /// Those of the compiler.
    pub(crate) fn loaded<'l>(&self, device: &Opened, program: &Program, laid: &'l Laid) -> Result<&'l Arc<Loaded>> {
        if let Some(loaded) = laid.loaded.get() {
            return Ok(loaded);
        }
        let known = lock(&self.loaded).get(&laid.variant).cloned();
        let loaded = match known {
            Some(loaded) => loaded,
            None => {
                let loaded = device.load(kernel_of(program, &laid.layout))?;
                lock(&self.loaded).entry(laid.variant.clone()).or_insert(loaded).clone()
            }
        };
        Ok(laid.loaded.get_or_init(|| loaded))
    }

    /// What the program is as a part of a kernel of several.
    pub(crate) fn part(&self, device: &Opened, program: &Program, laid: &Laid) -> PartId {
        *laid.part.get_or_init(|| {
            let number = || lock(&device.parts).number(program, &laid.variant);
            *lock(&self.parts).entry(laid.variant.clone()).or_insert_with(number)
        })
    }
}
