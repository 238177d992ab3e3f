//! Git's binary hunks: base-85 lines around zlib data.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// A blob larger than this is not unpacked.
pub const MAX_BLOB_BYTES: usize = 8 * 1024 * 1024;

/// Decodes the lines of a hunk: each a length letter (`A`–`Z` 1–26, `a`–`z` 27–52) and groups of five digits for four bytes.
pub fn decode(lines: &[&str]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        let (length, digits) = line.as_bytes().split_first()?;
        let length = match length {
            b'A'..=b'Z' => usize::from(length - b'A') + 1,
            b'a'..=b'z' => usize::from(length - b'a') + 27,
            _ => return None,
        };
        let end = bytes.len() + length;
        for group in digits.chunks(5) {
            if group.len() < 5 {
                return None;
            }
            let mut value: u32 = 0;
            for character in group {
                value = value.checked_mul(85)?.checked_add(digit(*character)?)?;
            }
            bytes.extend_from_slice(&value.to_be_bytes());
        }
        // The last group of a line is padded with zeros.
        if bytes.len() < end || bytes.len() - end > 3 {
            return None;
        }
        bytes.truncate(end);
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u32> {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    DIGITS.iter().position(|digit| *digit == character).and_then(|position| u32::try_from(position).ok())
}

/// Unpacks zlib data that must give exactly `size` bytes.
pub fn inflate(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    if size > MAX_BLOB_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed).take(size as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() == size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_git_encodes() {
        // A hunk that Git made of "hello\n".
        let packed = decode(&["Ncmc~u&B@8<0ssh00v`YX"]).unwrap();
        assert_eq!(packed.len(), 14);
        assert_eq!(inflate(&packed, 6).as_deref(), Some(&b"hello\n"[..]));
        assert_eq!(inflate(&packed, 5), None);
        assert_eq!(inflate(&packed, 7), None);
        assert_eq!(decode(&["A"]), None);
        assert_eq!(decode(&["?00000"]), None);
        assert_eq!(decode(&["D00000"]), Some(vec![0, 0, 0, 0]));
        assert_eq!(decode(&["A~~~~~"]), None, "more than four bytes hold");
        assert_eq!(decode(&["B00009"]), Some(vec![0, 0]));
    }
}
