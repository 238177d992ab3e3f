//! The question that an agent ends its turn with: a tagged block of JSON in the turn's text.

use serde::Deserialize;

use crate::formats::lenient::{List, Text};

const OPENING: &str = "<interaction>";
const CLOSING: &str = "</interaction>";
/// Blocks that are looked at, from the end.
const TRIES: usize = 64;

/// What an agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub question: String,
    pub choices: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    question: Text<'a>,
    #[serde(borrow)]
    choices: List<Text<'a>>,
}

/// The question that a turn's text ends with: the last complete block that is JSON of a known kind decides.
pub fn find(text: &str) -> Option<Question> {
    let mut rest = text;
    for _ in 0..TRIES {
        let end = rest.rfind(CLOSING)?;
        let before = rest.get(..end)?;
        let start = before.rfind(OPENING)?;
        let inner = before.get(start + OPENING.len()..)?.trim();
        // Only an object can be a block; a list would be read field by field.
        if inner.starts_with('{')
            && let Ok(block) = serde_json::from_str::<Block>(inner)
        {
            match block.kind.as_str() {
                Some("question") => {
                    let choices = block.choices.0.iter().filter_map(Text::to_owned_option).collect();
                    return Some(Question { question: block.question.or_empty().to_owned(), choices });
                }
                Some("completed") => return None,
                _ => {}
            }
        }
        rest = rest.get(..start)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_valid_block_decides() {
        let question = r#"<interaction>{"kind":"question","question":"Which licence?","choices":["MIT","Apache-2.0"],"allowFreeText":false}</interaction>"#;
        let expected = Question { question: "Which licence?".into(), choices: vec!["MIT".into(), "Apache-2.0".into()] };
        assert_eq!(find(&format!("I need to know.\n{question}")), Some(expected.clone()));
        assert_eq!(find(&format!("{question} and then <interaction>not JSON</interaction>")), Some(expected));
        let completed = r#"<interaction>{"kind":"completed","output":{}}</interaction>"#;
        assert_eq!(find(&format!("{question}{completed}")), None);
        assert_eq!(find("<interaction>{\"kind\":\"question\""), None);
        assert_eq!(find("a </interaction> tag"), None);
    }
}
