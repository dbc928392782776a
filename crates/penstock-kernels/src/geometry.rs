//! The sizes of convolutions and of windows that move over images.

use std::ops::Range;

/// One spatial dimension of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The extent of `x`.
    pub input: usize,
    /// The extent of the filter.
    pub window: usize,
    /// The extent of `y`.
    pub output: usize,
    /// Elements of `x` from one window to the next, at least 1.
    pub stride: usize,
    /// Elements of `x` from one element of the filter to the next, at least 1.
    pub dilation: usize,
    /// Zeros before the first element of `x`.
    pub before: usize,
}

impl Axis {
    /// A dimension that is not there.
    pub const NONE: Axis = Axis { input: 1, window: 1, output: 1, stride: 1, dilation: 1, before: 0 };

    /// The outputs whose windows, of dilation 1, have no padding.
    pub(crate) fn inside(&self) -> Range<usize> {
        let first = self.before.div_ceil(self.stride).min(self.output);
        let last = (self.input + self.before).checked_sub(self.window).map_or(0, |at| at / self.stride + 1);
        first..last.min(self.output).max(first)
    }
}

/// The sizes of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of images.
    pub batch: usize,
    /// The spatial dimensions; those missing come first and are [`Axis::NONE`].
    pub axes: [Axis; 3],
    /// The number of groups of channels, at least 1.
    pub groups: usize,
    /// Channels of `x` in a group.
    pub in_channels: usize,
    /// Channels of `y` in a group.
    pub out_channels: usize,
}

impl Geometry {
    /// The pixels of `y`.
    pub fn pixels(&self) -> usize {
        self.batch * self.outputs()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.axes.iter().map(|a| a.output).product()
    }

    pub(crate) fn window(&self) -> usize {
        self.axes.iter().map(|a| a.window).product()
    }

    /// Whether each of several groups has one channel of `x`.
    pub(crate) fn is_depthwise(&self) -> bool {
        self.in_channels == 1 && self.groups > 1
    }

    /// The same where there is something to multiply; else without the window, which may be of any size then.
    pub(crate) fn lean(mut self) -> Geometry {
        if self.in_channels == 0 || self.out_channels == 0 {
            self.axes.iter_mut().for_each(|axis| axis.window = 1);
        }
        self
    }

    /// Multiplications and additions of all.
    pub fn flops(&self) -> f64 {
        2.0 * (self.batch * self.outputs() * self.window()) as f64
            * (self.groups * self.in_channels * self.out_channels) as f64
    }
}
