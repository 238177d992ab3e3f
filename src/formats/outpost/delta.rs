//! Git's deltas: how one content is made of stretches of another and new bytes between them.

use super::base85::MAX_BLOB_BYTES;

/// How often what is known of one side is carried over to the other.
const ROUNDS: usize = 16;

/// A delta, checked: its steps make exactly `new_len` bytes and copy nothing that `old_len` bytes do not have.
#[derive(Debug, PartialEq, Eq)]
pub struct Delta {
    pub old_len: usize,
    pub new_len: usize,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Copy { from: usize, len: usize },
    Insert(Vec<u8>),
}

impl Delta {
    /// Reads a delta as Git packs have it: both sizes, then its steps.
    pub fn parse(delta: &[u8]) -> Option<Self> {
        let mut input = delta.iter().copied();
        let (old_len, new_len) = (size(&mut input)?, size(&mut input)?);
        if old_len.max(new_len) > MAX_BLOB_BYTES {
            return None;
        }
        let mut steps = Vec::new();
        let mut made = 0;
        while let Some(instruction) = input.next() {
            let step = step(instruction, &mut input)?;
            made += match &step {
                Step::Insert(bytes) => bytes.len(),
                Step::Copy { from, len } if from.checked_add(*len)? <= old_len => *len,
                Step::Copy { .. } => return None,
            };
            if made > new_len {
                return None;
            }
            steps.push(step);
        }
        (made == new_len).then_some(Self { old_len, new_len, steps })
    }

    pub fn apply(&self, old: &[u8]) -> Option<Vec<u8>> {
        if old.len() != self.old_len {
            return None;
        }
        let mut new = Vec::with_capacity(self.new_len);
        for step in &self.steps {
            match step {
                Step::Insert(bytes) => new.extend_from_slice(bytes),
                Step::Copy { from, len } => new.extend_from_slice(old.get(*from..from + len)?),
            }
        }
        Some(new)
    }

    /// Carries over what is known of either side to the other; whether anything became known.
    fn carry(&self, old: &mut [Option<u8>], new: &mut [Option<u8>]) -> bool {
        let mut is_more = false;
        let mut at = 0;
        for step in &self.steps {
            match step {
                Step::Insert(bytes) => {
                    for (known, byte) in new.iter_mut().skip(at).zip(bytes) {
                        is_more |= known.replace(*byte).is_none();
                    }
                    at += bytes.len();
                }
                Step::Copy { from, len } => {
                    let pairs = old.iter_mut().skip(*from).take(*len).zip(new.iter_mut().skip(at));
                    for (one, other) in pairs {
                        is_more |= one.is_some() != other.is_some();
                        *one = one.or(*other);
                        *other = *one;
                    }
                    at += len;
                }
            }
        }
        is_more
    }
}

fn step(instruction: u8, input: &mut impl Iterator<Item = u8>) -> Option<Step> {
    if instruction == 0 {
        return None;
    }
    if instruction & 0x80 == 0 {
        let bytes: Vec<u8> = input.take(instruction.into()).collect();
        return (bytes.len() == usize::from(instruction)).then_some(Step::Insert(bytes));
    }
    let mut field = |bits: std::ops::Range<u8>| -> Option<usize> {
        let mut value = 0;
        for (shift, bit) in bits.enumerate() {
            if instruction & (1 << bit) != 0 {
                value |= usize::from(input.next()?) << (8 * shift);
            }
        }
        Some(value)
    };
    let from = field(0..4)?;
    let len = match field(4..7)? {
        0 => 0x10000,
        len => len,
    };
    Some(Step::Copy { from, len })
}

/// A size in seven-bit groups, lowest first.
fn size(input: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut value: usize = 0;
    for shift in (0..28).step_by(7) {
        let byte = input.next()?;
        value |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The pieces that two deltas between the same contents tell of them, as a text: what went, then what came. `…` stands
/// for what neither tells, which is the same on both sides. `None` where they do not fit together or are no text.
pub fn pieces(forward: &Delta, reverse: &Delta) -> Option<String> {
    if forward.old_len != reverse.new_len || forward.new_len != reverse.old_len {
        return None;
    }
    let (mut old, mut new) = (vec![None; forward.old_len], vec![None; forward.new_len]);
    for _ in 0..ROUNDS {
        let is_more = forward.carry(&mut old, &mut new) | reverse.carry(&mut new, &mut old);
        if !is_more {
            break;
        }
    }
    let mut text = String::new();
    for (sign, side) in [('-', &old), ('+', &new)] {
        for line in known(side)?.lines() {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    }
    Some(text)
}

/// The known pieces of a content, those apart from each other on lines of their own.
fn known(side: &[Option<u8>]) -> Option<String> {
    let mut text = String::new();
    for run in side.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let bytes: Vec<u8> = run.iter().copied().flatten().collect();
        if bytes.contains(&0) {
            return None;
        }
        if bytes.is_empty() {
            // Between two pieces: one ends in it, the next begins with it.
            text.push_str(if text.is_empty() { "…" } else { "…\n…" });
        } else {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text.truncate(text.strip_suffix("\n…").map_or(text.len(), str::len));
    Some(if text == "…" { String::new() } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_copies_and_inserts() {
        // Old 6 bytes, new 9: copy 0..5, insert " two", both lengths written by hand.
        let apply = |old: &[u8], delta: &[u8]| Delta::parse(delta)?.apply(old);
        let delta = [6, 9, 0x90, 5, 4, b' ', b't', b'w', b'o'];
        assert_eq!(apply(b"hello\n", &delta).as_deref(), Some(&b"hello two"[..]));
        assert_eq!(apply(b"hello", &delta), None, "the old size differs");
        assert_eq!(apply(b"hello\n", &[6, 9, 0x91, 3, 5]), None, "past the end of the old");
        assert_eq!(apply(b"hello\n", &[6, 9, 0x90, 5]), None, "too short");
        assert_eq!(apply(b"hello\n", &[6]), None);
        assert_eq!(apply(b"hello\n", &[6, 2, 5, b'a']), None, "an insertion that is cut off");
        assert_eq!(apply(b"hello\n", &[6, 1, 0]), None);
    }

    #[test]
    fn two_deltas_tell_what_changed() {
        // "hello one!" and "hello two!": the first six bytes and the last are copied, three are new on each side.
        let forward = Delta::parse(&[10, 10, 0x90, 6, 3, b't', b'w', b'o', 0x91, 9, 1]).unwrap();
        let reverse = Delta::parse(&[10, 10, 0x90, 6, 3, b'o', b'n', b'e', 0x91, 9, 1]).unwrap();
        assert_eq!(pieces(&forward, &reverse).unwrap(), "-…one…\n+…two…\n");
        let other = Delta::parse(&[9, 9, 0x90, 9]).unwrap();
        assert_eq!(pieces(&forward, &other), None);
        assert_eq!(pieces(&other, &other).unwrap(), "");
        let binary = Delta::parse(&[10, 10, 0x90, 6, 3, 0, 0, 0, 0x91, 9, 1]).unwrap();
        assert_eq!(pieces(&binary, &reverse), None);
    }
}
