//! Questions that the agent asked, and what became of them.

use std::borrow::Cow;

use serde::Deserialize;

use super::approval::Ruling;
use crate::formats::json;
use crate::formats::labels::marker_text;
use crate::formats::lenient::{List, Object, Text};
use crate::formats::skim::Raw;
use crate::model::{Decision, Fact, QuestionState, summarise};

/// The tool whose calls are questions.
pub(super) const TOOL: &str = "AskUserQuestion";

/// Bounds for a hostile file: no person is asked more.
const MAX_QUESTIONS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// One question with the labels of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub question: String,
    pub options: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    questions: List<Object<InputQuestion<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputQuestion<'a> {
    #[serde(borrow)]
    question: Text<'a>,
    #[serde(borrow)]
    options: List<Object<InputOption<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputOption<'a> {
    #[serde(borrow)]
    label: Text<'a>,
}

/// The questions in the input of a call.
pub(super) fn asked(input: Raw<'_>) -> Vec<Asked> {
    let mut spare = String::new();
    let Ok(Object(Some(input))) = json::record::<Object<Input>>(input.get(), &mut spare) else { return Vec::new() };
    let questions = input.questions.0.into_iter().filter_map(|question| question.0);
    questions
        .take(MAX_QUESTIONS)
        .filter(|question| question.question.as_str().is_some())
        .map(|question| Asked {
            question: marker_text(question.question.or_empty()),
            options: (question.options.0.iter())
                .filter_map(|option| option.0.as_ref()?.label.as_str())
                .take(MAX_OPTIONS)
                .map(marker_text)
                .collect(),
        })
        .collect()
}

/// The answers in a `toolUseResult`, as `(question, answer)`.
///
/// An answer is a string; where it is a list, its strings are joined as the agent joins the labels of a multiple choice.
pub(super) fn answers(result: Raw<'_>) -> Vec<(String, String)> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Result<'a> {
        #[serde(borrow)]
        answers: Option<Raw<'a>>,
    }
    let mut spare = String::new();
    let Ok(Object(Some(result))) = json::record::<Object<Result>>(result.get(), &mut spare) else { return Vec::new() };
    let Some(Ok(serde_json::Value::Object(answers))) = result.answers.map(|raw| serde_json::from_str(raw.get())) else {
        return Vec::new();
    };
    answers
        .iter()
        .take(MAX_QUESTIONS)
        .filter_map(|(question, answer)| Some((marker_text(question), words(answer)?)))
        .collect()
}

fn words(answer: &serde_json::Value) -> Option<String> {
    match answer {
        serde_json::Value::String(text) => Some(marker_text(text)),
        serde_json::Value::Array(items) => {
            let labels: Vec<&str> = items.iter().filter_map(serde_json::Value::as_str).collect();
            Some(marker_text(&labels.join(", ")))
        }
        _ => None,
    }
}

/// The answers as the model was told them, `"question"="answer"`: all that files without `toolUseResult` have.
pub(super) fn answers_in_text(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some((head, mut rest)) = text.split_once('"') else { return found };
    if !head.contains("answered") {
        return found;
    }
    while let Some((question, after)) = rest.split_once("\"=\"").filter(|_| found.len() < MAX_QUESTIONS) {
        let next = after.find("\", \"");
        let end = next.or_else(|| after.find("\".")).or_else(|| after.find('"')).unwrap_or(after.len());
        found.push((marker_text(question), marker_text(after.get(..end).unwrap_or_default())));
        match next {
            Some(next) => rest = after.get(next + 4..).unwrap_or_default(),
            None => break,
        }
    }
    found
}

/// `question -> answer` for every question of a call, at most 60 characters.
pub(super) fn summary(asked: &[Asked], answers: &[(String, String)]) -> String {
    summarise(
        &pairs(asked, answers)
            .map(|(question, answer)| format!("{question} -> {answer}"))
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// The questions of a call with their answers; answers to questions that were not asked come last.
pub(super) fn pairs<'a>(
    asked: &'a [Asked],
    answers: &'a [(String, String)],
) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
    let known = asked.iter().map(|asked| {
        let answer = answers.iter().find(|(question, _)| *question == asked.question);
        (asked.question.as_str().into(), answer.map_or("", |(_, answer)| answer).into())
    });
    let others = (answers.iter())
        .filter(|(question, _)| !asked.iter().any(|asked| asked.question == *question))
        .map(|(question, answer)| (question.as_str().into(), answer.as_str().into()));
    known.chain(others)
}

/// What became of a question.
pub(super) struct Fate<'a> {
    /// A result is recorded.
    pub has_result: bool,
    pub is_error: bool,
    pub ruling: Option<&'a Ruling>,
    pub answers: &'a [(String, String)],
}

/// The marker fact of one question of a call.
pub(super) fn fact(asked: &Asked, fate: &Fate) -> Fact {
    let answer = fate.answers.iter().find(|(question, _)| *question == asked.question);
    let feedback = fate.ruling.and_then(|ruling| ruling.reason.clone());
    let (state, answers) = match (answer, fate.ruling.map(|ruling| ruling.decision)) {
        _ if !fate.has_result => (QuestionState::Pending, Vec::new()),
        (_, Some(Decision::Blocked)) => (QuestionState::NotShown, Vec::new()),
        (_, Some(Decision::Denied)) => (QuestionState::Declined, feedback.into_iter().collect()),
        (Some((_, answer)), _) => (QuestionState::Answered, chosen(asked, answer)),
        (None, _) if fate.is_error => (QuestionState::NotShown, Vec::new()),
        (None, _) => (QuestionState::Declined, Vec::new()),
    };
    Fact::Question { question: asked.question.clone(), options: asked.options.clone(), answers, state }
}

/// A multiple choice is recorded as one string of labels with commas between; any other text is one answer.
fn chosen(asked: &Asked, answer: &str) -> Vec<String> {
    if asked.options.iter().any(|option| option == answer) {
        return vec![answer.to_owned()];
    }
    let mut labels = Vec::new();
    let mut rest = answer;
    while !rest.is_empty() {
        // The longest label first: one may begin with another.
        let fitting = asked.options.iter().filter(|option| {
            !option.is_empty()
                && rest.strip_prefix(option.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        });
        let Some(label) = fitting.max_by_key(|option| option.len()) else { return vec![answer.to_owned()] };
        labels.push(label.clone());
        rest = rest.get(label.len()..).unwrap_or_default().trim_start_matches(", ");
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        serde_json::from_str(text).unwrap()
    }

    fn colours() -> Vec<Asked> {
        asked(raw(
            r#"{"questions":[{"question":"Which colour?","header":"C","options":[{"label":"Red"},{"label":"Red, dark"},{"label":"Blue"}]},7,{"question":"Why?"}]}"#,
        ))
    }

    #[test]
    fn questions_and_labels_are_read() {
        assert_eq!(
            colours(),
            [
                Asked {
                    question: "Which colour?".into(),
                    options: vec!["Red".into(), "Red, dark".into(), "Blue".into()]
                },
                Asked { question: "Why?".into(), options: vec![] }
            ]
        );
        assert_eq!(asked(raw("[1]")), []);
        assert_eq!(asked(raw(r#"{"questions":"none"}"#)), []);
    }

    #[test]
    fn answers_are_strings_or_lists() {
        let result = raw(r#"{"answers":{"Which colour?":"Blue","Why?":["a","b"],"n":1},"questions":[]}"#);
        assert_eq!(answers(result), [("Which colour?".into(), "Blue".into()), ("Why?".into(), "a, b".into())]);
        assert_eq!(answers(raw("\"User rejected tool use\"")), []);
    }

    #[test]
    fn old_answers_are_found_in_the_text() {
        let text = r#"User has answered your questions: "Which colour?"="Blue", "Why?"="calm". You can now continue"#;
        assert_eq!(answers_in_text("let \"a\"=\"b\""), []);
        assert_eq!(answers_in_text(text), [("Which colour?".into(), "Blue".into()), ("Why?".into(), "calm".into())]);
    }

    #[test]
    fn summaries_join_question_and_answer() {
        let answers = [("Which colour?".to_owned(), "Blue".to_owned()), ("Why?".to_owned(), "calm".to_owned())];
        assert_eq!(summary(&colours(), &answers), "Which colour? -> Blue; Why? -> calm");
        assert_eq!(summary(&colours()[..1], &answers[..1]), "Which colour? -> Blue");
    }

    fn state(fate: &Fate) -> (QuestionState, Vec<String>) {
        match fact(&colours()[0], fate) {
            Fact::Question { answers, state, .. } => (state, answers),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_answered_declined_not_shown_or_open() {
        let answered = |answer: &str| {
            let answers = [("Which colour?".to_owned(), answer.to_owned())];
            state(&Fate { has_result: true, is_error: false, ruling: None, answers: &answers })
        };
        assert_eq!(answered("Red"), (QuestionState::Answered, vec!["Red".into()]));
        assert_eq!(answered("Red, dark"), (QuestionState::Answered, vec!["Red, dark".into()]));
        assert_eq!(answered("Red, Blue"), (QuestionState::Answered, vec!["Red".into(), "Blue".into()]));
        assert_eq!(answered("Something, else"), (QuestionState::Answered, vec!["Something, else".into()]));

        let ruled = |decision, reason: Option<&str>| {
            let ruling = Ruling { decision, by: None, reason: reason.map(str::to_owned) };
            state(&Fate { has_result: true, is_error: true, ruling: Some(&ruling), answers: &[] })
        };
        assert_eq!(ruled(Decision::Denied, None), (QuestionState::Declined, vec![]));
        assert_eq!(ruled(Decision::Denied, Some("later")), (QuestionState::Declined, vec!["later".into()]));
        assert_eq!(ruled(Decision::Blocked, Some("no UI")), (QuestionState::NotShown, vec![]));

        let plain = |has_result, is_error| state(&Fate { has_result, is_error, ruling: None, answers: &[] }).0;
        assert_eq!(plain(false, false), QuestionState::Pending);
        assert_eq!(plain(true, true), QuestionState::NotShown);
        assert_eq!(plain(true, false), QuestionState::Declined);
    }
}
