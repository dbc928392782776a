//! Operators on boxes in images: which of those that overlap are kept, and random ones.

use penstock_data::{DType, DTypeSet, Dim, Error, Result, Shape, Tensor, memory};
use penstock_ir::{
    ArgType, AttrDef, AttrDefault, AttrKind, Batch, Call, Cost, Cpu, Cuda, DTypeVar, Elements, Fails, Fold, InferCx,
    Jvp, OpDef, OutTypes, Rows, Sample, Type, Vjp, arg, arg_of,
};
use penstock_kernels::Philox;
use penstock_kernels::pool::{grain, parallel_for};
use smallvec::smallvec;

use crate::operands::{index_arg, int_scalar, int_vector, require_rank, size};
use crate::random::seeded;
use crate::sample_arrays::i32s;
use crate::samples::tensor;
use crate::util::PROMISE;

/// The operators of this family.
pub static OPS: &[&OpDef] =
    &[&NON_MAX_SUPPRESSION, &NON_MAX_SUPPRESSION_OVERLAPS, &STATELESS_SAMPLE_DISTORTED_BOUNDING_BOX];

const ON_HOST: Cuda = Cuda::HostFallback("each box depends on those before it");

/// The smaller and the larger of two edges.
fn ordered(a: f32, b: f32) -> (f32, f32) {
    (a.min(b), a.max(b))
}

/// What two boxes have in common, as a share of what they cover together.
fn overlap(a: &[f32], b: &[f32]) -> f32 {
    let (top, bottom) = ordered(a[0], a[2]);
    let (left, right) = ordered(a[1], a[3]);
    let (other_top, other_bottom) = ordered(b[0], b[2]);
    let (other_left, other_right) = ordered(b[1], b[3]);
    let (area, other) = ((bottom - top) * (right - left), (other_bottom - other_top) * (other_right - other_left));
    if area <= 0.0 || other <= 0.0 {
        return 0.0;
    }
    let height = (bottom.min(other_bottom) - top.max(other_top)).max(0.0);
    let width = (right.min(other_right) - left.max(other_left)).max(0.0);
    height * width / (area + other - height * width)
}

/// What decides about a box beside those that are kept.
#[derive(Clone, Copy)]
struct Limits {
    /// The largest overlap.
    overlap: f32,
    /// Scores must be above.
    score: f32,
    /// How scores fall with overlaps; at 0 a box beyond the largest overlap is left out at once.
    sigma: f32,
}

/// Keeps boxes by falling scores until there are as many as places, and gives how many.
fn suppress(
    scores: &[f32],
    limits: Limits,
    similar: impl Fn(usize, usize) -> f32,
    indices: &mut [i32],
    kept_scores: &mut [f32],
) -> usize {
    // The best last; of equal scores the first box comes first.
    let mut order: Vec<usize> = memory::scratch_of((0..scores.len()).filter(|&i| scores[i] > limits.score));
    order.sort_unstable_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a)));
    let mut kept = 0;
    if limits.sigma == 0.0 {
        while let (Some(i), true) = (order.pop(), kept < indices.len()) {
            if indices[..kept].iter().rev().all(|&j| similar(i, j as usize) <= limits.overlap) {
                (indices[kept], kept_scores[kept]) = (i as i32, scores[i]);
                kept += 1;
            }
        }
        return kept;
    }
    let scale = -0.5 / limits.sigma;
    // A box that loses by those kept since it was looked at goes back among the others.
    let mut waiting: Vec<(f32, usize, usize)> = memory::scratch_of(order.iter().map(|&i| (scores[i], i, 0)));
    while let (Some((score, i, seen)), true) = (waiting.pop(), kept < indices.len()) {
        let mut left = score;
        for &j in indices[seen..kept].iter().rev() {
            let similarity = similar(i, j as usize);
            left *= (scale * similarity * similarity).exp();
            if left <= limits.score {
                break;
            }
        }
        if left == score {
            (indices[kept], kept_scores[kept]) = (i as i32, score);
            kept += 1;
        } else if left > limits.score {
            let place = waiting.partition_point(|&(other, k, _)| other.total_cmp(&left).then(i.cmp(&k)).is_lt());
            waiting.insert(place, (left, i, kept));
        }
    }
    kept
}

/// The number of places, where it is known.
fn places(cx: &InferCx<'_>, index: usize) -> Result<Dim> {
    require_rank(cx, index, 0, "max_output_size")?;
    match cx.values.constant(index) {
        Some(value) => Ok(Dim::Known(size(int_scalar(&value, "max_output_size")?, "max_output_size")?)),
        None => Ok(Dim::Unknown),
    }
}

fn scalar(call: &Call<'_>, index: usize, name: &str) -> Result<f32> {
    let value = call.inputs[index].item::<f32>().filter(|_| call.inputs[index].rank() == 0);
    value.ok_or_else(|| Error::invalid("expected a scalar").argument(name))
}

fn limits(call: &Call<'_>, from: usize, argument: &str) -> Result<Limits> {
    let overlap = scalar(call, from, argument)?;
    if !(0.0..=1.0).contains(&overlap) {
        return Err(Error::invalid(format!("must be from 0 to 1, got {overlap}")).argument(argument));
    }
    Ok(Limits { overlap, score: scalar(call, from + 1, "score_threshold")?, sigma: 0.0 })
}

const F32: ArgType = ArgType::Fixed(DType::F32);

/// Boxes that overlap less.
pub static NON_MAX_SUPPRESSION: OpDef = OpDef {
    name: "non_max_suppression",
    tf_name: "NonMaxSuppressionV5",
    doc: "Which boxes of each image are kept, by falling scores: none that overlaps one kept before by more than `iou_threshold`.\n\n\
          `boxes` has shape `[batch, boxes, 4]`, two opposite corners each, row first, and `scores` shape `[batch, boxes]`; boxes whose \
          score is not above `score_threshold` are left out. With a `soft_nms_sigma` above 0 no box is left out for an overlap: its \
          score falls by `exp(-overlap^2 / (2 * soft_nms_sigma))`. Gives indices, `i32`, and scores of shape \
          `[batch, max_output_size]`, zeros behind those kept, and how many are kept, `i32` of shape `[batch]`.\n\n\
          Errors: `InvalidArgument` for other shapes, an `iou_threshold` outside of 0 to 1, a negative `max_output_size` or \
          `soft_nms_sigma`.",
    dtypes: &[],
    operands: &[
        arg_of("boxes", F32),
        arg_of("scores", F32),
        index_arg("max_output_size"),
        arg_of("iou_threshold", F32),
        arg_of("score_threshold", F32),
        arg_of("soft_nms_sigma", F32),
    ],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 3, "boxes")?;
        require_rank(cx, 1, 2, "scores")?;
        let mut batch = Dim::Unknown;
        if let Some(dims) = cx.shape(0).dims() {
            batch = dims[0];
            if dims[2].known().is_some_and(|n| n != 4) {
                return Err(Error::invalid(format!("must have 4 columns, got shape {}", cx.shape(0))).argument("boxes"));
            }
            if let Some(scores) = cx.shape(1).dims()
                && !(scores[0].compatible(dims[0]) && scores[1].compatible(dims[1]))
            {
                let message = format!("shape {} does not go with boxes of shape {}", cx.shape(1), cx.shape(0));
                return Err(Error::invalid(message).argument("scores"));
            }
        }
        for (index, name) in [(3, "iou_threshold"), (4, "score_threshold"), (5, "soft_nms_sigma")] {
            require_rank(cx, index, 0, name)?;
        }
        let kept = Shape::new([batch, places(cx, 2)?]);
        Ok(smallvec![
            Type::tensor(DType::I32, kept.clone()),
            Type::tensor(DType::F32, kept),
            Type::tensor(DType::I32, Shape::new([batch])),
        ])
    },
    cpu: Cpu::Kernel(run_suppression),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("thresholds may differ"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(50.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let boxes = || {
            let corners = [0.0f32, 0.0, 1.0, 1.0, 0.1, 0.0, 1.1, 1.0, 0.0, 2.0, 1.0, 3.0, 1.0, 1.0, 0.0, 0.0];
            Tensor::from_slice(&[1, 4, 4], &corners).expect("four boxes")
        };
        let scores = || Tensor::from_slice(&[1, 4], &[0.5f32, 0.9, 0.3, 0.5]).expect("four scores");
        let of = |most: i32, overlap: f32, score: f32, sigma: f32| {
            let limits = [overlap, score, sigma].map(Tensor::scalar);
            Sample::new([vec![boxes(), scores(), Tensor::scalar(most)], limits.to_vec()].concat())
        };
        let none = Tensor::zeros(DType::F32, &[2, 0, 4]).expect("no boxes");
        let no_scores = Tensor::zeros(DType::F32, &[2, 0]).expect("no scores");
        let few = [Tensor::scalar(2i32), Tensor::scalar(0.5f32), Tensor::scalar(0.0f32), Tensor::scalar(0.0f32)];
        vec![
            of(3, 0.5, f32::NEG_INFINITY, 0.0),
            of(4, 0.9, 0.4, 0.0),
            of(4, 0.5, 0.0, 0.5),
            of(0, 0.5, 0.0, 0.0),
            Sample::new([vec![none, no_scores], few.to_vec()].concat()),
        ]
    },
};

fn run_suppression(call: &mut Call<'_>) -> Result<()> {
    let (boxes, scores) = (call.inputs[0], call.inputs[1]);
    let most = size(int_scalar(call.inputs[2], "max_output_size")?, "max_output_size")?;
    let mut limits = limits(call, 3, "iou_threshold")?;
    limits.sigma = scalar(call, 5, "soft_nms_sigma")?;
    if limits.sigma.is_nan() || limits.sigma < 0.0 {
        return Err(Error::invalid(format!("must not be negative, got {}", limits.sigma)).argument("soft_nms_sigma"));
    }
    let &[batch, count, 4] = boxes.dims() else {
        return Err(Error::invalid(format!("expected [batch, boxes, 4], got {:?}", boxes.dims())).argument("boxes"));
    };
    if scores.dims() != [batch, count] {
        let message = format!("expected shape [{batch}, {count}], got {:?}", scores.dims());
        return Err(Error::invalid(message).argument("scores"));
    }
    let mut indices = Tensor::zeros(DType::I32, &[batch, most])?;
    let mut kept_scores = Tensor::zeros(DType::F32, &[batch, most])?;
    let mut counts = Tensor::zeros(DType::I32, &[batch])?;
    let (boxes, scores) = (boxes.as_slice::<f32>(), scores.as_slice::<f32>());
    // An image's places are written by one thread.
    let mut places: Vec<std::sync::Mutex<(usize, &mut [i32], &mut [f32])>> = memory::with_room(batch)?;
    if most > 0 {
        let rows = indices.as_mut_slice::<i32>().chunks_exact_mut(most);
        let rows = rows.zip(kept_scores.as_mut_slice::<f32>().chunks_exact_mut(most));
        places.extend(rows.map(|(indices, scores)| std::sync::Mutex::new((0, indices, scores))));
    }
    parallel_for(places.len(), grain(20.0 * count as f64), |range| {
        for b in range {
            let mut place = places[b].lock().unwrap_or_else(|e| e.into_inner());
            let (kept, indices, kept_scores) = &mut *place;
            let boxes = &boxes[b * count * 4..][..count * 4];
            let corners = |i: usize| &boxes[i * 4..][..4];
            let similar = |i: usize, j: usize| overlap(corners(i), corners(j));
            *kept = suppress(&scores[b * count..][..count], limits, similar, indices, kept_scores);
        }
    });
    for (place, count) in places.into_iter().zip(counts.as_mut_slice::<i32>()) {
        *count = place.into_inner().unwrap_or_else(|e| e.into_inner()).0 as i32;
    }
    call.set(0, indices);
    call.set(1, kept_scores);
    call.set(2, counts);
    Ok(())
}

/// Boxes whose overlaps are given.
pub static NON_MAX_SUPPRESSION_OVERLAPS: OpDef = OpDef {
    name: "non_max_suppression_overlaps",
    tf_name: "NonMaxSuppressionWithOverlaps",
    doc: "Which boxes are kept, by falling scores: none whose overlap with one kept before is above `overlap_threshold`.\n\n\
          `overlaps` has shape `[boxes, boxes]`, `scores` shape `[boxes]`; boxes whose score is not above `score_threshold` are left \
          out. Gives indices, `i32` of shape `[max_output_size]`, zeros behind those kept, and how many are kept, an `i32` scalar.\n\n\
          Errors: `InvalidArgument` for other shapes and a negative `max_output_size`.",
    dtypes: &[],
    operands: &[
        arg_of("overlaps", F32),
        arg_of("scores", F32),
        index_arg("max_output_size"),
        arg_of("overlap_threshold", F32),
        arg_of("score_threshold", F32),
    ],
    attrs: &[],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 2, "overlaps")?;
        require_rank(cx, 1, 1, "scores")?;
        for (index, name) in [(3, "overlap_threshold"), (4, "score_threshold")] {
            require_rank(cx, index, 0, name)?;
        }
        let kept = Type::tensor(DType::I32, Shape::new([places(cx, 2)?]));
        Ok(smallvec![kept, Type::scalar(DType::I32)])
    },
    cpu: Cpu::Kernel(|call| {
        let (overlaps, scores) = (call.inputs[0], call.inputs[1]);
        let most = size(int_scalar(call.inputs[2], "max_output_size")?, "max_output_size")?;
        let count = scores.len();
        if scores.rank() != 1 || overlaps.dims() != [count, count] {
            let message = format!("expected shape [{count}, {count}], got {:?}", overlaps.dims());
            return Err(Error::invalid(message).argument("overlaps"));
        }
        let limits = Limits {
            overlap: scalar(call, 3, "overlap_threshold")?,
            score: scalar(call, 4, "score_threshold")?,
            sigma: 0.0,
        };
        let mut indices = Tensor::zeros(DType::I32, &[most])?;
        let mut kept_scores = memory::filled(0.0f32, most)?;
        let (table, places) = (overlaps.as_slice::<f32>(), indices.as_mut_slice::<i32>());
        let similar = |i: usize, j: usize| table[i * count + j];
        let kept = suppress(scores.as_slice::<f32>(), limits, similar, places, &mut kept_scores);
        call.set(0, indices);
        call.set(1, Tensor::scalar(kept as i32));
        Ok(())
    }),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("thresholds may differ"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(10.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Evaluate,
    promise: PROMISE,
    samples: || {
        let overlaps = tensor(DType::F32, &[3, 3], &[1.0, 0.6, 0.1, 0.6, 1.0, 0.2, 0.1, 0.2, 1.0]);
        let scores = tensor(DType::F32, &[3], &[0.5, 0.8, 0.25]);
        let limits = [Tensor::scalar(0.5f32), Tensor::scalar(0.0f32)];
        vec![Sample::new([vec![overlaps, scores, Tensor::scalar(3i32)], limits.to_vec()].concat())]
    },
};

/// Random parts of images.
pub static STATELESS_SAMPLE_DISTORTED_BOUNDING_BOX: OpDef = OpDef {
    name: "stateless_sample_distorted_bounding_box",
    tf_name: "StatelessSampleDistortedBoundingBox",
    doc: "A random part of an image of size `image_size`, `[height, width, channels]`: where it begins, `[top, left, 0]`, its size, \
          `[height, width, -1]`, both of the dtype of `image_size`, and its corners as shares of the image, `f32` of shape `[1, 1, 4]`.\n\n\
          The part is drawn by `seed` so that its height and width are in a ratio and its area a share in the ranges \
          `aspect_ratio_range` and `area_range`, and that it covers the share `min_object_covered` of one of `bounding_boxes`, \
          `[batch, boxes, 4]`. Where `max_attempts` draws give none, and where there are no boxes and \
          `use_image_if_no_bounding_boxes`, it is the whole image.\n\n\
          Errors: `InvalidArgument` for other shapes, ranges that are not positive or fall, and no boxes.",
    dtypes: &[DTypeVar::new("T", DTypeSet::of(&[DType::U8, DType::I8, DType::I16, DType::I32, DType::I64]))],
    operands: &[
        arg("image_size"),
        arg_of("bounding_boxes", F32),
        arg_of("min_object_covered", F32),
        index_arg("seed"),
        arg_of("aspect_ratio_range", F32),
        arg_of("area_range", F32),
    ],
    attrs: &[
        AttrDef::new("max_attempts", AttrKind::Int, AttrDefault::Int(100)),
        AttrDef::flag("use_image_if_no_bounding_boxes", false),
    ],
    effects: &[],
    infer: |cx| {
        require_rank(cx, 0, 1, "image_size")?;
        require_rank(cx, 1, 3, "bounding_boxes")?;
        require_rank(cx, 2, 0, "min_object_covered")?;
        require_rank(cx, 3, 1, "seed")?;
        require_rank(cx, 4, 1, "aspect_ratio_range")?;
        require_rank(cx, 5, 1, "area_range")?;
        Ok(part_types(cx.dtype(0)))
    },
    cpu: Cpu::Kernel(run_sample),
    cuda: ON_HOST,
    vjp: Vjp::Zero,
    jvp: Jvp::FromVjp,
    batch: Batch::Loop("no form for many examples is known"),
    rows: Rows::All,
    elements: Elements::Unknown,
    cost: Cost::Element(100.0),
    resolve: None,
    fails: Fails::OnValues,
    fold: Fold::Never("it would store a random part"),
    promise: PROMISE,
    samples: || {
        let of = |covered: f32, boxes: Tensor| {
            let range = |low: f32, high: f32| Tensor::vector(&[low, high]);
            let operands = vec![i32s(&[40, 50, 3]), boxes, Tensor::scalar(covered), i32s(&[3, 4]), range(0.75, 1.33)];
            Sample::new([operands, vec![range(0.05, 1.0)]].concat())
        };
        let one = tensor(DType::F32, &[1, 1, 4], &[0.1, 0.2, 0.9, 0.8]);
        let none = Tensor::zeros(DType::F32, &[1, 0, 4]).expect("no boxes");
        vec![of(0.1, one.clone()), of(1.0, one), of(0.1, none).with("use_image_if_no_bounding_boxes", true)]
    },
};

fn part_types(dtype: DType) -> OutTypes {
    let three = || Type::tensor(dtype, Shape::known(&[3]));
    smallvec![three(), three(), Type::tensor(DType::F32, Shape::known(&[1, 1, 4]))]
}

/// A part of an image in pixels.
#[derive(Clone, Copy)]
struct Part {
    top: i64,
    left: i64,
    bottom: i64,
    right: i64,
}

impl Part {
    fn area(self) -> f64 {
        ((self.bottom - self.top).max(0) * (self.right - self.left).max(0)) as f64
    }

    fn common(self, other: Part) -> Part {
        Part {
            top: self.top.max(other.top),
            left: self.left.max(other.left),
            bottom: self.bottom.min(other.bottom),
            right: self.right.min(other.right),
        }
    }
}

/// Random numbers one after the other.
struct Draws {
    stream: Philox,
    taken: u64,
}

impl Draws {
    fn word(&mut self) -> u32 {
        let word = self.stream.block(self.taken / 4)[(self.taken % 4) as usize];
        self.taken += 1;
        word
    }

    fn unit(&mut self) -> f32 {
        (self.word() >> 8) as f32 / (1u32 << 24) as f32
    }

    fn below(&mut self, n: i64) -> i64 {
        i64::from(self.word()) % n.max(1)
    }
}

fn range(call: &Call<'_>, index: usize, name: &str) -> Result<[f32; 2]> {
    match call.inputs[index].as_slice::<f32>() {
        &[low, high] if 0.0 < low && low <= high => Ok([low, high]),
        other => Err(Error::invalid(format!("must be two positive numbers that rise, got {other:?}")).argument(name)),
    }
}

/// A part of a ratio whose area is in a range, if one is drawn.
fn drawn([height, width]: [i64; 2], [least, most]: [f32; 2], ratio: f32, draws: &mut Draws) -> Option<Part> {
    let whole = (height * width) as f32;
    let (least, most) = (least * whole, most * whole);
    let across = |rows: i64| (rows as f32 * ratio).round_ties_even() as i64;
    let mut rows = (least / ratio).sqrt().round_ties_even() as i64;
    let mut tallest = (most / ratio).sqrt().round_ties_even() as i64;
    if across(tallest) > width {
        tallest = ((width as f32 + 0.5 - 1e-7) / ratio) as i64;
        if across(tallest) > width {
            tallest -= 1;
        }
    }
    tallest = tallest.min(height);
    rows = rows.min(tallest);
    if rows < tallest {
        rows += draws.below(tallest - rows + 1);
    }
    let area = |rows: i64| (rows * across(rows)) as f32;
    // Rounding may have led out of the range.
    if area(rows) < least {
        rows += 1;
    }
    if area(rows) > most {
        rows -= 1;
    }
    let columns = across(rows);
    let fits = rows > 0 && columns > 0 && rows <= height && columns <= width;
    if !fits || area(rows) < least || area(rows) > most {
        return None;
    }
    let top = if rows < height { draws.below(height - rows) } else { 0 };
    let left = if columns < width { draws.below(width - columns) } else { 0 };
    Some(Part { top, left, bottom: top + rows, right: left + columns })
}

fn run_sample(call: &mut Call<'_>) -> Result<()> {
    let dtype = call.inputs[0].dtype();
    let image_size = int_vector(call.inputs[0], "image_size")?;
    let (height, width) = match image_size[..] {
        [height, width, _] if height > 0 && width > 0 && height.checked_mul(width).is_some() => (height, width),
        _ => {
            let message = format!("must be a positive height and width and the channels, got {image_size:?}");
            return Err(Error::invalid(message).argument("image_size"));
        }
    };
    let boxes = call.inputs[1];
    if boxes.rank() != 3 || boxes.dims()[2] != 4 {
        let message = format!("expected [batch, boxes, 4], got {:?}", boxes.dims());
        return Err(Error::invalid(message).argument("bounding_boxes"));
    }
    let covered = scalar(call, 2, "min_object_covered")?;
    if covered.is_nan() || covered < 0.0 {
        let message = format!("must not be negative, got {covered}");
        return Err(Error::invalid(message).argument("min_object_covered"));
    }
    let attempts = call.attrs.int(0);
    if attempts <= 0 {
        return Err(Error::invalid(format!("must be positive, got {attempts}")).argument("max_attempts"));
    }
    let (ratios, areas) = (range(call, 4, "aspect_ratio_range")?, range(call, 5, "area_range")?);
    if areas[1] > 1.0 {
        return Err(Error::invalid(format!("must not be above 1, got {areas:?}")).argument("area_range"));
    }
    let whole = Part { top: 0, left: 0, bottom: height, right: width };
    let mut objects: Vec<Part> = memory::collected(boxes.as_slice::<f32>().chunks_exact(4).map(|corners| Part {
        top: (corners[0] * height as f32) as i64,
        left: (corners[1] * width as f32) as i64,
        bottom: (corners[2] * height as f32) as i64,
        right: (corners[3] * width as f32) as i64,
    }))?;
    for corners in boxes.as_slice::<f32>().chunks_exact(4) {
        if !(corners.iter().all(|x| (0.0..=1.0).contains(x)) && corners[0] < corners[2] && corners[1] < corners[3]) {
            let message = format!("must be rising shares of an image, got {corners:?}");
            return Err(Error::invalid(message).argument("bounding_boxes"));
        }
    }
    if objects.is_empty() {
        if !call.attrs.flag(1) {
            let message = "there are none; see use_image_if_no_bounding_boxes";
            return Err(Error::invalid(message).argument("bounding_boxes"));
        }
        memory::push(&mut objects, whole)?;
    }
    let mut draws = Draws { stream: seeded(call.inputs[3])?, taken: 0 };
    let mut found = whole;
    for _ in 0..attempts {
        let ratio = ratios[0] + (ratios[1] - ratios[0]) * draws.unit();
        let Some(part) = drawn([height, width], areas, ratio, &mut draws) else { continue };
        let covers =
            |object: &Part| object.area() >= 1.0 && part.common(*object).area() / object.area() >= covered.into();
        if objects.iter().any(covers) {
            found = part;
            break;
        }
    }
    let vector = |values: [i64; 3]| -> Result<Tensor> {
        Ok(match dtype {
            DType::U8 => Tensor::from_slice(&[3], &values.map(|v| v as u8))?,
            DType::I8 => Tensor::from_slice(&[3], &values.map(|v| v as i8))?,
            DType::I16 => Tensor::from_slice(&[3], &values.map(|v| v as i16))?,
            DType::I32 => Tensor::from_slice(&[3], &values.map(|v| v as i32))?,
            _ => Tensor::from_slice(&[3], &values)?,
        })
    };
    let share = |at: i64, of: i64| at as f32 / of as f32;
    let corners =
        [share(found.top, height), share(found.left, width), share(found.bottom, height), share(found.right, width)];
    call.set(0, vector([found.top, found.left, 0])?);
    call.set(1, vector([found.bottom - found.top, found.right - found.left, -1])?);
    call.set(2, Tensor::from_slice(&[1, 1, 4], &corners)?);
    Ok(())
}
