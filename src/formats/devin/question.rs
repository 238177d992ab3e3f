//! Questions that the agent asked with its tool, and what the user chose.

use serde_json::Value;

use crate::formats::labels::MARKER_BYTES;
use crate::model::{Fact, QuestionState, summarise};

/// The tool whose calls are questions.
pub(super) const TOOL: &str = "ask_user_question";

/// Bounds for a hostile file: no person is asked more.
const MAX_QUESTIONS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// One question with the labels of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub question: String,
    pub options: Vec<String>,
}

/// The answers to the questions of a call, by the number of the question.
pub(super) type Answers = [(u32, Vec<String>)];

fn short(text: &str) -> String {
    match text.len() {
        0..=MARKER_BYTES => text.to_owned(),
        _ => format!("{}…", text.get(..text.floor_char_boundary(MARKER_BYTES)).unwrap_or_default()),
    }
}

/// The questions in the arguments of a call.
pub(super) fn asked(arguments: &str) -> Vec<Asked> {
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return Vec::new() };
    let questions = arguments.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let one = |question: &Value| {
        let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let label = |option: &Value| option.get("label").unwrap_or(option).as_str().map(short);
        Some(Asked {
            question: short(question.get("question")?.as_str()?),
            options: options.iter().filter_map(label).take(MAX_OPTIONS).collect(),
        })
    };
    questions.iter().filter_map(one).take(MAX_QUESTIONS).collect()
}

/// What the user chose, as the tool's result records it; the wire's names count too.
pub(super) fn answers(recorded: &Value) -> Vec<(u32, Vec<String>)> {
    let list = recorded.get("answers").unwrap_or(recorded).as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |at: usize, answer: &Value| {
        let index = answer.get("question_index").and_then(Value::as_u64).unwrap_or(at as u64);
        let selected = ["selected", "selected_options"].iter().find_map(|key| answer.get(key));
        let texts = match selected {
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).take(MAX_OPTIONS).map(short).collect(),
            Some(Value::String(text)) => vec![short(text)],
            _ => Vec::new(),
        };
        (u32::try_from(index).unwrap_or(u32::MAX), texts)
    };
    list.iter().enumerate().take(MAX_QUESTIONS).map(|(at, answer)| one(at, answer)).collect()
}

/// The labels chosen for the question with that number.
pub(super) fn chosen(answers: &Answers, number: usize) -> Option<&[String]> {
    answers.iter().find(|(index, _)| *index as usize == number).map(|(_, chosen)| chosen.as_slice())
}

/// `question -> answer` for every question of a call, at most 60 characters.
pub(super) fn summary(asked: &[Asked], answers: &Answers) -> String {
    let pair = |(number, asked): (usize, &Asked)| {
        let answer = chosen(answers, number).unwrap_or_default().join(", ");
        format!("{} -> {answer}", asked.question)
    };
    match asked {
        // The question itself cannot be read; the answer can.
        [] => {
            let chosen: Vec<String> = answers.iter().map(|(_, chosen)| chosen.join(", ")).collect();
            summarise(&format!("? -> {}", chosen.join("; ")))
        }
        asked => summarise(&asked.iter().enumerate().map(pair).collect::<Vec<_>>().join("; ")),
    }
}

/// The marker fact of one question of a call. `has_result` without answers: it was called off or refused.
pub(super) fn fact(asked: &Asked, number: usize, answers: Option<&Answers>, has_result: bool) -> Fact {
    let chosen = answers.and_then(|answers| chosen(answers, number)).unwrap_or_default();
    let state = match (answers, has_result) {
        (Some(_), _) if !chosen.is_empty() => QuestionState::Answered,
        (_, true) => QuestionState::Declined,
        (_, false) => QuestionState::Pending,
    };
    Fact::Question { question: asked.question.clone(), options: asked.options.clone(), answers: chosen.to_vec(), state }
}
