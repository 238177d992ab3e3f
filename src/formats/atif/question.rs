//! Questions: the format has no type of its own for them, so they are told by the name of the tool.

use serde_json::Value;

use super::record::{CallResult, Raw};
use crate::formats::labels::marker_text;
use crate::formats::lenient::Object;
use crate::model::summarise;

/// What agents call the tool that asks the user.
const TOOLS: [&str; 6] =
    ["ask_user_question", "AskUserQuestion", "request_user_input", "question", "ask_user", "ask_followup_question"];

/// Bounds for a hostile file: no person is asked more.
const MAX_QUESTIONS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// One question with the labels of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub question: String,
    pub options: Vec<String>,
}

pub fn is_question(tool: &str) -> bool {
    TOOLS.contains(&tool)
}

/// The questions in the arguments of a call, which may be JSON in a string.
pub fn asked(arguments: Raw<'_>) -> Vec<Asked> {
    let value: Value = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let inner = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    let value = inner.unwrap_or(value);
    let questions = match value.get("questions").and_then(Value::as_array) {
        Some(questions) => questions.as_slice(),
        None => std::slice::from_ref(&value),
    };
    questions.iter().take(MAX_QUESTIONS).filter_map(one).collect()
}

fn one(question: &Value) -> Option<Asked> {
    let words = |key: &str| question.get(key).and_then(Value::as_str);
    let text =
        words("question").or_else(|| words("message")).or_else(|| words("prompt")).or_else(|| words("header"))?;
    let listed = ["options", "choices", "follow_up"].iter().find_map(|key| question.get(*key)?.as_array());
    let options = match listed {
        Some(options) => labels(options),
        None => of_schema(question.get("requestedSchema").unwrap_or(&Value::Null)),
    };
    Some(Asked { question: marker_text(text), options })
}

fn labels(options: &[Value]) -> Vec<String> {
    let label = |option: &Value| {
        let field = |key: &str| option.get(key).and_then(Value::as_str);
        let text = option.as_str().or_else(|| field("label")).or_else(|| field("title")).or_else(|| field("const"));
        text.map(marker_text)
    };
    options.iter().take(MAX_OPTIONS).filter_map(label).collect()
}

/// The choices of a form's fields.
fn of_schema(schema: &Value) -> Vec<String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let choices = |field: &Value| {
        let listed = ["enum", "oneOf", "anyOf"].iter().find_map(|key| field.get(*key)?.as_array());
        listed.map(|options| labels(options)).unwrap_or_default()
    };
    fields.into_iter().flat_map(|fields| fields.values()).flat_map(choices).take(MAX_OPTIONS).collect()
}

/// The answer to each question, where the result tells it.
pub fn answers(asked: &[Asked], result: &CallResult<'_>, text: &str) -> Vec<Vec<String>> {
    let Object(extra) = &result.extra;
    let metadata = extra.as_ref().and_then(|extra| extra.tool_result_metadata.0.as_ref());
    let own: Value = metadata
        .and_then(|metadata| metadata.tool_use_result)
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    asked
        .iter()
        .map(|asked| {
            let recorded = own.get("answers").and_then(|answers| answers.get(&asked.question)).and_then(Value::as_str);
            let told = recorded.map(str::to_owned).or_else(|| beside(text, &asked.question));
            told.or_else(|| plain(text)).map(|answer| chosen(asked, &answer)).unwrap_or_default()
        })
        .collect()
}

/// A multiple choice is recorded as one text of labels with commas between; any other text is one answer.
fn chosen(asked: &Asked, answer: &str) -> Vec<String> {
    let parts: Vec<String> = answer.split(", ").map(marker_text).collect();
    let all_known = parts.iter().all(|part| asked.options.contains(part));
    if all_known { parts } else { vec![marker_text(answer)] }
}

/// The answer in `"question" = answer` or `"question"="answer"`.
fn beside(text: &str, question: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{question}\""))?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    Some(match rest.strip_prefix('"') {
        Some(quoted) => {
            let end = ["\", \"", "\"."].iter().filter_map(|end| quoted.find(end)).min().or_else(|| quoted.find('"'));
            quoted.get(..end.unwrap_or(quoted.len())).unwrap_or(quoted).to_owned()
        }
        None => rest.lines().next().unwrap_or_default().trim().to_owned(),
    })
}

/// The answer as the first line says it, without the words before it.
fn plain(text: &str) -> Option<String> {
    const LEADS: [&str; 4] = ["User answered your questions:", "User responded:", "User answered:", "User selected:"];
    let text = text.trim();
    let rest = LEADS.iter().find_map(|lead| text.strip_prefix(lead)).unwrap_or(text).trim();
    rest.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// `question -> answer` for every question of a call, at most 60 characters.
pub fn summary(asked: &[Asked], answers: &[Vec<String>]) -> String {
    let pairs =
        asked.iter().zip(answers).map(|(asked, answers)| format!("{} -> {}", asked.question, answers.join(", ")));
    summarise(&pairs.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str) -> Vec<Asked> {
        let raw = serde_json::value::RawValue::from_string(arguments.to_owned()).unwrap();
        asked(Some(&raw))
    }

    #[test]
    fn questions_of_each_agent_are_read() {
        let storage = Asked { question: "Which?".into(), options: vec!["A".into(), "B".into()] };
        for arguments in [
            r#"{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}"#,
            r#""{\"question\":\"Which?\",\"choices\":[\"A\",\"B\"]}""#,
            r#"{"message":"Which?","requestedSchema":{"properties":{"db":{"enum":["A","B"]}}}}"#,
            r#"{"question":"Which?","follow_up":["A","B"]}"#,
        ] {
            assert_eq!(read(arguments), std::slice::from_ref(&storage), "{arguments}");
        }
        assert_eq!(read("7"), []);
    }

    #[test]
    fn answers_are_found_in_the_words_of_a_result() {
        assert_eq!(beside("You said:\n\"Which?\" = SQLite", "Which?").as_deref(), Some("SQLite"));
        assert_eq!(beside("The user answered: \"Which?\"=\"A, B\". Go on", "Which?").as_deref(), Some("A, B"));
        assert_eq!(plain("User answered your questions: JSON").as_deref(), Some("JSON"));
        assert_eq!(plain("User responded: A\n{\"more\":1}").as_deref(), Some("A"));
        assert_eq!(plain(" "), None);
    }
}
