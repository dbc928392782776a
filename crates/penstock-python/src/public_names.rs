//! What the arguments of operators are called in public functions, where operators call them otherwise.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The name of an argument of operators, the public name, and the operators.
const NAMES: &[(&str, &str, &str)] = &[
    (
        "x",
        "input",
        "angle argmax argmin as_string bitcast broadcast_to cholesky expand_dims identity imag log_matrix_determinant lu \
         matrix_band_part matrix_determinant matrix_diag_part matrix_inverse ones_like qr qr_full rank real regex_full_match \
         regex_replace size squeeze stop_gradient string_bytes_split string_length string_lower string_split \
         string_to_hash_bucket string_to_hash_bucket_fast string_to_number string_upper substr tile top_k unicode_decode \
         unicode_decode_with_offsets unicode_script",
    ),
    (
        "x",
        "input_tensor",
        "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum",
    ),
    ("x", "tensor", "eig eigvals pad reverse self_adjoint_eig self_adjoint_eigvals singular_values svd svd_full"),
    ("x", "values", "argsort sort"),
    ("x", "logits", "log_softmax softmax"),
    ("x", "value", "bias_add"),
    ("x", "inputs", "string_reduce_join"),
    ("data", "inputs", "string_unsorted_segment_join"),
    ("x", "a", "polygamma transpose"),
    ("y", "x", "polygamma atan2"),
    ("x", "y", "atan2"),
    ("x", "x1", "nextafter"),
    ("y", "x2", "nextafter"),
    ("y", "q", "zeta"),
    ("x", "real", "complex"),
    ("y", "imag", "complex"),
    ("values", "inputs", "string_join"),
    ("data", "inputs", "string_format print"),
    (
        "axes",
        "axis",
        "count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum reverse \
         squeeze string_reduce_join",
    ),
    ("dtype", "output_type", "argmax argmin"),
    ("dtype", "out_type", "searchsorted shape size string_to_number"),
    ("dtype", "index_type", "top_k"),
    ("dtype", "out_idx", "unique"),
    ("dtype", "type", "bitcast"),
    ("lower", "num_lower", "matrix_band_part"),
    ("upper", "num_upper", "matrix_band_part"),
];

/// The public names of an operator's arguments that have another one.
fn renamed(op: &str) -> &'static [(&'static str, &'static str)] {
    static TABLE: LazyLock<HashMap<&str, Vec<(&str, &str)>>> = LazyLock::new(|| {
        let mut table: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
        for &(own, public, ops) in NAMES {
            ops.split_ascii_whitespace().for_each(|op| table.entry(op).or_default().push((own, public)));
        }
        table
    });
    TABLE.get(op).map_or(&[][..], Vec::as_slice)
}

/// A message of an operator, with the public names of its arguments in place of its own, where they stand in quotes.
pub(crate) fn in_public(op: Option<&str>, message: String) -> String {
    let names = op.map_or(&[][..], renamed);
    if names.is_empty() {
        return message;
    }
    let words = message.split('\'').map(|word| {
        let (name, rest) = word.split_at(word.find('[').unwrap_or(word.len()));
        let public = names.iter().find(|(own, _)| *own == name).map_or(name, |&(_, public)| public);
        format!("{public}{rest}")
    });
    words.collect::<Vec<_>>().join("'")
}

#[cfg(test)]
mod tests {
    use penstock_ir::OpSet;

    use super::*;

    #[test]
    fn the_listed_operators_have_the_listed_arguments() {
        for &(own, _, ops) in NAMES {
            for name in ops.split_ascii_whitespace() {
                let op = penstock_ops::Ops.find(name).unwrap_or_else(|| panic!("{name}"));
                let known = op.operands.iter().any(|a| a.name == own) || op.attrs.iter().any(|a| a.name == own);
                assert!(known, "{name} {own}");
            }
        }
    }

    #[test]
    fn quoted_names_are_those_of_public_functions() {
        let message = |text: &str| in_public(Some("atan2"), text.to_owned());
        assert_eq!(
            message("atan2: argument 'y': x differs from argument 'x'"),
            "atan2: argument 'x': x differs from argument 'y'"
        );
        assert_eq!(in_public(Some("string_join"), "argument 'values[1]': no".into()), "argument 'inputs[1]': no");
        assert_eq!(in_public(Some("add"), "argument 'x': no".into()), "argument 'x': no");
        assert_eq!(in_public(None, "argument 'x'".into()), "argument 'x'");
    }
}
