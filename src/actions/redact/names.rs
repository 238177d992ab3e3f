//! What the name of a value says of it: `password`, `AWS_SECRET_ACCESS_KEY`, `max_tokens`.

/// How sure a name makes it that its value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Any value that says something.
    Password,
    /// Any value that says something, and is no password of a person.
    Secret,
    /// Only a value that looks like one made by a machine.
    Maybe,
}

const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "passcode", "kennwort"];
const SECRETS: &str = "apikey secretkey accesskey privatekey clientsecret accesstoken authtoken refreshtoken sessiontoken \
    bearertoken idtoken credential authorization encryptionkey";
const MAYBE: [&str; 6] = ["token", "key", "auth", "cookie", "bearer", "pat"];

/// Names that end like this are about a secret and are none.
const ABOUT: &str = "id ids length len count policy field label type name url uri path file hint min max tokens expiry expires \
    expiresin expiresat enabled required prompt error valid usage limit budget";
const NO_SECRETS: &str = "key publickey primarykey foreignkey cachekey sortkey partitionkey idempotencykey hotkey objectkey \
    promptcachekey nexttoken pagetoken nextpagetoken";

/// Whether a word is one of a list.
fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// What a name says of its value; `None` for nearly all names.
pub(super) fn judge(name: &str) -> Option<Named> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if is_among(NO_SECRETS, &plain) || ABOUT.split(' ').any(|end| plain.ends_with(end)) {
        return None;
    }
    if PASSWORDS.iter().any(|word| plain.contains(word)) || plain.ends_with("pwd") {
        return Some(Named::Password);
    }
    if SECRETS.split(' ').any(|word| plain.contains(word)) || plain.ends_with("secret") {
        return Some(Named::Secret);
    }
    // A proxy's `secret_key_base`, a `session_secret_v2`.
    if name.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "secret") {
        return Some(Named::Secret);
    }
    MAYBE.iter().any(|end| plain.ends_with(end)).then_some(Named::Maybe)
}

/// Whether a value with a telling name says nothing: a placeholder, a reference to where the secret is, a type.
pub(super) fn is_trivial(value: &str) -> bool {
    const WORDS: &str = "true false null none nil undefined string str text number int bool boolean bytes any object optional \
        required password passwd secret token apikey api_key your_api_key your-api-key changeme redacted hidden \
        masked empty unset default void";
    const REFERENCES: &str = "${ $( {{ %( %{ [redacted [left process.env os.environ os.getenv getenv env. env[ config. self. this. \
        args. settings. op://";
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let mut characters = value.chars();
    let first = characters.next();
    first.is_none_or(|first| characters.all(|other| other == first))
        || is_among(WORDS, &lower)
        || REFERENCES.split(' ').any(|start| lower.starts_with(start))
        || (value.starts_with('<') && value.ends_with('>'))
        || value.strip_prefix('$').is_some_and(is_variable)
}

/// Whether a word is named like a variable of the environment.
fn is_variable(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Whether a value looks made by a machine: long, without blanks, letters and digits well mixed.
pub(super) fn is_random(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/=_.-~".contains(c);
    let long = value.len() >= 16 && value.chars().all(is_part);
    let mixed = value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    long && mixed && !is_uuid(value) && entropy(value) >= 3.0
}

fn is_uuid(value: &str) -> bool {
    uuid::Uuid::try_parse(value).is_ok() && value.contains('-')
}

/// Bits of information per byte, by how often each byte is there.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len() as f64;
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total).map(|p| -p * p.log2()).sum()
}

/// User names that say nothing of a person, or that are words of the formats themselves.
pub(super) fn is_generic_user(name: &str) -> bool {
    const GENERIC: &str = "user users username root admin administrator runner ubuntu debian fedora centos ec2-user vagrant node \
        app application dev developer home guest shared public default me you name agent assistant system tool \
        tools test tests build ci jenkins git github gitlab postgres www-data nobody devin claude codex gemini \
        message messages content text type role model session input output data id step event docker linuxbrew \
        workspace project src code";
    name.chars().count() < 2 || is_among(GENERIC, &name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_from_what_is_said_of_them() {
        for name in ["password", "DB_PASSWORD", "passwordHash", "user.passwd", "MYSQL_PWD"] {
            assert_eq!(judge(name), Some(Named::Password), "{name}");
        }
        for name in
            ["api_key", "x-api-key", "AWS_SECRET_ACCESS_KEY", "clientSecret", "SECRET_KEY_BASE", "Authorization"]
        {
            assert_eq!(judge(name), Some(Named::Secret), "{name}");
        }
        for name in ["token", "DEPLOY_KEY", "npmToken", "set-cookie"] {
            assert_eq!(judge(name), Some(Named::Maybe), "{name}");
        }
        for name in
            ["max_tokens", "input_tokens", "tokenCount", "access_key_id", "key", "monkeys", "publicKey", "title"]
        {
            assert_eq!(judge(name), None, "{name}");
        }
    }

    #[test]
    fn values_that_say_nothing_are_no_secrets() {
        for value in [
            "",
            "****",
            "null",
            "${DB_PASSWORD}",
            "$DB_PASSWORD",
            "os.environ",
            "<password>",
            "[redacted password 1]",
            "str",
        ] {
            assert!(is_trivial(value), "{value}");
        }
        assert!(!is_trivial("hunter2") && !is_trivial("$ecret1!") && !is_trivial("<3forever"));
        assert!(is_random("9f86d081884c7d659a2feaa0c55ad015"));
        for value in ["aaaaaaaaaaaaaaaa1", "a sentence with blanks 1", "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10", "short1"]
        {
            assert!(!is_random(value), "{value}");
        }
    }
}
