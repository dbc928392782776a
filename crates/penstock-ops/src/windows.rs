//! Windows that move over the spatial dimensions of images: how strides, dilations and padding give the extents of a
//! result.

use penstock_data::{Dim, Error, Result};
use penstock_ir::{AttrDef, AttrDefault, AttrKind, Attrs};
use penstock_kernels::conv::Axis;
use smallvec::SmallVec;

/// The most spatial dimensions.
pub(crate) const MAX_AXES: usize = 3;

/// How far windows move. Attribute 0 of every operator with windows.
pub(crate) const STRIDES: AttrDef = AttrDef::optional("strides", AttrKind::Ints);
/// What is around the input. Attribute 1.
pub(crate) const PADDING: AttrDef = AttrDef::new("padding", AttrKind::Str, AttrDefault::Str("VALID"));
/// The number of zeros before and after each spatial dimension. Attribute 2.
pub(crate) const EXPLICIT_PADDINGS: AttrDef = AttrDef::optional("explicit_paddings", AttrKind::Ints);

/// What strides, padding and dilations say of one spatial dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    stride: usize,
    dilation: usize,
    padding: Padding,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Padding {
    Same,
    Explicit(usize, usize),
}

/// The entries of an attribute, one for each of `axes` dimensions; ones where it is left out.
fn positive(attrs: &Attrs, index: usize, axes: usize, name: &str) -> Result<SmallVec<[usize; 3]>> {
    let Some(values) = attrs.opt_ints(index) else { return Ok(SmallVec::from_elem(1, axes)) };
    if values.len() != axes {
        return Err(
            Error::invalid(format!("expected {axes} value(s), one a spatial dimension, got {values:?}")).argument(name)
        );
    }
    let positive = |&v: &i64| usize::try_from(v).ok().filter(|&v| v > 0);
    values
        .iter()
        .map(positive)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::invalid(format!("expected positive values, got {values:?}")).argument(name))
}

/// The rules of the attributes for `axes` spatial dimensions; `dilations` is the index of that attribute.
///
/// # Errors
/// `InvalidArgument` naming the attribute.
pub(crate) fn rules(attrs: &Attrs, axes: usize, dilations: Option<usize>) -> Result<SmallVec<[Rule; 3]>> {
    let strides = positive(attrs, 0, axes, "strides")?;
    let dilations = match dilations {
        Some(index) => positive(attrs, index, axes, "dilations")?,
        None => SmallVec::from_elem(1, axes),
    };
    let explicit = attrs.opt_ints(2);
    let pads: SmallVec<[Padding; 3]> = match (attrs.str(1), explicit) {
        ("SAME", None) => SmallVec::from_elem(Padding::Same, axes),
        ("VALID", None) => SmallVec::from_elem(Padding::Explicit(0, 0), axes),
        ("EXPLICIT", Some(pads)) => {
            let sizes: Option<SmallVec<[usize; 6]>> = pads.iter().map(|&p| usize::try_from(p).ok()).collect();
            let sizes = sizes.filter(|p| p.len() == 2 * axes).ok_or_else(|| {
                Error::invalid(format!("expected {} sizes that are not negative, got {pads:?}", 2 * axes))
                    .argument("explicit_paddings")
            })?;
            sizes.chunks_exact(2).map(|p| Padding::Explicit(p[0], p[1])).collect()
        }
        ("SAME" | "VALID", Some(_)) => {
            return Err(Error::invalid("goes with padding 'EXPLICIT' alone").argument("explicit_paddings"));
        }
        ("EXPLICIT", None) => {
            return Err(Error::invalid("must be given with padding 'EXPLICIT'").argument("explicit_paddings"));
        }
        (other, _) => {
            return Err(
                Error::invalid(format!("expected 'SAME', 'VALID' or 'EXPLICIT', got '{other}'")).argument("padding")
            );
        }
    };
    let each = strides.iter().zip(&dilations).zip(&pads);
    Ok(each.map(|((&stride, &dilation), &padding)| Rule { stride, dilation, padding }).collect())
}

impl Rule {
    /// The sizes of a dimension of `input` elements under windows of `window`.
    ///
    /// # Errors
    /// `InvalidArgument` where the input is too short for any window.
    pub(crate) fn axis(self, input: usize, window: usize) -> Result<Axis> {
        let Rule { stride, dilation, padding } = self;
        let reach = window.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let (output, before) = match padding {
            Padding::Same => {
                let output = input.div_ceil(stride);
                let needed = (output.saturating_sub(1) * stride).saturating_add(reach);
                (output, needed.saturating_sub(input) / 2)
            }
            Padding::Explicit(before, after) => {
                let room = input.saturating_add(before).saturating_add(after).saturating_add(stride);
                let free = room.checked_sub(reach).ok_or_else(|| {
                    Error::invalid(format!(
                        "{input} element(s) with {before} before and {after} after are too few for a window that \
                         reaches over {reach}"
                    ))
                })?;
                (free / stride, before)
            }
        };
        Ok(Axis { input, window, output, stride, dilation, before })
    }

    /// The extent of the result, as far as the others are known.
    ///
    /// # Errors
    /// As [`Rule::axis`].
    pub(crate) fn output(self, input: Dim, window: Dim) -> Result<Dim> {
        match (input, window, self) {
            (Dim::Known(input), Dim::Known(window), _) => self.axis(input, window).map(|a| Dim::Known(a.output)),
            (_, _, Rule { stride: 1, padding: Padding::Same, .. }) => Ok(input),
            _ => Ok(Dim::Unknown),
        }
    }

    /// Whether a window of `window` elements could lie in the padding alone.
    pub(crate) fn may_miss(self, window: usize) -> bool {
        matches!(self.padding, Padding::Explicit(before, after) if before >= window || after >= window)
    }
}

/// The axes with those missing in front.
pub(crate) fn three(axes: &[Axis]) -> [Axis; 3] {
    let mut out = [Axis::NONE; MAX_AXES];
    out[MAX_AXES - axes.len()..].copy_from_slice(axes);
    out
}
