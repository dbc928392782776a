//! Features of `tf.train.Example` and `tf.train.SequenceExample` messages, as columns of values.
//!
//! `Example { Features features = 1 }`, `SequenceExample { Features context = 1; FeatureLists feature_lists = 2 }`,
//! `Features { map<string, Feature> feature = 1 }`, `FeatureLists { map<string, FeatureList> feature_list = 1 }`,
//! `FeatureList { repeated Feature feature = 1 }`, and a `Feature` is one of `BytesList = 1`, `FloatList = 2`, `Int64List = 3`, each
//! with its values as field 1. What is written later in a message counts, and lists of one kind go on.

use penstock_data::{Bytes, DType, Error, Result, Tensor};
use penstock_wire::{Field, fields, take_varint};

use crate::values::Values;

/// Which features of a message are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Those of a whole message, an `Example` or the context of a `SequenceExample`, which have the same form.
    Whole(&'static str),
    /// Those of the steps of a `SequenceExample`.
    Steps,
}

impl Part {
    fn message(self) -> &'static str {
        match self {
            Part::Whole(name) => name,
            Part::Steps => "SequenceExample",
        }
    }
}

/// The number of the field of a `Feature` that holds values of this dtype.
fn kind_of(values: &Values) -> u64 {
    match values.dtype() {
        DType::Str => 1,
        DType::F32 => 2,
        _ => 3,
    }
}

/// The values of one feature in all messages.
#[derive(Debug)]
pub struct Column {
    values: Values,
    /// How many values each message has, or each step; -1 for a message without the feature.
    lengths: Vec<i64>,
    /// How many steps each message has, -1 for one without the list.
    steps: Vec<i64>,
    /// What was there before the present message.
    before: (usize, usize),
    found: bool,
}

/// The kind of a list of values, for errors.
fn kind_name(kind: u64) -> &'static str {
    match kind {
        1 => "bytes_list",
        2 => "float_list",
        _ => "int64_list",
    }
}

impl Column {
    /// A column of a dtype.
    ///
    /// # Errors
    /// `DType` for another dtype than `f32`, `i64` and `str`.
    pub fn new(dtype: DType) -> Result<Column> {
        let allowed = matches!(dtype, DType::F32 | DType::I64 | DType::Str);
        let values = Values::new(dtype).filter(|_| allowed).ok_or_else(|| {
            let message = format!("a feature has dtype float32, int64 or string, got {}", dtype.tf_name());
            Error::dtype(message).argument("outs")
        })?;
        Ok(Column { values, lengths: Vec::new(), steps: Vec::new(), before: (0, 0), found: false })
    }

    fn begin(&mut self) {
        self.before = (self.values.len(), self.lengths.len());
        self.found = false;
    }

    /// Forgets what the present message gave so far.
    fn restart(&mut self) {
        self.values.truncate(self.before.0);
        self.lengths.truncate(self.before.1);
    }

    /// Takes the values of a whole message.
    fn take_whole(&mut self, key: &[u8], feature: &[u8], part: Part) -> Result<()> {
        self.restart();
        // A feature without a list is as good as none.
        self.found = self.take_feature(key, feature, part)?;
        Ok(())
    }

    fn end_whole(&mut self) {
        let count = (self.values.len() - self.before.0) as i64;
        self.lengths.push(if self.found { count } else { -1 });
    }

    /// Takes the values of each step of a message.
    fn take_steps(&mut self, key: &[u8], list: &[u8]) -> Result<()> {
        self.restart();
        self.found = true;
        fields(
            list,
            |e| no_message(e, Part::Steps),
            |field, value| {
                if let (1, Field::Bytes(feature)) = (field, value) {
                    let before = self.values.len();
                    self.take_feature(key, feature, Part::Steps)?;
                    self.lengths.push((self.values.len() - before) as i64);
                }
                Ok(())
            },
        )
    }

    fn end_steps(&mut self) {
        let count = (self.lengths.len() - self.before.1) as i64;
        self.steps.push(if self.found { count } else { -1 });
    }

    /// Appends the values of a feature, and tells whether it has a list.
    fn take_feature(&mut self, key: &[u8], feature: &[u8], part: Part) -> Result<bool> {
        let start = self.values.len();
        let mut last = None;
        fields(
            feature,
            |e| no_message(e, part),
            |kind, value| {
                let (1..=3, Field::Bytes(list)) = (kind, value) else { return Ok(()) };
                // A list of another kind takes the place of what was there.
                if last != Some(kind) {
                    self.values.truncate(start);
                    last = Some(kind);
                }
                if kind == kind_of(&self.values) {
                    self.take_list(list, part)?;
                }
                Ok(())
            },
        )?;
        match last {
            Some(kind) if kind != kind_of(&self.values) => {
                let dtype = self.values.dtype().tf_name();
                Err(Error::invalid(format!(
                    "feature '{}' holds a {}, not values of dtype {dtype}",
                    key.escape_ascii(),
                    kind_name(kind)
                )))
            }
            last => Ok(last.is_some()),
        }
    }

    fn take_list(&mut self, list: &[u8], part: Part) -> Result<()> {
        let damaged = |e: &str| no_message(e, part);
        match &mut self.values {
            Values::F32(out) => fields(list, damaged, |field, value| {
                match (field, value) {
                    (1, Field::Fixed32(bits)) => out.push(f32::from_bits(bits)),
                    (1, Field::Bytes(packed)) => {
                        let (values, rest) = packed.as_chunks::<4>();
                        if !rest.is_empty() {
                            return Err(damaged("a list of floats has a part of one"));
                        }
                        out.extend(values.iter().map(|&b| f32::from_le_bytes(b)));
                    }
                    _ => {}
                }
                Ok(())
            }),
            Values::I64(out) => fields(list, damaged, |field, value| {
                match (field, value) {
                    (1, Field::Number(n)) => out.push(n as i64),
                    (1, Field::Bytes(mut packed)) => {
                        while !packed.is_empty() {
                            let n = take_varint(&mut packed);
                            out.push(n.ok_or_else(|| damaged("a list of integers has a part of one"))? as i64);
                        }
                    }
                    _ => {}
                }
                Ok(())
            }),
            Values::Str(out) => fields(list, damaged, |field, value| {
                if let (1, Field::Bytes(text)) = (field, value) {
                    out.push(text.into());
                }
                Ok(())
            }),
            Values::F64(_) | Values::I32(_) => Ok(()),
        }
    }
}

fn no_message(reason: &str, part: Part) -> Error {
    Error::invalid(format!("has what is no {}: {reason}", part.message())).argument("serialized")
}

/// Reads the features `keys` of messages, each into its column.
///
/// # Errors
/// `InvalidArgument` for what is no message, and for a feature of another kind than its column.
pub fn read(messages: &[Bytes], part: Part, keys: &[Bytes], columns: &mut [Column]) -> Result<()> {
    let top = if part == Part::Steps { 2 } else { 1 };
    // Messages of one data set have their features in one order, mostly: the next key is tried first.
    let mut next = 0;
    let twice = keys.iter().enumerate().any(|(i, key)| keys[..i].contains(key));
    for message in messages {
        columns.iter_mut().for_each(Column::begin);
        fields(
            message,
            |e| no_message(e, part),
            |field, value| {
                let Field::Bytes(features) = value else { return Ok(()) };
                if field != top {
                    return Ok(());
                }
                fields(
                    features,
                    |e| no_message(e, part),
                    |field, value| {
                        let (1, Field::Bytes(entry)) = (field, value) else { return Ok(()) };
                        let (mut key, mut feature): (&[u8], &[u8]) = (b"", b"");
                        fields(
                            entry,
                            |e| no_message(e, part),
                            |field, value| {
                                match field {
                                    1 => key = value.bytes(),
                                    2 => feature = value.bytes(),
                                    _ => {}
                                }
                                Ok(())
                            },
                        )?;
                        let start = next;
                        for step in 0..keys.len() {
                            let i = (start + step) % keys.len();
                            if &*keys[i] == key {
                                match part {
                                    Part::Whole(_) => columns[i].take_whole(key, feature, part)?,
                                    Part::Steps => columns[i].take_steps(key, feature)?,
                                }
                                next = i + 1;
                                if !twice {
                                    break;
                                }
                            }
                        }
                        Ok(())
                    },
                )
            },
        )?;
        let end = if part == Part::Steps { Column::end_steps } else { Column::end_whole };
        columns.iter_mut().for_each(end);
    }
    Ok(())
}

/// The values of columns that are parts of one, then for steps their numbers, then the lengths.
///
/// # Errors
/// `ResourceExhausted` where memory cannot be had.
pub fn joined(parts: Vec<Column>, steps: bool) -> Result<Vec<Tensor>> {
    let (mut lengths, mut counts) = (Vec::new(), Vec::new());
    let values = Values::joined(parts.into_iter().map(|part| {
        lengths.extend(part.lengths);
        counts.extend(part.steps);
        part.values
    }))?;
    let count = values.len();
    let mut out = vec![values.tensor(&[count])?];
    if steps {
        out.push(Tensor::from_slice(&[counts.len()], &counts)?);
    }
    out.push(Tensor::from_slice(&[lengths.len()], &lengths)?);
    Ok(out)
}
