//! The frame around a participant's message: `NAME (@handle) at 2026-11-27 09:12 UTC:` on a line of its own before it.

use std::borrow::Cow;

/// Lines of it that are dropped too.
const MENTIONS: &str = "— mentions: ";

/// What the participant wrote, without the frame; as it is where there is none, or where nothing would be left.
pub fn unframed(text: &str) -> Cow<'_, str> {
    let Some((first, rest)) = text.split_once('\n') else { return Cow::Borrowed(text) };
    if !is_frame(first.strip_suffix('\r').unwrap_or(first)) {
        return Cow::Borrowed(text);
    }
    let kept: Vec<&str> = rest.split('\n').filter(|line| !line.starts_with(MENTIONS)).collect();
    let kept = kept.join("\n");
    let said = kept.trim_start_matches(['\n', '\r']);
    if said.trim().is_empty() { Cow::Borrowed(text) } else { Cow::Owned(said.to_owned()) }
}

/// Whether a line ends in ` at YYYY-MM-DD HH:MM:`, with ` UTC` before the colon or, in old rows, without.
fn is_frame(line: &str) -> bool {
    let Some(line) = line.strip_suffix(':') else { return false };
    let line = line.strip_suffix(" UTC").unwrap_or(line);
    let Some((_, time)) = line.rsplit_once(" at ") else { return false };
    let pattern = b"dddd-dd-dd dd:dd";
    time.len() == pattern.len()
        && time
            .bytes()
            .zip(pattern)
            .all(|(byte, mark)| if *mark == b'd' { byte.is_ascii_digit() } else { byte == *mark })
}

#[cfg(test)]
mod tests {
    use super::unframed;

    #[test]
    fn the_frame_goes_and_the_message_stays() {
        for (text, said) in [
            ("Dana Levi (@dana) at 2026-11-27 09:12 UTC:\nYes, try again.", "Yes, try again."),
            ("Dana (@d) at 2026-05-01 09:12:\n\nOld row", "Old row"),
            ("A (@a) at 2026-11-27 09:12 UTC:\n— mentions: B\n↳ replying to \"x\"\nHi", "↳ replying to \"x\"\nHi"),
            ("Meet me at 2026-11-27 09:12 AM:\nok", "Meet me at 2026-11-27 09:12 AM:\nok"),
            ("A (@a) at 2026-11-27 09:12 UTC:\n", "A (@a) at 2026-11-27 09:12 UTC:\n"),
            ("A (@a) at 2026-11-27 09:12 UTC:", "A (@a) at 2026-11-27 09:12 UTC:"),
            ("two\nlines", "two\nlines"),
        ] {
            assert_eq!(unframed(text), said);
        }
    }
}
