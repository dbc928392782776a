//! Forward mode over what is computed while it is computed.

use penstock_data::{Error, Result, memory};
use rustc_hash::FxHashMap;

use crate::tape::Handle;

/// The tangents of values: of some that were given one, and of what is computed from those.
pub struct Accumulator<H> {
    tangents: FxHashMap<u64, Result<H>>,
}

impl<H: Handle> Default for Accumulator<H> {
    fn default() -> Self {
        Accumulator { tangents: FxHashMap::default() }
    }
}

impl<H: Handle> Accumulator<H> {
    /// Gives a value a tangent, of its dtype and shape.
    ///
    /// # Errors
    /// `ResourceExhausted` where there is no memory for it.
    pub fn watch(&mut self, value: &H, tangent: H) -> Result<()> {
        memory::reserve(&mut self.tangents, 1)?;
        self.tangents.insert(value.id(), Ok(tangent));
        Ok(())
    }

    /// Whether any of the values has a tangent.
    pub fn tracks(&self, values: &[H]) -> bool {
        !self.tangents.is_empty() && values.iter().any(|v| self.tangents.contains_key(&v.id()))
    }

    /// The tangent of a value; `None` where it depends on nothing that has one.
    ///
    /// # Errors
    /// That of the operator without derivative through which the value depends on one.
    pub fn tangent(&self, value: &H) -> Result<Option<H>> {
        self.tangents.get(&value.id()).cloned().transpose()
    }

    /// The tangents of several values.
    ///
    /// # Errors
    /// As [`Accumulator::tangent`].
    pub fn tangents(&self, values: &[H]) -> Result<Vec<Option<H>>> {
        values.iter().map(|v| self.tangent(v)).collect()
    }

    /// Notes the tangents of what was computed, or why it has none: not being differentiable is no
    /// fault until somebody asks.
    ///
    /// # Errors
    /// As [`Accumulator::watch`].
    pub fn note(&mut self, outputs: &[H], tangents: Result<Vec<Option<H>>, Error>) -> Result<()> {
        memory::reserve(&mut self.tangents, outputs.len())?;
        match tangents {
            Ok(found) => {
                for (output, tangent) in outputs.iter().zip(found) {
                    if let Some(tangent) = tangent {
                        self.tangents.insert(output.id(), Ok(tangent));
                    }
                }
            }
            Err(error) => {
                let carrying = outputs.iter().filter(|o| o.dtype().carries_cotangents());
                self.tangents.extend(carrying.map(|o| (o.id(), Err(error.clone()))));
            }
        }
        Ok(())
    }
}
