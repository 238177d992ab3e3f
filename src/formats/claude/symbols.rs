//! Strings that occur again and again, each held once: ids, models, names of tools.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The number of a string.
pub(super) type Symbol = u32;

/// No symbol, no record.
pub(super) const NONE: u32 = u32::MAX;

/// Set in the symbols of strings that are no UUIDs. The bits above it count the strings of each kind.
const TEXT: u32 = 1;
/// More strings of a kind are not held.
const MOST: u32 = (1 << 31) - 1;

/// Each string once. Nearly all ids are UUIDs, which take less than half of their text's room.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    uuids: Vec<[u8; 16]>,
    /// All other strings, one behind the other, and where each ends.
    texts: Vec<u8>,
    ends: Vec<u32>,
    /// From strings to their numbers; made when it is asked for.
    table: OnceLock<HashTable<Symbol>>,
    hasher: RandomState,
}

/// A string as it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held<'a> {
    Uuid([u8; 16]),
    Text(&'a [u8]),
}

impl<'a> Held<'a> {
    fn of(name: &'a str) -> Self {
        packed(name).map_or(Self::Text(name.as_bytes()), Self::Uuid)
    }
}

impl Symbols {
    /// The number of a string, a new one where it has none yet; [`NONE`] when there are too many strings.
    pub fn intern(&mut self, name: &str) -> Symbol {
        self.intern_held(Held::of(name))
    }

    /// The same for a string as another table holds it.
    pub fn intern_held(&mut self, held: Held<'_>) -> Symbol {
        self.table();
        let Self { uuids, texts, ends, table, hasher } = self;
        let Some(table) = table.get_mut() else { return NONE };
        let hash = hash_of(hasher, held);
        if let Some(symbol) = table.find(hash, |symbol| held_in(uuids, texts, ends, *symbol) == held) {
            return *symbol;
        }
        let number = match held {
            Held::Uuid(_) => uuids.len(),
            Held::Text(_) => ends.len(),
        };
        let Some(number) = u32::try_from(number).ok().filter(|number| *number < MOST) else { return NONE };
        let symbol = match held {
            Held::Uuid(uuid) => {
                uuids.push(uuid);
                number << 1
            }
            Held::Text(text) => {
                let Ok(end) = u32::try_from(texts.len() + text.len()) else { return NONE };
                texts.extend_from_slice(text);
                ends.push(end);
                number << 1 | TEXT
            }
        };
        table.insert_unique(hash, symbol, |symbol| hash_of(hasher, held_in(uuids, texts, ends, *symbol)));
        symbol
    }

    /// With room for as many strings as another table has.
    pub fn with_room_of(other: &Self) -> Self {
        Self {
            uuids: Vec::with_capacity(other.uuids.len()),
            texts: Vec::with_capacity(other.texts.len()),
            ends: Vec::with_capacity(other.ends.len()),
            table: OnceLock::from(HashTable::with_capacity(other.uuids.len() + other.ends.len())),
            hasher: RandomState::default(),
        }
    }

    pub fn find(&self, name: &str) -> Option<Symbol> {
        let held = Held::of(name);
        self.table().find(hash_of(&self.hasher, held), |symbol| self.held(*symbol) == held).copied()
    }

    fn table(&self) -> &HashTable<Symbol> {
        self.table.get_or_init(|| {
            let hash = |symbol: &Symbol| hash_of(&self.hasher, self.held(*symbol));
            let mut table = HashTable::with_capacity(self.uuids.len() + self.ends.len());
            let symbols =
                |len: usize, tag: u32| (0..u32::try_from(len).unwrap_or(0)).map(move |number| number << 1 | tag);
            for symbol in symbols(self.uuids.len(), 0).chain(symbols(self.ends.len(), TEXT)) {
                table.insert_unique(hash(&symbol), symbol, hash);
            }
            table
        })
    }

    /// A string as it is held, for another table.
    pub fn held(&self, symbol: Symbol) -> Held<'_> {
        held_in(&self.uuids, &self.texts, &self.ends, symbol)
    }

    pub fn name(&self, symbol: Symbol) -> Option<Cow<'_, str>> {
        if symbol & TEXT == 0 {
            return self.uuids.get(symbol as usize >> 1).map(|uuid| Cow::Owned(unpacked(uuid)));
        }
        self.ends.get(symbol as usize >> 1)?;
        match self.held(symbol) {
            Held::Text(text) => str::from_utf8(text).ok().map(Cow::Borrowed),
            Held::Uuid(_) => None,
        }
    }

    /// Gives back the memory that only adding strings needs.
    pub fn settle(&mut self) {
        self.table = OnceLock::new();
        self.uuids.shrink_to_fit();
        self.texts.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

fn held_in<'a>(uuids: &[[u8; 16]], texts: &'a [u8], ends: &[u32], symbol: Symbol) -> Held<'a> {
    if symbol & TEXT == 0 {
        return uuids.get(symbol as usize >> 1).map_or(Held::Text(&[]), |uuid| Held::Uuid(*uuid));
    }
    let number = symbol as usize >> 1;
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    let end = ends.get(number).copied().unwrap_or(start);
    Held::Text(texts.get(start as usize..end as usize).unwrap_or_default())
}

fn hash_of(hasher: &RandomState, held: Held<'_>) -> u64 {
    let mut hasher = hasher.build_hasher();
    match &held {
        Held::Uuid(uuid) => hasher.write(uuid),
        Held::Text(text) => hasher.write(text),
    }
    hasher.finish()
}

/// A number for each symbol, [`NONE`] for those that were given none.
#[derive(Clone, Debug, Default)]
pub(super) struct BySymbol {
    uuids: Vec<u32>,
    texts: Vec<u32>,
}

impl BySymbol {
    pub fn with_room_of(other: &Self) -> Self {
        Self { uuids: Vec::with_capacity(other.uuids.len()), texts: Vec::with_capacity(other.texts.len()) }
    }

    pub fn get(&self, symbol: Symbol) -> Option<u32> {
        let list = if symbol & TEXT == 0 { &self.uuids } else { &self.texts };
        list.get(symbol as usize >> 1).copied().filter(|number| *number != NONE)
    }

    /// Nothing is noted of [`NONE`].
    pub fn set(&mut self, symbol: Symbol, number: u32) {
        if symbol == NONE {
            return;
        }
        let list = if symbol & TEXT == 0 { &mut self.uuids } else { &mut self.texts };
        let place = symbol as usize >> 1;
        list.resize(list.len().max(place + 1), NONE);
        if let Some(place) = list.get_mut(place) {
            *place = number;
        }
    }

    pub fn shrink_to_fit(&mut self) {
        self.uuids.shrink_to_fit();
        self.texts.shrink_to_fit();
    }
}

/// Ids that are only ever compared, numbered as they come, and known by a hash.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    hashes: Vec<u64>,
    table: OnceLock<HashTable<u32>>,
}

impl Ids {
    /// The number of an id, a new one where it has none yet.
    pub fn number(&mut self, id: &str) -> u32 {
        // The same in all tables: parts of a file are joined by these.
        let mut hasher = foldhash::quality::FixedState::default().build_hasher();
        hasher.write(id.as_bytes());
        self.number_of(hasher.finish())
    }

    /// The same by the hash that another table has of it.
    pub fn number_of(&mut self, hash: u64) -> u32 {
        let Self { hashes, table } = self;
        let is_hash = |hashes: &[u64], number: u32, hash: u64| hashes.get(number as usize) == Some(&hash);
        table.get_or_init(|| {
            let mut table = HashTable::with_capacity(hashes.len());
            for (number, hash) in (0..).zip(hashes.iter()) {
                table.insert_unique(*hash, number, |number| hashes.get(*number as usize).copied().unwrap_or(0));
            }
            table
        });
        let Some(table) = table.get_mut() else { return NONE };
        if let Some(number) = table.find(hash, |number| is_hash(hashes, *number, hash)) {
            return *number;
        }
        let Some(number) = u32::try_from(hashes.len()).ok().filter(|number| *number != NONE) else { return NONE };
        hashes.push(hash);
        table.insert_unique(hash, number, |number| hashes.get(*number as usize).copied().unwrap_or(0));
        number
    }

    pub fn hash(&self, number: u32) -> Option<u64> {
        self.hashes.get(number as usize).copied()
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Gives back the memory that only adding ids needs.
    pub fn settle(&mut self) {
        self.table = OnceLock::new();
        self.hashes.shrink_to_fit();
    }
}

/// Where the pairs of digits of a UUID begin.
const UUID_PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];

/// A UUID's bytes; `None` for what is not written as all of them are, in small letters.
fn packed(name: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = name.as_bytes().try_into().ok()?;
    let mut uuid = [0; 16];
    let mut odd = 0;
    for (packed, at) in uuid.iter_mut().zip(UUID_PAIRS) {
        let [high, low] = text.get(at..at + 2)? else { return None };
        let (high, low) = (nibble(*high), nibble(*low));
        odd |= (high | low) & 0xF0;
        *packed = high << 4 | low;
    }
    let has_dashes = UUID_DASHES.iter().all(|at| text.get(*at) == Some(&b'-'));
    (odd == 0 && has_dashes).then_some(uuid)
}

/// 0 to 15 for a small hexadecimal digit, more for anything else.
fn nibble(digit: u8) -> u8 {
    let (figure, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
    if figure < 10 {
        figure
    } else if letter < 6 {
        letter + 10
    } else {
        0xF0
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
        assert_eq!(symbols.held(numbers[2]), Held::Uuid(*b"\x0a\x1b\x2c\x3d\0\0\x40\0\x80\0\xff\xff\xff\xff\xff\xff"));
        assert!(numbers.iter().enumerate().all(|(at, number)| at == 2 || number & TEXT != 0));
        for (name, number) in names.iter().zip(numbers.iter().copied()) {
            assert_eq!(symbols.name(number).as_deref(), Some(*name));
            assert_eq!((symbols.intern(name), symbols.find(name)), (number, Some(number)));
        }
        assert_eq!((symbols.find("u2"), symbols.name(NONE)), (None, None));
        let mut other = Symbols::default();
        assert_eq!(other.intern_held(symbols.held(numbers[2])), 0);
        assert_eq!(other.name(0).as_deref(), Some(names[2]));
    }

    proptest! {
        #[test]
        fn every_string_comes_back(names in proptest::collection::vec("[0-9a-fA-F-]{36}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|.{0,8}", 0..40)) {
            let mut symbols = Symbols::default();
            let numbers: Vec<Symbol> = names.iter().map(|name| symbols.intern(name)).collect();
            symbols.settle();
            for (name, number) in names.iter().zip(&numbers) {
                let found = symbols.name(*number);
                prop_assert_eq!(found.as_deref(), Some(name.as_str()));
                prop_assert_eq!(symbols.find(name), Some(*number));
            }
        }
    }

    #[test]
    fn numbers_are_the_same_for_the_same_id() {
        let mut numbers = Ids::default();
        assert_eq!(["a", "b", "a", "c"].map(|id| numbers.number(id)), [0, 1, 0, 2]);
        numbers.settle();
        assert_eq!(["c", "d", "a"].map(|id| numbers.number(id)), [2, 3, 0]);
        let mut other = Ids::default();
        assert_eq!(numbers.hash(1).map(|hash| other.number_of(hash)), Some(0));
        assert_eq!((other.number("b"), numbers.hash(4)), (0, None));
    }

    #[test]
    fn numbers_by_symbol_are_of_both_kinds() {
        let mut symbols = Symbols::default();
        let mut numbers = BySymbol::default();
        for symbol in ["0a1b2c3d-0000-4000-8000-ffffffffffff", "u1"].map(|name| symbols.intern(name)) {
            assert_eq!(numbers.get(symbol), None);
            numbers.set(symbol, 7);
            assert_eq!(numbers.get(symbol), Some(7));
        }
        numbers.set(NONE, 1);
        assert_eq!(numbers.get(NONE), None);
    }
}
