//! Arrays in NumPy's files: `.npy`, and `.npz`, a zip archive of them whose entries are stored as they are.

use std::fs;
use std::path::Path;

use penstock::{Bytes, DType, Error, Result, Tensor};

use crate::files::{unread, unwritten};

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's names of elements, and their dtypes here. A 2-byte void is what `ml_dtypes` writes for bfloat16.
const DTYPES: [(&str, DType); 16] = [
    ("|b1", DType::Bool),
    ("|i1", DType::I8),
    ("<i2", DType::I16),
    ("<i4", DType::I32),
    ("<i8", DType::I64),
    ("|u1", DType::U8),
    ("<u2", DType::U16),
    ("<u4", DType::U32),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<V2", DType::Bf16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
    ("<c8", DType::C64),
    ("<c16", DType::C128),
    ("|V2", DType::Bf16),
];

/// Reads an `.npy`. Texts become strings.
///
/// # Errors
/// `InvalidArgument` for what is no such file; `DType` for elements that are of another dtype than `due`.
pub(crate) fn load(path: &Path, due: DType) -> Result<Tensor> {
    let bytes = fs::read(path).map_err(|e| unread(path, &e))?;
    read(&bytes, due).map_err(|e| Error::new(e.class(), format!("{}: {}", path.display(), e.message())))
}

/// The value of a key of the header, which is a dictionary in Python's syntax.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header.split_once(&format!("'{key}':"))?.1.trim_start();
    Some(match rest.chars().next()? {
        '\'' => rest[1..].split('\'').next()?,
        '(' => rest[1..].split(')').next()?,
        _ => rest.split([',', '}']).next()?.trim(),
    })
}

fn read(bytes: &[u8], due: DType) -> Result<Tensor> {
    let wrong = || Error::invalid("this is no .npy file, or it is damaged");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(wrong)?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or_else(wrong)?;
    let (len, rest) = if major == 1 {
        rest.split_first_chunk().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest))
    } else {
        rest.split_first_chunk().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest))
    }
    .ok_or_else(wrong)?;
    let (header, data) = rest.split_at_checked(len).ok_or_else(wrong)?;
    let header = std::str::from_utf8(header).map_err(|_| wrong())?;
    let descr = field(header, "descr").ok_or_else(wrong)?;
    let shape = field(header, "shape").ok_or_else(wrong)?;
    let dims = shape.split(',').map(str::trim).filter(|d| !d.is_empty());
    let dims = dims.map(|d| d.parse().map_err(|_| wrong())).collect::<Result<Vec<usize>>>()?;
    if field(header, "fortran_order") != Some("False") && dims.len() > 1 {
        return Err(Error::invalid("the array is in Fortran's order; save what numpy.ascontiguousarray gives"));
    }
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or_else(wrong)?;
    if let Some(strings) = strings(descr, count, data) {
        return Tensor::from_strings(&dims, strings?).and_then(|t| fits(t, due));
    }
    let Some((_, dtype)) = DTYPES.iter().find(|(name, _)| *name == descr) else {
        return Err(Error::dtype(format!("elements {descr:?} of NumPy have no dtype here")));
    };
    if count.checked_mul(dtype.size()) != Some(data.len()) {
        return Err(wrong());
    }
    if *dtype == DType::Bool && data.iter().any(|b| *b > 1) {
        return Err(wrong());
    }
    let mut tensor = Tensor::empty(*dtype, &dims)?;
    tensor.bytes_mut().copy_from_slice(data);
    fits(tensor, due)
}

fn fits(tensor: Tensor, due: DType) -> Result<Tensor> {
    if tensor.dtype() == due {
        return Ok(tensor);
    }
    Err(Error::dtype(format!("holds {}, the input is {}", tensor.dtype().tf_name(), due.tf_name())))
}

/// The elements of an array of bytes (`S`) or of text (`U`), without the zeros that fill them up; `None` for other elements.
fn strings(descr: &str, count: usize, data: &[u8]) -> Option<Result<Vec<Bytes>>> {
    let wrong = || Error::invalid("this is no .npy file, or it is damaged");
    let (text, width) = match (descr.strip_prefix("|S"), descr.strip_prefix("<U")) {
        (Some(n), _) => (false, n.parse::<usize>().ok()?),
        (_, Some(n)) => (true, n.parse::<usize>().ok()?.checked_mul(4)?),
        _ => return None,
    };
    if count.checked_mul(width) != Some(data.len()) {
        return Some(Err(wrong()));
    }
    if width == 0 {
        return Some(Ok((0..count).map(|_| Bytes::from([])).collect()));
    }
    let element = |bytes: &[u8]| {
        if !text {
            let len = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
            return Ok(Bytes::from(&bytes[..len]));
        }
        let code = |c: &[u8]| char::from_u32(u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        let chars = bytes.chunks_exact(4).map(code).collect::<Option<String>>().ok_or_else(wrong)?;
        Ok(Bytes::from(chars.trim_end_matches('\0').as_bytes()))
    };
    Some(data.chunks_exact(width).map(element).collect())
}

/// A tensor as an `.npy`.
fn write(tensor: &Tensor) -> Result<Vec<u8>> {
    let (descr, data) = if tensor.dtype() == DType::Str {
        let width = tensor.strings().iter().map(|s| s.len()).max().unwrap_or(0).max(1);
        let mut data = Vec::new();
        for s in tensor.strings() {
            data.extend_from_slice(s);
            data.resize(data.len() + width - s.len(), 0);
        }
        (format!("|S{width}"), data)
    } else {
        let found = DTYPES.iter().find(|(_, d)| *d == tensor.dtype());
        let (name, _) =
            found.ok_or_else(|| Error::dtype(format!("a {} tensor is no array of NumPy", tensor.dtype().tf_name())))?;
        ((*name).to_owned(), tensor.bytes().to_vec())
    };
    let dims: Vec<String> = tensor.dims().iter().map(|d| format!("{d},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", dims.concat());
    // The data start at a multiple of 64 bytes.
    let prefix = MAGIC.len() + 2 + 2;
    let padded = (prefix + header.len() + 1).next_multiple_of(64) - prefix;
    header += &" ".repeat(padded - header.len() - 1);
    header.push('\n');
    let len = u16::try_from(header.len()).map_err(|_| Error::invalid("too many dimensions for an .npy"))?;
    Ok([MAGIC, &[1, 0], &len.to_le_bytes(), header.as_bytes(), &data].concat())
}

/// Writes an `.npy`.
///
/// # Errors
/// `DType` for what is no array of NumPy; `FailedPrecondition` where the file cannot be written.
pub(crate) fn save(path: &Path, tensor: &Tensor) -> Result<()> {
    fs::write(path, write(tensor)?).map_err(|e| unwritten(path, &e))
}

/// CRC-32 of zip archives.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let (mut crc, mut bit) = (i as u32, 0);
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
                bit += 1;
            }
            table[i] = crc;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, &b| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ b)])
}

/// Writes arrays by name as an `.npz`.
///
/// # Errors
/// As [`save`]; `InvalidArgument` where an array has 4 GB or more.
pub(crate) fn save_archive(path: &Path, arrays: &[(&str, &Tensor)]) -> Result<()> {
    let large = || Error::invalid("an .npz here holds less than 4 GB; write one array to an .npy");
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, tensor) in arrays {
        let (name, data) = (format!("{name}.npy"), write(tensor)?);
        let size = u32::try_from(data.len()).map_err(|_| large())?.to_le_bytes();
        let at = u32::try_from(out.len()).map_err(|_| large())?.to_le_bytes();
        // Version 2.0, names in UTF-8, stored, the first day that there is.
        let common = [
            &[20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0][..],
            &crc32(&data).to_le_bytes(),
            &size,
            &size,
            &(name.len() as u16).to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        out.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &data].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &at, name.as_bytes()].concat());
    }
    let count = (arrays.len() as u16).to_le_bytes();
    let at = u32::try_from(out.len()).map_err(|_| large())?.to_le_bytes();
    let len = (directory.len() as u32).to_le_bytes();
    out.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &len, &at, &[0, 0]].concat());
    fs::write(path, out).map_err(|e| unwritten(path, &e))
}

/// Reads the arrays of an `.npz` that `dtype_of` has a dtype for.
///
/// # Errors
/// `InvalidArgument` for what is no such archive, or a compressed one; as [`load`].
pub(crate) fn load_archive(path: &Path, dtype_of: &dyn Fn(&str) -> Option<DType>) -> Result<Vec<(String, Tensor)>> {
    let bytes = fs::read(path).map_err(|e| unread(path, &e))?;
    let named = |e: &Error| Error::new(e.class(), format!("{}: {}", path.display(), e.message()));
    let mut arrays = Vec::new();
    for (name, data) in entries(&bytes).map_err(|e| named(&e))? {
        let name = name.strip_suffix(".npy").unwrap_or(&name);
        let dtype = dtype_of(name).ok_or_else(|| named(&Error::invalid(format!("there is no input '{name}'"))))?;
        arrays.push((name.to_owned(), read(data, dtype).map_err(|e| named(&e).argument(name))?));
    }
    Ok(arrays)
}

/// The names and contents of the entries of a zip archive.
fn entries(bytes: &[u8]) -> Result<Vec<(String, &[u8])>> {
    const END: usize = 22;
    let wrong = || Error::invalid("this is no .npz file, or it is damaged");
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let long = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let last = bytes.len().checked_sub(END).ok_or_else(wrong)?;
    let end = (last.saturating_sub(1 << 16)..=last).rev().find(|&at| bytes[at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or_else(wrong)?;
    let (count, mut at) = short(end + 10).zip(long(end + 16)).ok_or_else(wrong)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let entry = || {
            bytes.get(at..)?.starts_with(b"PK\x01\x02").then_some(())?;
            let (method, crc, size) = (short(at + 10)?, long(at + 16)?, long(at + 24)?);
            let (name_len, extra, comment, local) = (short(at + 28)?, short(at + 30)?, short(at + 32)?, long(at + 42)?);
            let name = std::str::from_utf8(bytes.get(at + 46..at + 46 + name_len)?).ok()?;
            let data = local + 30 + short(local + 26)? + short(local + 28)?;
            Some((method, crc, bytes.get(data..data + size), name, at + 46 + name_len + extra + comment))
        };
        let (method, crc, data, name, next) = entry().ok_or_else(wrong)?;
        if method != 0 {
            return Err(Error::invalid(format!("'{name}' is compressed; save with numpy.savez")));
        }
        let data = data.filter(|d| crc32(d) as usize == crc).ok_or_else(wrong)?;
        found.push((name.to_owned(), data));
        at = next;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &Tensor, b: &Tensor) {
        assert_eq!((a.dtype(), a.dims(), a.strings()), (b.dtype(), b.dims(), b.strings()));
        assert!(a.dtype() == DType::Str || a.bytes() == b.bytes());
    }

    fn samples() -> Vec<Tensor> {
        let plain = DTYPES.iter().map(|(_, d)| Tensor::zeros(*d, &[2, 3]).unwrap());
        let strings = Tensor::from_strings(&[2], vec![Bytes::from(*b"ab"), Bytes::from(*b"")]).unwrap();
        let more = [Tensor::from(2.5f32), Tensor::from_slice(&[1, 2], &[1i64, -1]).unwrap(), strings];
        plain.chain(more).collect()
    }

    #[test]
    fn arrays_come_back_from_both_kinds_of_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arrays.npz");
        for tensor in samples() {
            same(&read(&write(&tensor).unwrap(), tensor.dtype()).unwrap(), &tensor);
            save_archive(&path, &[("x", &tensor), ("y", &tensor)]).unwrap();
            let back = load_archive(&path, &|_| Some(tensor.dtype())).unwrap();
            assert_eq!(back.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["x", "y"]);
            back.iter().for_each(|(_, t)| same(t, &tensor));
        }
    }

    #[test]
    fn the_checksum_is_that_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn text_of_numpy_is_utf_8_here() {
        let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }\n";
        let text: Vec<u8> = "é\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        let bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &text].concat();
        assert_eq!(read(&bytes, DType::Str).unwrap().strings(), [Bytes::from("é".as_bytes())]);
    }

    #[test]
    fn damaged_files_are_errors() {
        let whole = write(&Tensor::from_slice(&[2, 2], &[1.0f32; 4]).unwrap()).unwrap();
        for end in 0..whole.len() {
            assert!(read(&whole[..end], DType::F32).is_err());
        }
        for i in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[i] ^= 1 << bit;
                let _ = read(&changed, DType::F32);
                let _ = entries(&changed);
            }
        }
        assert!(read(&whole, DType::F64).unwrap_err().message().contains("float32"));
        let fortran = String::from_utf8_lossy(&whole[10..128]).replace("False", "True ");
        let bytes = [&whole[..10], fortran.as_bytes(), &whole[128..]].concat();
        assert!(read(&bytes, DType::F32).unwrap_err().message().contains("Fortran"));
    }
}
