//! Arithmetic, comparisons, reductions, sorting, segments and linear algebra.

use penstock_data::DType;
use penstock_ir::Attr;

use super::{Cx, Entry, From::*, Val, made, many, one, op, refused, tensors};
use penstock_data::Result;

const KEEP: (&str, super::From) = ("keepdims", Flag("keep_dims", false));
const AXES: (&str, super::From) = ("axes", InputInts(1));
const SCAN: &[(&str, super::From)] =
    &[("axis", InputInt(1)), ("exclusive", Flag("exclusive", false)), ("reverse", Flag("reverse", false))];
const MATMUL: &[(&str, super::From)] =
    &[("transpose_a", Flag("transpose_a", false)), ("transpose_b", Flag("transpose_b", false))];
const ADJOINT: &[(&str, super::From)] = &[("adjoint_a", Flag("adj_x", false)), ("adjoint_b", Flag("adj_y", false))];

pub(super) static OPS: &[Entry] = &[
    op("Neg", "neg", &[]),
    op("Abs", "abs", &[]),
    op("ComplexAbs", "abs", &[]),
    op("Sign", "sign", &[]),
    op("Square", "square", &[]),
    op("Sqrt", "sqrt", &[]),
    op("Rsqrt", "rsqrt", &[]),
    op("Reciprocal", "reciprocal", &[]),
    op("Inv", "reciprocal", &[]),
    op("Exp", "exp", &[]),
    op("Expm1", "expm1", &[]),
    op("Log", "log", &[]),
    op("Log1p", "log1p", &[]),
    op("Sin", "sin", &[]),
    op("Cos", "cos", &[]),
    op("Tan", "tan", &[]),
    op("Asin", "asin", &[]),
    op("Acos", "acos", &[]),
    op("Atan", "atan", &[]),
    op("Sinh", "sinh", &[]),
    op("Cosh", "cosh", &[]),
    op("Tanh", "tanh", &[]),
    op("Asinh", "asinh", &[]),
    op("Acosh", "acosh", &[]),
    op("Atanh", "atanh", &[]),
    op("Sigmoid", "sigmoid", &[]),
    op("Floor", "floor", &[]),
    op("Ceil", "ceil", &[]),
    op("Round", "round", &[]),
    op("Rint", "rint", &[]),
    op("Erf", "erf", &[]),
    op("Erfc", "erfc", &[]),
    op("Lgamma", "lgamma", &[]),
    op("Digamma", "digamma", &[]),
    op("Erfinv", "erfinv", &[]),
    op("Ndtri", "ndtri", &[]),
    op("IsNan", "is_nan", &[]),
    op("IsInf", "is_inf", &[]),
    op("IsFinite", "is_finite", &[]),
    op("LogicalNot", "logical_not", &[]),
    op("Invert", "invert", &[]),
    op("Real", "real", &[]),
    op("Imag", "imag", &[]),
    op("Conj", "conj", &[]),
    op("Angle", "angle", &[]),
    op("Add", "add", &[]),
    op("AddV2", "add", &[]),
    op("Sub", "sub", &[]),
    op("Mul", "mul", &[]),
    op("RealDiv", "div", &[]),
    made("Div", |cx, _| {
        let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
        let op = if cx.dtype_of(x).is_integer() { "truncatediv" } else { "div" };
        one(cx.op(op, &[x, y], &[])?)
    }),
    op("FloorDiv", "floordiv", &[]),
    op("FloorMod", "floormod", &[]),
    op("TruncateDiv", "truncatediv", &[]),
    op("TruncateMod", "truncatemod", &[]),
    op("Mod", "truncatemod", &[]),
    op("Pow", "pow", &[]),
    op("Maximum", "maximum", &[]),
    op("Minimum", "minimum", &[]),
    op("Atan2", "atan2", &[]),
    op("SquaredDifference", "squared_difference", &[]),
    op("DivNoNan", "divide_no_nan", &[]),
    op("MulNoNan", "multiply_no_nan", &[]),
    op("Xlogy", "xlogy", &[]),
    op("Xdivy", "xdivy", &[]),
    made("Xlog1py", |cx, _| {
        let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = cx.dtype_of(y);
        let (one_, zero) = (cx.scalar(1.0, dtype)?, cx.scalar(0.0, dtype)?);
        let (log, none) = (cx.op("log1p", &[y], &[])?, cx.op("equal", &[x, zero], &[])?);
        let (product, still) = (cx.op("mul", &[x, log], &[])?, cx.op("mul", &[zero, one_], &[])?);
        one(cx.op("select", &[none, still, product], &[])?)
    }),
    op("NextAfter", "nextafter", &[]),
    op("Zeta", "zeta", &[]),
    op("Polygamma", "polygamma", &[]),
    op("Igamma", "igamma", &[]),
    op("Igammac", "igammac", &[]),
    op("BitwiseAnd", "bitwise_and", &[]),
    op("BitwiseOr", "bitwise_or", &[]),
    op("BitwiseXor", "bitwise_xor", &[]),
    op("LeftShift", "left_shift", &[]),
    op("RightShift", "right_shift", &[]),
    op("Complex", "complex", &[]),
    op("AddN", "add_n", &[]),
    op("AccumulateNV2", "add_n", &[]),
    op("Equal", "equal", &[]),
    op("NotEqual", "not_equal", &[]),
    op("Less", "less", &[]),
    op("LessEqual", "less_equal", &[]),
    op("Greater", "greater", &[]),
    op("GreaterEqual", "greater_equal", &[]),
    op("LogicalAnd", "logical_and", &[]),
    op("LogicalOr", "logical_or", &[]),
    made("ApproximateEqual", |cx, _| {
        let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = cx.dtype_of(x);
        let difference = cx.op("sub", &[x, y], &[])?;
        let distance = cx.op("abs", &[difference], &[])?;
        let limit = cx.float("tolerance", 1e-5)?;
        let limit = cx.scalar(f64::from(limit), dtype)?;
        one(cx.op("less", &[distance, limit], &[])?)
    }),
    made("ClipByValue", |cx, _| {
        let (x, low, high) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let below = cx.op("minimum", &[x, high], &[])?;
        one(cx.op("maximum", &[below, low], &[])?)
    }),
    made("Select", select),
    op("SelectV2", "select", &[]),
    op("Cast", "cast", &[("dtype", DType("DstT", self::DType::F32))]),
    op("Bitcast", "bitcast", &[("dtype", DType("type", self::DType::F32))]),
    op("Sum", "reduce_sum", &[AXES, KEEP]),
    op("Prod", "reduce_prod", &[AXES, KEEP]),
    op("Max", "reduce_max", &[AXES, KEEP]),
    op("Min", "reduce_min", &[AXES, KEEP]),
    op("Mean", "reduce_mean", &[AXES, KEEP]),
    op("Any", "reduce_any", &[AXES, KEEP]),
    op("All", "reduce_all", &[AXES, KEEP]),
    made("EuclideanNorm", |cx, _| {
        let (x, axes) = (cx.tensor(0)?, cx.const_ints(1)?);
        let keep = cx.flag("keep_dims", false)?;
        let square = cx.op("square", &[x], &[])?;
        let sum = cx.op("reduce_sum", &[square], &[("axes", axes.into()), ("keepdims", keep.into())])?;
        one(cx.op("sqrt", &[sum], &[])?)
    }),
    made("L2Loss", |cx, _| {
        let x = cx.tensor(0)?;
        let dtype = cx.dtype_of(x);
        let square = cx.op("square", &[x], &[])?;
        let (sum, half) = (cx.op("reduce_sum", &[square], &[])?, cx.scalar(0.5, dtype)?);
        one(cx.op("mul", &[sum, half], &[])?)
    }),
    op("ArgMax", "argmax", &[("axis", InputInt(1)), ("dtype", DType("output_type", self::DType::I64))]),
    op("ArgMin", "argmin", &[("axis", InputInt(1)), ("dtype", DType("output_type", self::DType::I64))]),
    op("Cumsum", "cumsum", SCAN),
    op("Cumprod", "cumprod", SCAN),
    op("CumulativeLogsumexp", "cumulative_logsumexp", SCAN),
    many("TopKV2", "top_k", &["values", "indices"], &[("dtype", DType("index_type", self::DType::I32))]),
    op("LowerBound", "searchsorted", &[("dtype", DType("out_type", self::DType::I32))]),
    made("UpperBound", |cx, _| {
        let (x, y, dtype) = (cx.tensor(0)?, cx.tensor(1)?, cx.dtype("out_type", self::DType::I32)?);
        one(cx.op("searchsorted", &[x, y], &[("right", true.into()), ("dtype", dtype.into())])?)
    }),
    Entry { outputs: &["y", "idx"], ..made("Unique", |cx, _| unique(cx, 2)) },
    Entry { outputs: &["y", "idx", "count"], ..made("UniqueWithCounts", |cx, _| unique(cx, 3)) },
    op("UnsortedSegmentSum", "unsorted_segment_sum", &[]),
    op("UnsortedSegmentMax", "unsorted_segment_max", &[]),
    op("UnsortedSegmentMin", "unsorted_segment_min", &[]),
    op("UnsortedSegmentProd", "unsorted_segment_prod", &[]),
    op("SegmentSum", "segment_sum", &[]),
    op("SegmentMean", "segment_mean", &[]),
    op("SegmentMax", "segment_max", &[]),
    op("SegmentMin", "segment_min", &[]),
    op("SegmentProd", "segment_prod", &[]),
    op("MatMul", "matmul", MATMUL),
    op("BatchMatMul", "matmul", ADJOINT),
    op("BatchMatMulV2", "matmul", ADJOINT),
    op("BatchMatMulV3", "matmul", ADJOINT),
    made("Einsum", super::nn::einsum),
    op("MatrixBandPart", "matrix_band_part", &[("lower", InputInt(1)), ("upper", InputInt(2))]),
    op("MatrixDiagPart", "matrix_diag_part", &[]),
    made("MatrixDiagPartV3", |cx, _| {
        main_diagonal(cx, 1)?;
        let x = cx.tensor(0)?;
        one(cx.op("matrix_diag_part", &[x], &[])?)
    }),
    op("MatrixSetDiag", "matrix_set_diag", &[]),
    made("MatrixSetDiagV3", |cx, _| {
        main_diagonal(cx, 2)?;
        let (x, diagonal) = (cx.tensor(0)?, cx.tensor(1)?);
        one(cx.op("matrix_set_diag", &[x, diagonal], &[])?)
    }),
    made("MatrixDiag", |cx, _| matrix_diag(cx)),
    made("MatrixDiagV3", |cx, _| {
        main_diagonal(cx, 1)?;
        for asked in [2, 3] {
            if cx.const_int(asked)? != -1 {
                return refused("a diagonal of a matrix that is not square");
            }
        }
        matrix_diag(cx)
    }),
    op(
        "MatrixTriangularSolve",
        "triangular_solve",
        &[("lower", Flag("lower", true)), ("adjoint", Flag("adjoint", false))],
    ),
    op("MatrixSolve", "matrix_solve", &[("adjoint", Flag("adjoint", false))]),
    op("MatrixInverse", "matrix_inverse", &[]),
    op("MatrixDeterminant", "matrix_determinant", &[]),
    op("Cholesky", "cholesky", &[]),
];

/// Checks that the diagonals that an input names are the main one alone.
fn main_diagonal(cx: &Cx<'_, '_, '_, '_>, input: usize) -> Result<()> {
    if cx.const_ints(input)?.iter().all(|&k| k == 0) { Ok(()) } else { refused("diagonals beside the main one") }
}

/// Square matrices that are zero beside their diagonals.
fn matrix_diag(cx: &mut Cx<'_, '_, '_, '_>) -> Result<Vec<Val>> {
    let diagonal = cx.tensor(0)?;
    let dtype = cx.dtype_of(diagonal);
    let shape = cx.op("shape", &[diagonal], &[("dtype", DType::I64.into())])?;
    let behind = cx.rank(diagonal)? as i64 - 1;
    let (last, rest) = (cx.ints(&[-1]), cx.ints(&[behind]));
    let size = cx.op("slice", &[shape, rest, last], &[])?;
    let dims = cx.op("concat", &[shape, size], &[("axis", 0i64.into())])?;
    let zero = cx.constant(penstock_data::Tensor::zeros(dtype, &[])?);
    let empty = cx.op("fill", &[dims, zero], &[])?;
    one(cx.op("matrix_set_diag", &[empty, diagonal], &[])?)
}

/// The old form: a condition that is a vector selects rows.
fn select(cx: &mut Cx<'_, '_, '_, '_>, _: &Entry) -> Result<Vec<Val>> {
    let (mut condition, x, y) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if cx.rank(condition)? == 1 {
        for _ in 1..cx.rank(x)? {
            condition = cx.op("expand_dims", &[condition], &[("axis", (-1i64).into())])?;
        }
    }
    let op = if cx.dtype_of(x) == DType::Str { "string_select" } else { "select" };
    one(cx.op(op, &[condition, x, y], &[])?)
}

fn unique(cx: &mut Cx<'_, '_, '_, '_>, outputs: usize) -> Result<Vec<Val>> {
    let (x, dtype) = (cx.tensor(0)?, cx.dtype("out_idx", DType::I32)?);
    if cx.inputs.len() > 1 {
        return refused("values that are unique along an axis");
    }
    let dtype: Attr = dtype.into();
    let mut made = cx.ops("unique", &[x], &[("dtype", dtype)])?;
    made.truncate(outputs);
    tensors(made)
}
