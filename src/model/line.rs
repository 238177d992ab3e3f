//! Texts cut to one short line, and made harmless.

use std::borrow::Cow;

/// One line that stands for a text: as `start_line`, with control characters replaced.
pub fn one_line(text: &str, limit: usize) -> String {
    let shown = |character: char| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
    start_line(text, limit).chars().map(shown).collect()
}

/// The start of a text as one line: white space collapsed, at most `limit` characters; longer ones end in an ellipsis.
/// No more of a huge text is read than the line needs. Control characters stay.
pub fn start_line(text: &str, limit: usize) -> String {
    let (mut line, is_cut) = collapsed(text, limit);
    if is_cut {
        line.pop();
        line.push('…');
    }
    line
}

/// The summary form of a text: white space collapsed, at most 60 characters, longer ones cut to 57 and `...`.
pub fn summarise(text: &str) -> String {
    let (line, is_cut) = collapsed(text, 60);
    if !is_cut {
        return line;
    }
    let mut cut: String = line.chars().take(57).collect();
    cut.push_str("...");
    cut
}

/// The text with everything in it that is not seen, or changes how other text is seen, spelled out: control characters,
/// terminal escapes, direction overrides, invisible characters. Tabs and line feeds stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(_, character)| hidden(*character)).map(|(at, _)| at) else {
        return Cow::Borrowed(text);
    };
    let (clean, rest) = text.split_at(first);
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(clean);
    for character in rest.chars() {
        match character {
            '\u{1b}' => shown.push_str("⟨ESC⟩"),
            '\0' => shown.push_str("⟨NUL⟩"),
            '\r' => shown.push_str("⟨CR⟩"),
            _ if hidden(character) => {
                use std::fmt::Write;
                let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

fn hidden(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        ' '..='~' => false,
        _ if character.is_control() => true,
        // Direction marks, embeddings, overrides and isolates.
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => true,
        // Characters without width, separators, annotations; joiners stay, for scripts need them.
        '\u{00ad}' | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags: a text can be hidden in them.
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// The first `limit` characters of a text with its white space collapsed, and whether there are more.
fn collapsed(text: &str, limit: usize) -> (String, bool) {
    let mut line = String::new();
    let mut count = 0;
    let mut is_apart = false;
    for character in text.chars() {
        if character.is_whitespace() {
            is_apart = count > 0;
            continue;
        }
        if std::mem::take(&mut is_apart) && count < limit {
            line.push(' ');
            count += 1;
        }
        if count >= limit {
            return (line, true);
        }
        line.push(character);
        count += 1;
    }
    (line, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_one_line_of_at_most_sixty_characters() {
        assert_eq!(summarise("  Add a\n\tlicence  header "), "Add a licence header");
        assert_eq!(summarise(""), "");
        let sixty = "x".repeat(60);
        assert_eq!(summarise(&sixty), sixty);
        assert_eq!(summarise(&format!("{sixty} \n ")), sixty);
        let cut = summarise(&"é".repeat(61));
        assert_eq!(cut, format!("{}...", "é".repeat(57)));
        assert_eq!(summarise(&"word ".repeat(1_000_000)).chars().count(), 60);
        assert_eq!(summarise(&format!("{} b", "a".repeat(59))), format!("{}...", "a".repeat(57)));
    }

    #[test]
    fn one_line_of_a_text_is_short() {
        assert_eq!(one_line(" a\n\tb ", 10), "a b");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("ab cd", 3), "ab…");
        assert_eq!(one_line("a\u{1b}[1m\0b", 10), "a\u{fffd}[1m\u{fffd}b");
        assert_eq!(one_line(&"é".repeat(160), 160), "é".repeat(160));
    }

    #[test]
    fn a_huge_text_is_not_read_to_its_end() {
        let huge = "x".repeat(50_000_000);
        let start = std::time::Instant::now();
        for _ in 0..1_000 {
            assert_eq!(one_line(&huge, 160).chars().count(), 160);
        }
        assert!(start.elapsed().as_secs() < 5);
    }
}
