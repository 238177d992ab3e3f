//! Strings that occur again and again, each held once: ids, models, names of tools.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The number of a string.
pub(super) type Symbol = u32;

/// No symbol, no record.
pub(super) const NONE: u32 = u32::MAX;

/// What a packed UUID begins with: no UTF-8 text does.
const UUID: u8 = 0xFF;
const PACKED_UUID_BYTES: usize = 17;

/// Each string once, all of them in one buffer. Nearly all ids are UUIDs, which take half of their text's room.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    bytes: Vec<u8>,
    /// Where each string ends in the buffer; it begins where the one before it ends.
    ends: Vec<u32>,
    table: HashTable<Symbol>,
    hasher: RandomState,
}

impl Symbols {
    /// The number of a string, a new one where it has none yet; [`NONE`] when there are four gigabytes of strings.
    pub fn intern(&mut self, name: &str) -> Symbol {
        let mut room = [0; PACKED_UUID_BYTES];
        self.intern_packed(packed(name, &mut room))
    }

    /// The same for a string as another table holds it.
    pub fn intern_packed(&mut self, packed: &[u8]) -> Symbol {
        let hash = hash_of(&self.hasher, packed);
        if let Some(symbol) = self.find_packed(hash, packed) {
            return symbol;
        }
        let (Ok(symbol), Ok(end)) = (u32::try_from(self.ends.len()), u32::try_from(self.bytes.len() + packed.len()))
        else {
            return NONE;
        };
        self.bytes.extend_from_slice(packed);
        self.ends.push(end);
        let Self { bytes, ends, table, hasher } = self;
        table.insert_unique(hash, symbol, |symbol| hash_of(hasher, slice(bytes, ends, *symbol)));
        symbol
    }

    /// With room for as many strings, and bytes of them, as another table has.
    pub fn with_room_of(other: &Self) -> Self {
        Self {
            bytes: Vec::with_capacity(other.bytes.len()),
            ends: Vec::with_capacity(other.ends.len()),
            table: HashTable::with_capacity(other.ends.len()),
            hasher: RandomState::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn find(&self, name: &str) -> Option<Symbol> {
        let mut room = [0; PACKED_UUID_BYTES];
        let packed = packed(name, &mut room);
        self.find_packed(hash_of(&self.hasher, packed), packed)
    }

    fn find_packed(&self, hash: u64, packed: &[u8]) -> Option<Symbol> {
        self.table.find(hash, |symbol| self.packed(*symbol) == packed).copied()
    }

    /// A string as it is held, for another table.
    pub fn packed(&self, symbol: Symbol) -> &[u8] {
        slice(&self.bytes, &self.ends, symbol)
    }

    pub fn name(&self, symbol: Symbol) -> Option<Cow<'_, str>> {
        self.ends.get(symbol as usize)?;
        let packed = self.packed(symbol);
        match packed.split_first() {
            Some((&UUID, uuid)) => Some(Cow::Owned(unpacked(uuid))),
            _ => str::from_utf8(packed).ok().map(Cow::Borrowed),
        }
    }

    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// A set of symbols, one bit each.
#[derive(Clone, Debug, Default)]
pub(super) struct SymbolSet(Vec<u64>);

impl SymbolSet {
    /// An empty set, which can hold the symbols of this table.
    pub fn of(symbols: &Symbols) -> Self {
        Self(vec![0; symbols.len().div_ceil(64)])
    }

    /// Whether the symbol is new in the set; what is none of the table's is new every time.
    pub fn insert(&mut self, symbol: Symbol) -> bool {
        let bit = 1 << (symbol % 64);
        let Some(word) = self.0.get_mut(symbol as usize / 64) else { return true };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub fn contains(&self, symbol: Symbol) -> bool {
        self.0.get(symbol as usize / 64).is_some_and(|word| word & 1 << (symbol % 64) != 0)
    }
}

/// Without what all UUIDs begin with: 16 bytes are hashed in one go.
fn hash_of(hasher: &RandomState, packed: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write(packed.strip_prefix(&[UUID]).unwrap_or(packed));
    hasher.finish()
}

fn slice<'a>(bytes: &'a [u8], ends: &[u32], symbol: Symbol) -> &'a [u8] {
    let symbol = symbol as usize;
    let start = symbol.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    let end = ends.get(symbol).copied().unwrap_or(start);
    bytes.get(start as usize..end as usize).unwrap_or_default()
}

/// Where the pairs of digits of a UUID begin.
const UUID_PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];

/// The bytes by which a string is held. Only a UUID that is written as they all are is packed: in small letters.
fn packed<'a>(name: &'a str, room: &'a mut [u8; PACKED_UUID_BYTES]) -> &'a [u8] {
    let text = name.as_bytes();
    if text.len() != 36 {
        return text;
    }
    room[0] = UUID;
    let mut odd = 0;
    for (packed, at) in room.iter_mut().skip(1).zip(UUID_PAIRS) {
        let Some([high, low]) = text.get(at..at + 2) else {
            return text;
        };
        let (high, low) = (nibble(*high), nibble(*low));
        odd |= (high | low) & 0xF0;
        *packed = high << 4 | low;
    }
    let has_dashes = UUID_DASHES.iter().all(|at| text.get(*at) == Some(&b'-'));
    if odd == 0 && has_dashes { room } else { text }
}

/// 0 to 15 for a small hexadecimal digit, more for anything else.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => 0xF0,
    }
}

fn unpacked(uuid: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_are_held_once_and_come_back_as_they_were() {
        let mut symbols = Symbols::default();
        let names = [
            "",
            "u1",
            "0a1b2c3d-0000-4000-8000-ffffffffffff",
            "0A1B2C3D-0000-4000-8000-ffffffffffff",
            "0a1b2c3d-0000-4000-8000-fffffffffff-",
            "0a1b2c3d00000-4000-8000-ffffffffffff",
            "é",
            "thirty-six bytes but no UUID at all!",
        ];
        let numbers: Vec<Symbol> = names.iter().map(|name| symbols.intern(name)).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!(symbols.packed(2).len(), PACKED_UUID_BYTES);
        for (name, number) in names.iter().zip(numbers) {
            assert_eq!(symbols.name(number).as_deref(), Some(*name));
            assert_eq!((symbols.intern(name), symbols.find(name)), (number, Some(number)));
        }
        assert_eq!((symbols.find("u2"), symbols.name(NONE), symbols.len()), (None, None, 8));
        let mut other = Symbols::default();
        assert_eq!(other.intern_packed(symbols.packed(2)), 0);
        assert_eq!(other.name(0).as_deref(), Some(names[2]));
    }

    proptest! {
        #[test]
        fn every_string_comes_back(names in proptest::collection::vec("[0-9a-fA-F-]{36}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|.{0,8}", 0..40)) {
            let mut symbols = Symbols::default();
            let numbers: Vec<Symbol> = names.iter().map(|name| symbols.intern(name)).collect();
            for (name, number) in names.iter().zip(&numbers) {
                let found = symbols.name(*number);
                prop_assert_eq!(found.as_deref(), Some(name.as_str()));
                prop_assert_eq!(symbols.find(name), Some(*number));
            }
        }
    }
}
