//! Files that are one JSON document, read whole: as they are, or as far as damage lets them be read.

use serde_json::Value;

use super::json::{mend_surrogates, readable};
use super::prefix::{End, Limits, first_value_within, is_blank};
use crate::store::{ReadError, SourceFile};

/// Documents are held whole while they are read; larger ones are refused by their readers.
pub const MAX_DOCUMENT_BYTES: u64 = 256 * 1024 * 1024;

const WHOLE: Limits = Limits { depth: 128, string_bytes: usize::MAX, keeps_cut_strings: true };

/// A document as far as it could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub value: Value,
    /// What had to be done to read it, or where it stops; `None` when it was fine.
    pub flaw: Option<Flaw>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Read after a repair: numbers that JSON does not have are null, what is no Unicode is U+FFFD, keys are told once.
    Mended,
    /// The file ends inside the document; what stood before is there.
    Cut { at: u64 },
    /// The document stops being JSON there; what stood before is there.
    Broken { at: u64 },
}

impl Flaw {
    /// For the reading report.
    pub fn message(&self) -> String {
        match self {
            Self::Mended => {
                "the document was read after a repair: numbers or characters that JSON does not have".to_owned()
            }
            Self::Cut { .. } => "the file ends inside the document; what stood before is shown".to_owned(),
            Self::Broken { .. } => "the document is no JSON from there on; what stood before is shown".to_owned(),
        }
    }
}

/// Reads the one document of a file. `None` when nothing of it can be read.
pub fn read(file: &SourceFile) -> Result<Option<Document>, ReadError> {
    if file.len() > MAX_DOCUMENT_BYTES {
        let limit = MAX_DOCUMENT_BYTES / (1024 * 1024);
        let reason = format!("the document is larger than {limit} MiB, the most that is read at once");
        return Err(ReadError::Open { reason, path: file.path().to_owned() });
    }
    let len = usize::try_from(file.len()).unwrap_or(usize::MAX);
    Ok(parse(&file.read_at(0, len)?))
}

/// The document that some bytes are. Notices that a command line printed before it are passed over.
pub fn parse(bytes: &[u8]) -> Option<Document> {
    let text = readable(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes));
    if let Ok(value) = serde_json::from_str(&text.text) {
        let flaw = text.repair.map(|_| Flaw::Mended);
        return Some(Document { value, flaw });
    }
    if let Ok(value) = serde_json::from_str(&mend_surrogates(&text.text)) {
        return Some(Document { value, flaw: Some(Flaw::Mended) });
    }
    let start = start_of(bytes)?;
    // What stands before a document is no flaw of it.
    if start > 0
        && let Ok(value) = serde_json::from_slice(bytes.get(start..)?)
    {
        return Some(Document { value, flaw: None });
    }
    let first = first_value_within(bytes.get(start..)?, WHOLE);
    let at = (start + first.at) as u64;
    let flaw = match first.end {
        End::Whole => Flaw::Mended,
        End::Cut => Flaw::Cut { at },
        End::Broken => Flaw::Broken { at },
    };
    Some(Document { value: first.value?, flaw: Some(flaw) })
}

/// Where the first line begins that starts with a bracket and is no notice such as `[warning] …`.
pub fn start_of(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    loop {
        let rest = bytes.get(line..)?;
        let blank = rest.iter().position(|byte| !is_blank(*byte) && !matches!(byte, 0xEF | 0xBB | 0xBF))?;
        let begins = match rest.get(blank) {
            Some(b'{') => true,
            Some(b'[') => begins_array(rest.get(blank + 1..)?),
            _ => false,
        };
        if begins {
            return Some(line + blank);
        }
        line += blank + memchr::memchr(b'\n', rest.get(blank..)?)? + 1;
    }
}

/// Values that are words, those that JSON does not have among them.
const WORDS: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];

/// Whether what follows a `[` is what an array of JSON goes on with.
fn begins_array(rest: &[u8]) -> bool {
    let rest = skip(rest, is_blank);
    if let None | Some(b'{' | b'[' | b']' | b'"') = rest.first() {
        return true;
    }
    let is_end = |byte: u8| is_blank(byte) || matches!(byte, b',' | b']');
    let after = skip(rest, |byte| !is_end(byte));
    let word = rest.get(..rest.len() - after.len()).unwrap_or_default();
    let is_value = WORDS.contains(&word) || serde_json::from_slice::<Value>(word).is_ok();
    let after = skip(after, is_blank);
    match after.first() {
        None => WORDS.iter().any(|known| known.starts_with(word)) || matches!(word.first(), Some(b'-' | b'0'..=b'9')),
        Some(b',') => is_value,
        // A number alone in brackets counts the lines of a log, or tells their time.
        Some(b']') => {
            is_value
                && matches!(skip(after, |byte| matches!(byte, b']' | b' ' | b'\t' | b'\r')).first(), None | Some(b'\n'))
        }
        Some(_) => false,
    }
}

fn skip(bytes: &[u8], passes: impl Fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|byte| !passes(*byte)).unwrap_or(bytes.len());
    bytes.get(end..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn flawed(text: &str) -> (Value, Option<Flaw>) {
        let document = parse(text.as_bytes()).unwrap();
        (document.value, document.flaw)
    }

    #[test]
    fn a_document_is_read_as_far_as_it_goes() {
        assert_eq!(flawed("{\"a\": [1]}"), (json!({"a": [1]}), None));
        assert_eq!(
            flawed("note: x\n{\"a\": NaN, \"b\": -Infinity}"),
            (json!({"a": null, "b": null}), Some(Flaw::Mended))
        );
        assert_eq!(flawed("[\"\\ud83d\"]"), (json!(["\u{fffd}"]), Some(Flaw::Mended)));
        assert_eq!(flawed("{\"a\": [1, \"wor"), (json!({"a": [1, "wor"]}), Some(Flaw::Cut { at: 14 })));
        assert_eq!(flawed("{\"a\": 1, oops"), (json!({"a": 1}), Some(Flaw::Broken { at: 9 })));
        assert_eq!(parse(b"just words"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn blanks_and_notices_are_no_flaws() {
        let value = json!({"a": 1});
        for text in ["{\"a\": 1}\n", "\u{feff} \r\n{\"a\": 1}  ", "a notice\n{\"a\": 1}\n"] {
            assert_eq!(flawed(text), (value.clone(), None), "{text:?}");
        }
        assert_eq!(flawed("{\"a\": 1}\n\0\0"), (value, Some(Flaw::Mended)));
    }

    #[test]
    fn a_notice_in_brackets_is_no_document() {
        let notices = ["[warning] x", "[12:30:01] x", "[2026-02-03 10:00] x", "[3] x", "[1/4] x", "[ok", "[null] x"];
        for notice in notices {
            assert_eq!(flawed(&format!("{notice}\n{{\"a\": 1}}")), (json!({"a": 1}), None), "{notice}");
        }
        assert_eq!(parse(b"[warning] nothing else"), None);
        assert_eq!(parse(b"[warning"), None);
        for (text, value) in [
            ("[]", json!([])),
            ("[1, 2]", json!([1, 2])),
            ("[NaN,\n1]", json!([null, 1])),
            ("[ \"a\" ]", json!(["a"])),
            ("[true]\n", json!([true])),
            ("[2, -1.5", json!([2])),
        ] {
            assert_eq!(flawed(&format!("a notice\n{text}")).0, value, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes()).is_some());
        let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse(closed.as_bytes()).unwrap().flaw, Some(Flaw::Mended));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn the_start_of_a_document_keeps_its_first_fields(cut in 0_usize..60) {
            let whole = br#"{"first":"\u00e9\ud83d\ude00","second":[{"a":1},{"b":[true]}]}"#;
            let document = parse(whole.get(..cut.min(whole.len())).unwrap());
            if cut > 31 {
                prop_assert_eq!(&document.unwrap().value["first"], &json!("é😀"));
            }
        }
    }
}
