//! What looks like a secret in one text, by its form or by the name it goes by.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::names::{Named, is_generic_user, is_random, is_trivial, judge};
use super::{BadPattern, Kind};

/// Where else a value is looked for once it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Nowhere else: it is too short or too usual a word.
    InPlace,
    /// Wherever it stands as a word.
    Words,
    /// Wherever its bytes are.
    Anywhere,
}

/// A stretch of a text that is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub range: Range<usize>,
    pub kind: Kind,
    pub reach: Reach,
}

/// All patterns, ready for use.
pub(super) struct Detector {
    forms: &'static Forms,
    custom: Vec<Regex>,
}

/// The patterns that are always the same.
struct Forms {
    vendor: Regex,
    jwt: Regex,
    bearer: Regex,
    header: Regex,
    block: Regex,
    url: Regex,
    home: Regex,
    image: Regex,
    names: AhoCorasick,
    value: Regex,
    flag: Regex,
}

static FORMS: OnceLock<Result<Forms, BadPattern>> = OnceLock::new();

/// Words by which a name may be one of a secret; what a name says is told by [`judge`].
const TELLING: [&str; 14] = [
    "passw",
    "passph",
    "passcode",
    "pwd",
    "secret",
    "apikey",
    "api_key",
    "api-key",
    "key",
    "token",
    "auth",
    "credential",
    "cookie",
    "kennwort",
];

/// Beginnings by which services mark their keys, and what follows them.
const VENDOR: &str = r"(?x)
    (?: sk-[A-Za-z0-9_-]{12,}
    | [sprw][kh]_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[A-Za-z0-9+/=]{16,}
    | gh[pousr]_[A-Za-z0-9]{10,} | github_pat_[A-Za-z0-9_]{10,}
    | xox[abceoprs](?:\.[a-z0-9]+)?-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{10,}
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}
    | AIza[A-Za-z0-9_-]{20,} | ya29\.[A-Za-z0-9_-]{16,}
    | gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*
    | npm_[A-Za-z0-9]{10,} | pypi-[A-Za-z0-9_-]{16,} | hf_[A-Za-z0-9]{16,} | dop_v1_[a-f0-9]{16,}
    | SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,} | dapi[a-f0-9]{32}
    | hvs\.[A-Za-z0-9_-]{16,} | gsk_[A-Za-z0-9]{16,} | xai-[A-Za-z0-9]{16,} | nvapi-[A-Za-z0-9_-]{16,}
    | lin_api_[A-Za-z0-9]{16,} | AGE-SECRET-KEY-1[A-Z0-9]{20,} | tskey-[A-Za-z0-9-]{10,} )";

const NAME_BYTES: usize = 64;
const VALUE_BYTES: usize = 16 * 1024;

impl Forms {
    fn new() -> Result<Self, BadPattern> {
        let names = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(TELLING)
            .map_err(|error| BadPattern { pattern: "names".to_owned(), reason: error.to_string() })?;
        Ok(Self {
            vendor: known(VENDOR)?,
            jwt: known(r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")?,
            bearer: known(r"(?i)\bbearer[ \t]+([A-Za-z0-9._~+/=-]{8,})")?,
            header: known(
                r#"(?i)\b(?:proxy-)?authorization["']?[ \t]*[:=][ \t]*["']?(?:(?:basic|bearer|token|apikey|digest)[ \t]+)?([^\s"',;<>{}\\]{4,})"#,
            )?,
            block: known(
                r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\:,-]*)",
            )?,
            url: known(
                r#"(?i)\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/:@"'<>`]{0,256}:([^\s/@"'<>`]{1,1024})@|([^\s/:@"'<>`]{16,1024})@)"#,
            )?,
            home: known(
                r#"(?:/home/|[\\/]Users[\\/]{1,4}|-home-|-Users-|[\\/]Documents and Settings[\\/]{1,4})(?:([\w.-]+(?: [\w.-]*\w){1,2})[\\]|([^\\/\s"'`<>|:;,*?()\[\]{}$&=#!]+))"#,
            )?,
            image: known(
                r#"data:[\w.+/-]{1,80}(?:;[\w=.-]{1,40})*;base64,([A-Za-z0-9+/=_-]{64,})|"data"\s*:\s*"([A-Za-z0-9+/=_-]{256,})""#,
            )?,
            names,
            value: known(
                r#"^["'`]?[ \t]*(?:(=>|:=|={1,2}|:)[ \t]*(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`([^`\n]*)`|([^\s"'`,;&|<>(){}\[\]\\…]+))|>([^<\s]+)</)"#,
            )?,
            flag: known(r#"^(?:=|[ \t]+)(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`;&|<>(){}\\-][^\s"'`;&|<>(){}\\]*))"#)?,
        })
    }
}

fn known(pattern: &str) -> Result<Regex, BadPattern> {
    Regex::new(pattern).map_err(|error| BadPattern::new(pattern, &error))
}

impl Detector {
    pub fn new(patterns: &[String]) -> Result<Self, BadPattern> {
        let forms = FORMS.get_or_init(Forms::new).as_ref().map_err(Clone::clone)?;
        let custom = patterns.iter().map(|pattern| known(pattern)).collect::<Result<Vec<_>, _>>()?;
        if let Some(pattern) = custom.iter().find(|pattern| pattern.is_match("")) {
            return Err(BadPattern { pattern: pattern.to_string(), reason: "it matches nothing at all".to_owned() });
        }
        Ok(Self { forms, custom })
    }

    /// Everything in a text that looks like a secret, in no order; stretches may overlap.
    pub fn look(&self, text: &str) -> Vec<Seen> {
        let mut seen = Vec::new();
        self.forms(text, &mut seen);
        self.people(text, &mut seen);
        self.named(text, &mut seen);
        for pattern in &self.custom {
            for captures in pattern.captures_iter(text) {
                let found = captures.get(1).or_else(|| captures.get(0)).filter(|found| !found.is_empty());
                seen.extend(found.map(|found| of(found.range(), Kind::Pattern, reach(found.as_str()))));
            }
        }
        seen
    }

    /// What its own form gives away.
    fn forms(&self, text: &str, seen: &mut Vec<Seen>) {
        for found in self.forms.vendor.find_iter(text) {
            // `risk-…` and `task-…` end like a beginning, `sk-learn-docs` has no digit.
            let apart = !text.get(..found.start()).is_some_and(|before| before.ends_with(char::is_alphanumeric));
            if apart && found.as_str().bytes().any(|byte| byte.is_ascii_digit()) {
                seen.push(of(found.range(), Kind::Key, Reach::Anywhere));
            }
        }
        seen.extend(self.forms.jwt.find_iter(text).map(|found| of(found.range(), Kind::Token, Reach::Anywhere)));
        let token = |value: &str| value.len() >= 20 || value.bytes().any(|byte| byte.is_ascii_digit());
        for found in self.forms.bearer.captures_iter(text).filter_map(|captures| captures.get(1)) {
            if token(found.as_str()) && !is_trivial(found.as_str()) {
                seen.push(of(found.range(), Kind::Token, Reach::Anywhere));
            }
        }
        for found in self.forms.header.captures_iter(text).filter_map(|captures| captures.get(1)) {
            if !is_trivial(found.as_str()) && !is_scheme(found.as_str()) {
                seen.push(of(found.range(), Kind::Token, reach(found.as_str())));
            }
        }
        seen.extend(self.forms.block.find_iter(text).map(|found| of(found.range(), Kind::PrivateKey, Reach::Anywhere)));
        for captures in self.forms.image.captures_iter(text) {
            let data = captures.get(1).or_else(|| captures.get(2));
            seen.extend(data.map(|data| of(data.range(), Kind::Image, Reach::InPlace)));
        }
    }

    /// Addresses, passwords in them, user names in paths.
    fn people(&self, text: &str, seen: &mut Vec<Seen>) {
        let mut at_signs = Vec::new();
        for captures in self.forms.url.captures_iter(text) {
            let Some(found) = captures.get(1).or_else(|| captures.get(2)) else { continue };
            at_signs.push(found.end());
            if !is_trivial(found.as_str()) {
                seen.push(of(found.range(), Kind::Password, reach(found.as_str())));
            }
        }
        seen.extend(
            addresses(text)
                // `//name:password@host` is not the address `password@host`.
                .filter(|range| !at_signs.iter().any(|at| range.contains(at)))
                .map(|range| of(range, Kind::Email, Reach::Anywhere)),
        );
        for captures in self.forms.home.captures_iter(text) {
            let Some(found) = captures.get(1).or_else(|| captures.get(2)) else { continue };
            // In the name of a folder that stands for a path, a dash ends the name too.
            let dashed = text.get(..found.start()).is_some_and(|before| before.ends_with('-'));
            let name = if dashed { found.as_str().split('-').next().unwrap_or_default() } else { found.as_str() };
            let name = name.trim_end_matches(['.', '…']);
            if name.is_empty() || is_trivial(name) && name.chars().count() > 1 {
                continue;
            }
            let range = found.start()..found.start() + name.len();
            match is_generic_user(name) {
                // A dash may stand for anything: nothing but a name is worth replacing there.
                true if dashed => {}
                true => seen.push(of(range, Kind::User, Reach::InPlace)),
                false => seen.push(of(range, Kind::User, Reach::Words)),
            }
        }
    }

    /// Values with a name that says what they are.
    fn named(&self, text: &str, seen: &mut Vec<Seen>) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let bytes = text.as_bytes();
        let mut past = 0;
        for word in self.forms.names.find_iter(text) {
            if word.start() < past {
                continue;
            }
            let before = bytes.get(..word.start()).unwrap_or_default().iter().rev();
            let start = word.start() - before.take(NAME_BYTES).take_while(|byte| is_name(**byte)).count();
            let after = bytes.get(word.end()..).unwrap_or_default().iter();
            let end = word.end() + after.take(NAME_BYTES).take_while(|byte| is_name(**byte)).count();
            past = end;
            let Some(name) = text.get(start..end) else { continue };
            let Some(named) = judge(name) else { continue };
            let rest = text.get(end..text.floor_char_boundary(end.saturating_add(VALUE_BYTES))).unwrap_or_default();
            let (pattern, is_flag) =
                if name.starts_with("--") { (&self.forms.flag, true) } else { (&self.forms.value, false) };
            let Some(captures) = pattern.captures(rest) else { continue };
            let groups: Vec<_> = captures.iter().skip(1).collect();
            let bare = if is_flag { None } else { captures.get(5) };
            let Some(value) = groups.into_iter().skip(usize::from(!is_flag)).flatten().next() else { continue };
            if bare.is_some() && !is_bare_value(name, value.as_str(), rest, value.range(), captures.get(1)) {
                continue;
            }
            // A full stop after a bare value is the sentence's.
            let len =
                if bare.is_some() { value.as_str().trim_end_matches(['.', '!', '?', ':']).len() } else { value.len() };
            let start = end + value.start();
            let found = value_of(named, value.as_str().get(..len).unwrap_or_default());
            seen.extend(found.map(|(part, kind, reach)| of(start + part.start..start + part.end, kind, reach)));
        }
    }

    /// The secret in the value of a JSON object's key, by that key; its form is looked at as with any text.
    pub fn look_at_value(name: &str, value: &str) -> Option<Seen> {
        let (range, kind, reach) = value_of(judge(name)?, value)?;
        Some(of(range, kind, reach))
    }
}

/// Which part of a value is secret, given what its name says.
fn value_of(named: Named, value: &str) -> Option<(Range<usize>, Kind, Reach)> {
    let scheme = ["bearer ", "basic ", "token ", "digest "]
        .into_iter()
        .find(|scheme| value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let start = scheme.map_or(0, str::len);
    let secret = value.get(start..)?;
    if is_trivial(secret) || secret.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let kind = match named {
        Named::Maybe if !is_random(secret) => return None,
        Named::Password => Kind::Password,
        Named::Secret | Named::Maybe if scheme.is_some() => Kind::Token,
        Named::Secret | Named::Maybe => Kind::Secret,
    };
    Some((start..value.len(), kind, reach(secret)))
}

/// Whether a value without quotes is one, and no variable, call or word of a sentence.
fn is_bare_value(name: &str, value: &str, rest: &str, range: Range<usize>, sign: Option<regex::Match<'_>>) -> bool {
    let next = rest.get(range.end..).and_then(|rest| rest.chars().next());
    if matches!(next, Some('(' | '[')) || value.contains("()") {
        return false;
    }
    let sign = sign.map_or("", |sign| sign.as_str());
    // As in a shell or a file of settings, or in an address: PASSWORD=value.
    let tight = sign == "=" && rest.starts_with('=') && range.start == 1;
    let telling = value.len() >= 6 && value.chars().any(|c| !c.is_alphabetic() && !"._-:/".contains(c));
    telling || (tight && (value.len() >= 4 || name.chars().any(char::is_uppercase)))
}

/// Where else a value is to be looked for: a short one would be found in every other word.
fn reach(value: &str) -> Reach {
    match value.len() {
        0..4 => Reach::InPlace,
        4..8 => Reach::Words,
        _ if value.bytes().all(|byte| byte.is_ascii_alphabetic()) => Reach::Words,
        _ => Reach::Anywhere,
    }
}

/// How many letters at `at` belong to an escape that begins right before it: the `n` of `\n`.
fn end_of_escape(text: &str, at: usize) -> usize {
    let (before, after) = text.split_at(at);
    let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\').count();
    match after.as_bytes().first() {
        Some(b'n' | b'r' | b't' | b'b' | b'f') if backslashes % 2 == 1 => 1,
        Some(b'u') if backslashes % 2 == 1 && after.is_char_boundary(5.min(after.len())) => 5.min(after.len()),
        _ => 0,
    }
}

fn is_scheme(value: &str) -> bool {
    ["basic", "bearer", "token", "apikey", "digest"].iter().any(|scheme| value.eq_ignore_ascii_case(scheme))
}

/// The e-mail addresses in a text.
fn addresses(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let plain = memchr::memchr_iter(b'@', text.as_bytes()).map(|at| (at, 1));
    let in_address = memchr::memmem::find_iter(text.as_bytes(), "%40").map(|at| (at, 3));
    plain.chain(in_address).filter_map(|(at, len)| address_at(text, at, len))
}

/// The address whose `@`, which is `len` bytes long, is at `at`.
fn address_at(text: &str, at: usize, len: usize) -> Option<Range<usize>> {
    const LOCAL_LETTERS: usize = 64;
    const DOMAIN_LETTERS: usize = 253;
    let before = text.get(..at)?;
    let is_local = |c: &char| c.is_alphanumeric() || "._%+'-".contains(*c);
    let local: usize = before.chars().rev().take(LOCAL_LETTERS).take_while(is_local).map(char::len_utf8).sum();
    let start = at - local;
    let start = start + end_of_escape(text, start);
    // A quote or a full stop before it belongs to the sentence.
    let local = text.get(start..at)?;
    let start = start + local.len() - local.trim_start_matches(['.', '\'', '%', '-']).len();
    let after = text.get(at + len..)?;
    let is_domain = |c: &char| c.is_alphanumeric() || *c == '-' || *c == '.';
    let domain: usize = after.chars().take(DOMAIN_LETTERS).take_while(is_domain).map(char::len_utf8).sum();
    let domain = after.get(..domain)?.trim_end_matches(['.', '-']);
    let (rest, top) = domain.rsplit_once('.')?;
    let is_top = top.chars().count() >= 2 && (top.chars().all(char::is_alphabetic) || top.starts_with("xn--"));
    let range = start..at + len + domain.len();
    // `git@…` is no person's, `logo@2x.png` no address.
    let is_person = start < at && text.get(start..at) != Some("git") && !is_file(domain);
    (is_top && is_person && rest.starts_with(char::is_alphanumeric)).then_some(range)
}

fn is_file(domain: &str) -> bool {
    const ENDINGS: [&str; 10] = [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".js", ".ts", ".css", ".json"];
    ENDINGS.iter().any(|ending| domain.ends_with(ending))
}

fn of(range: Range<usize>, kind: Kind, reach: Reach) -> Seen {
    Seen { range, kind, reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Kind, &str)> {
        let detector = Detector::new(&[]).unwrap();
        let mut seen = detector.look(text);
        seen.sort_by_key(|seen| (seen.range.start, std::cmp::Reverse(seen.range.end)));
        let mut found: Vec<(Kind, &str)> = Vec::new();
        let mut end = 0;
        for seen in seen.into_iter().filter(|seen| seen.kind != Kind::Image) {
            if seen.range.end > end {
                end = seen.range.end;
                found.push((seen.kind, &text[seen.range]));
            }
        }
        found
    }

    #[test]
    fn keys_are_known_by_their_beginning() {
        for key in [
            "sk-ant-api03-0123456789abcdef",
            "sk-proj-abcdef0123456789",
            "ghp_0123456789abcdefABCDEF0123456789abcd",
            "gho_16C7e42F292c6912E7710c838347Ae178B4a",
            "github_pat_11ABCDEFG0123456789_abcdefghij",
            "xoxb-123456789012-abcdefghij",
            "AKIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "glpat-abcdefghij0123456789",
            "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        ] {
            assert_eq!(found(&format!("use {key}.")).first(), Some(&(Kind::Key, key)), "{key}");
        }
        for plain in ["task-runner-0123456789", "sk-learn-estimators", "npm_config_registry", "ghp_short"] {
            assert_eq!(found(plain), [], "{plain}");
        }
    }

    #[test]
    fn tokens_and_headers() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        assert_eq!(found(&format!("got {jwt} back")), [(Kind::Token, jwt)]);
        assert_eq!(found("curl -H 'Authorization: Bearer abc123def456'"), [(Kind::Token, "abc123def456")]);
        assert_eq!(found("Authorization: Basic YWRhOnB3"), [(Kind::Token, "YWRhOnB3")]);
        assert_eq!(found("bearer authentication is used"), []);
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
        assert_eq!(found(&format!("x {block} y")), [(Kind::PrivateKey, block)]);
        let torn = "-----BEGIN PRIVATE KEY-----\nMIIEabc\n";
        assert_eq!(found(torn), [(Kind::PrivateKey, torn)]);
    }

    #[test]
    fn passwords_in_addresses_and_assignments() {
        for (text, secret) in [
            ("postgres://ada:hunter2@db.example.com/x", "hunter2"),
            ("https://ada:p:w@host", "p:w"),
            ("password=hunter2", "hunter2"),
            ("it has password=hunter2.", "hunter2"),
            ("PASSWORD=correcthorse", "correcthorse"),
            (r#"{"password": "pa\"ss"}"#, r#"pa\"ss"#),
            ("db_password: 'two words'", "two words"),
            ("export DB_PASSWD=abc", "abc"),
            ("mysql --password hunter2 -h x", "hunter2"),
            ("<password>hunter2</password>", "hunter2"),
            ("?password=hunter2&x=1", "hunter2"),
        ] {
            assert_eq!(found(text), [(Kind::Password, secret)], "{text}");
        }
        assert_eq!(found(r#"api_key = "abc""#), [(Kind::Secret, "abc")]);
        assert_eq!(found("token=9f86d081884c7d659a2feaa0"), [(Kind::Secret, "9f86d081884c7d659a2feaa0")]);
        for plain in [
            "the password is hashed",
            "password = getpass()",
            "password: the one you chose",
            "max_tokens=16000",
            "token=next",
            "password=$DB_PASSWORD",
            "if token == other:",
            "password: str = None",
        ] {
            assert_eq!(found(plain), [], "{plain}");
        }
    }

    #[test]
    fn people_are_known_by_address_and_home_folder() {
        assert_eq!(found("mail ada.l+x@mail.example.co.uk."), [(Kind::Email, "ada.l+x@mail.example.co.uk")]);
        assert_eq!(found("git@github.com:a/b logo@2x.png pkg@1.2.3"), []);
        for path in
            ["/home/ada/x", "/Users/ada", r"C:\Users\ada\x", r"c:\\Users\\ada\\x", "C:/Users/ada/x", "-home-ada-x"]
        {
            assert_eq!(found(path), [(Kind::User, "ada")], "{path}");
        }
        assert_eq!(found(r"C:\Users\Ada King\x"), [(Kind::User, "Ada King")]);
        assert_eq!(found("/home/$USER /home/{name} /home/<you>"), []);
        let generic = Detector::new(&[]).unwrap().look("/home/user/x");
        assert_eq!(generic, [of(6..10, Kind::User, Reach::InPlace)]);
    }

    #[test]
    fn own_patterns_replace_their_first_group_or_all_they_match() {
        let detector = Detector::new(&[r"ticket (\d+)".to_owned(), "ACME-[0-9]+".to_owned()]).unwrap();
        let seen = detector.look("ticket 12345678 of ACME-77");
        assert_eq!(seen.iter().map(|seen| seen.range.clone()).collect::<Vec<_>>(), [7..15, 19..26]);
        assert!(Detector::new(&["(".to_owned()]).is_err());
        assert!(Detector::new(&["x*".to_owned()]).is_err(), "would match between all letters");
    }
}
