//! What changed between two steps that stand side by side, with the words. Made when it is looked at.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::digest::{TurnPart, parts};
use super::words::{Segment, word_diff};
use crate::formats::Recording;
use crate::model::{Outcome, ToolState};
use crate::store::ReadError;

/// Calls of a turn that are compared one by one; of a longer turn, the first.
const MOST_CALLS: usize = 1_000;
/// Bytes of what an agent wrote in a turn, of a call's input, of its result that are held to be compared.
const MOST_BYTES: usize = 256 * 1024;
/// Bytes of a call that stands alone that are shown.
const ALONE_BYTES: usize = 4096;

/// Two steps side by side: what is not the same in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepDiff {
    pub parts: Vec<PartDiff>,
    /// Calls that are the same on both sides.
    pub same_calls: usize,
    /// There are more calls than are compared.
    pub is_cut: bool,
}

/// A part of a step that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartDiff {
    /// `Prompt`, `Answer`, `Bash input`, `Outcome`.
    pub title: String,
    pub segments: Vec<Segment>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Turn {
    prompt: String,
    answer: String,
    outcome: Option<Outcome>,
    calls: Vec<Call>,
    is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    name: String,
    input: String,
    output: String,
    state: ToolState,
}

/// Compares a step of each side, word by word.
pub fn diff_steps(left: (&dyn Recording, u32), right: (&dyn Recording, u32)) -> Result<StepDiff, ReadError> {
    let (left, right) = (read(left.0, left.1)?, read(right.0, right.1)?);
    let mut diff = StepDiff { is_cut: left.is_cut || right.is_cut, ..StepDiff::default() };
    diff.texts("Prompt", &left.prompt, &right.prompt);
    diff.texts("Answer", &left.answer, &right.answer);
    diff.calls(&left.calls, &right.calls);
    let word = |turn: &Turn| turn.outcome.map_or("", Outcome::word).to_owned();
    diff.texts("Outcome", &word(&left), &word(&right));
    Ok(diff)
}

fn read(recording: &dyn Recording, number: u32) -> Result<Turn, ReadError> {
    let Some(step) = recording.session().step(number) else { return Ok(Turn::default()) };
    let mut turn = Turn { prompt: recording.prompt(number)?, outcome: Some(step.outcome), ..Turn::default() };
    for part in parts(recording, step) {
        let (part, event, body) = part?;
        let add = |text: &mut String| {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(start(&body.text, MOST_BYTES.saturating_sub(text.len())));
        };
        match part {
            TurnPart::Steering => add(&mut turn.prompt),
            TurnPart::Answer => add(&mut turn.answer),
            TurnPart::Call if turn.calls.len() >= MOST_CALLS => turn.is_cut = true,
            TurnPart::Call => turn.calls.push(Call {
                name: event.tool.as_deref().map(|tool| tool.name.clone()).unwrap_or_default(),
                input: readable(start(body.input.as_deref().unwrap_or_default(), MOST_BYTES)),
                output: start(body.output.as_deref().unwrap_or_default(), MOST_BYTES).to_owned(),
                state: event.tool.as_deref().map_or(ToolState::Pending, |tool| tool.state),
            }),
        }
    }
    Ok(turn)
}

fn start(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// An object of texts as lines of `name: text`, which is how people read it; anything else as it is.
fn readable(input: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(input) else { return input.to_owned() };
    let line = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl StepDiff {
    fn texts(&mut self, title: &str, left: &str, right: &str) {
        let segments = word_diff(left, right);
        if !segments.is_empty() {
            self.parts.push(PartDiff { title: title.to_owned(), segments });
        }
    }

    /// Calls of the same tool with the same input stand beside each other; between them, calls of the same tool in turn.
    fn calls(&mut self, left: &[Call], right: &[Call]) {
        let keys = |calls: &[Call]| -> Vec<(String, String)> {
            calls.iter().map(|call| (call.name.clone(), call.input.clone())).collect()
        };
        for op in capture_diff_slices(Algorithm::Myers, &keys(left), &keys(right)) {
            let (old, new) =
                (left.get(op.old_range()).unwrap_or_default(), right.get(op.new_range()).unwrap_or_default());
            match op {
                DiffOp::Equal { .. } => old.iter().zip(new).for_each(|(old, new)| self.call(old, new)),
                _ => self.replaced(old, new),
            }
        }
    }

    fn replaced(&mut self, left: &[Call], right: &[Call]) {
        let mut rest = right;
        for call in left {
            match rest.iter().position(|other| other.name == call.name) {
                Some(place) => {
                    let (before, after) = rest.split_at(place);
                    before.iter().for_each(|call| self.alone(call, true));
                    after.iter().take(1).for_each(|other| self.call(call, other));
                    rest = after.get(1..).unwrap_or_default();
                }
                None => self.alone(call, false),
            }
        }
        rest.iter().for_each(|call| self.alone(call, true));
    }

    fn call(&mut self, left: &Call, right: &Call) {
        if left == right {
            self.same_calls += 1;
            return;
        }
        let name = &left.name;
        self.texts(&format!("{name} input"), &left.input, &right.input);
        self.texts(&format!("{name} ended"), left.state.word(), right.state.word());
        self.texts(&format!("{name} output"), &left.output, &right.output);
    }

    fn alone(&mut self, call: &Call, on_right: bool) {
        let text = format!("{}\n{}", call.name, start(&call.input, ALONE_BYTES));
        let (left, right) = if on_right { (String::new(), text) } else { (text, String::new()) };
        self.parts
            .push(PartDiff { title: format!("{} call", call.name), segments: vec![Segment::Changed { left, right }] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: &str, output: &str) -> Call {
        Call { name: name.into(), input: input.into(), output: output.into(), state: ToolState::Done }
    }

    fn titles(diff: &StepDiff) -> Vec<&str> {
        diff.parts.iter().map(|part| part.title.as_str()).collect()
    }

    #[test]
    fn calls_are_set_beside_each_other_by_tool_and_input() {
        let mut diff = StepDiff::default();
        let left = [call("Read", "a", "1"), call("Bash", "make", "ok"), call("Edit", "x", "")];
        let right =
            [call("Read", "a", "1"), call("Bash", "make test", "ok"), call("Web", "y", ""), call("Edit", "x", "")];
        diff.calls(&left, &right);
        assert_eq!(titles(&diff), ["Bash input", "Web call"]);
        assert_eq!(diff.same_calls, 2);
        let changed = |left: &str, right: &str| Segment::Changed { left: left.into(), right: right.into() };
        assert_eq!(diff.parts[0].segments, [Segment::Same("make".into()), changed("", " test")]);
        assert_eq!(diff.parts[1].segments, [changed("", "Web\ny")]);
    }

    #[test]
    fn the_same_call_may_give_something_else_back() {
        let mut diff = StepDiff::default();
        let failed = Call { state: ToolState::Failed, ..call("Bash", "make", "no rule") };
        diff.calls(&[call("Bash", "make", "ok")], &[failed]);
        assert_eq!(titles(&diff), ["Bash ended", "Bash output"]);
    }

    #[test]
    fn an_input_is_read_as_lines() {
        assert_eq!(readable(r#"{"command":"ls","timeout":3}"#), "command: ls\ntimeout: 3");
        assert_eq!(readable("not json"), "not json");
    }
}
