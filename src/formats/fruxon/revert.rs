//! What a revert would drop, in the numbers of a server's rewind, and the file with what stays.
//!
//! Fruxon itself rewinds on its server, for sandbox sessions only. A file cannot ask it to: what stays is written beside
//! the original, and the request is there to be sent by hand.

use serde_json::{Value, json};

use super::cut;
use super::inbound::unframed;
use super::kind::Kind;
use super::session::{Conversation, Mark, Said};
use crate::formats::{Dropped, Effect, Refusal, Revert};
use crate::model::{Step, Timestamp};
use crate::store::Watch;

const ESTIMATE: &str = "computed here; the server's own numbers win";

pub fn plan(conversation: &Conversation, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let step = cut::step(conversation, number)?;
    if let Some(reason) = &step.revert_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let gone: Vec<&Mark> = conversation.marks.iter().filter(|mark| mark.step >= number).collect();
    let request = request(conversation, &gone);
    let effect = match cut::export(conversation, &|mark| mark.step < number, watch) {
        Ok(fork) => Effect::Export(Box::new(fork)),
        Err(Refusal::Rule(reason)) => Effect::Preview(format!("{reason}; only the server can do that: {request}")),
        Err(error) => return Err(error),
    };
    let prefill = match conversation.said.get(number as usize - 1) {
        Some(Said::At(_)) => Some(conversation.prompt_text(number)),
        _ => None,
    };
    let numbers = Numbers::of(&gone);
    let is_sandbox = is_sandbox(conversation);
    let keeps_steps = match &effect {
        Effect::Export(fork) => fork.steps,
        _ => 0,
    };
    Ok(Revert {
        effect,
        keeps_steps,
        dropped: Dropped {
            messages: gone.iter().map(|mark| mark.rows.len() as u64).sum(),
            irreversible: gone.iter().flat_map(|mark| mark.approved.clone()).collect(),
            pending_approvals: gone.iter().flat_map(|mark| mark.pending.clone()).collect(),
            runs: Some(numbers.runs),
            cancelled_runs: numbers.cancelled,
            console_rows: Some(numbers.console_rows).filter(|_| is_sandbox),
            ..Dropped::default()
        },
        rewind: is_sandbox.then(|| rewind(conversation, step, &numbers, prefill.as_deref())),
        estimate: Some(ESTIMATE.to_owned()),
        prefill_at: step.at.filter(|_| prefill.is_some()),
        warnings: warnings(conversation, &gone, &request),
        prefill,
    })
}

/// What a rewind counts.
struct Numbers {
    runs: u64,
    /// `None` where nobody says how a run without a reply stands.
    cancelled: Option<u64>,
    /// Rows of the agent's history: those of turns that were answered, a parked run has saved none.
    messages: u64,
    console_rows: u64,
}

impl Numbers {
    fn of(gone: &[&Mark]) -> Self {
        // A prompt whose run no file tells of has one all the same.
        let runs = gone.iter().map(|mark| mark.runs.len().max(1) as u64).sum();
        let is_known = gone.iter().all(|mark| mark.is_answered || mark.runs.iter().any(|run| run.is_known));
        let held = gone.iter().flat_map(|mark| &mark.runs).filter(|run| run.is_held).count() as u64;
        let answered = gone.iter().filter(|mark| mark.is_answered);
        Self {
            runs,
            cancelled: (is_known || held > 0).then_some(held),
            messages: answered.map(|mark| mark.rows.len() as u64).sum(),
            console_rows: gone.iter().map(|mark| mark.rows.len() as u64).sum(),
        }
    }
}

fn is_sandbox(conversation: &Conversation) -> bool {
    match conversation.rows {
        Some(kind) => kind == Kind::Row,
        None => conversation.has_streams && conversation.sandbox_id.is_some(),
    }
}

/// What the server would answer.
fn rewind(conversation: &Conversation, step: &Step, numbers: &Numbers, prefill: Option<&str>) -> Value {
    let mut answer = json!({
        "sessionId": conversation.sandbox_id,
        "targetSessionId": conversation.history_id,
        "droppedRuns": numbers.runs,
        "cancelledRuns": numbers.cancelled,
        "droppedMessages": numbers.messages,
        "droppedConsoleRows": numbers.console_rows,
        "prefillText": prefill,
        "prefillOccurredAt": step.at.filter(|_| prefill.is_some()).map(|Timestamp(ms)| ms),
    });
    if let Some(fields) = answer.as_object_mut().filter(|_| conversation.history_id.is_none()) {
        fields.shift_remove("targetSessionId");
    }
    answer
}

/// The request that rewinds on the server, to be sent by hand.
fn request(conversation: &Conversation, gone: &[&Mark]) -> String {
    let session = conversation.sandbox_id.as_deref().unwrap_or("{session}");
    let run = run_of(gone).unwrap_or("{executionRecordId}");
    let body = json!({ "executionRecordId": run });
    format!("POST https://api.fruxon.com/v1/tenants/{{workspace}}/fruxon/sessions/{session}:rewind {body}")
}

/// The run of the first turn that goes.
fn run_of<'a>(gone: &[&'a Mark]) -> Option<&'a str> {
    gone.first()?.runs.iter().find_map(|run| run.id.as_deref())
}

fn warnings(conversation: &Conversation, gone: &[&Mark], request: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if !is_sandbox(conversation) {
        warnings.push("the server would refuse a rewind (400): this is no sandbox session".to_owned());
    } else {
        if run_of(gone).is_none() {
            warnings.push("the server would refuse a rewind (404): no run of this turn is known".to_owned());
        }
        let runs = || gone.iter().flat_map(|mark| &mark.runs);
        if runs().any(|run| run.is_going_on) {
            warnings.push("the server would refuse a rewind (409): a run is still going on".to_owned());
        }
        if runs().any(|run| run.is_held) {
            warnings
                .push("a run that waits for an approval would be cancelled: its call can never be approved".to_owned());
        }
        warnings.push(format!("to rewind on the server: {request}"));
        warnings.push("the server keeps no copy of the rows that a rewind drops".to_owned());
    }
    warnings.push("what the dropped runs wrote to integrations is not undone".to_owned());
    warnings
}

impl Conversation {
    /// The whole text of a step's prompt or question.
    pub fn prompt_text(&self, number: u32) -> String {
        let index = (number as usize).checked_sub(1);
        match index.and_then(|index| self.said.get(index)) {
            Some(Said::At(spot)) => unframed(&super::field::spoken(spot.value(&self.files))).into_owned(),
            Some(Said::Sentence(sentence)) => sentence.clone(),
            None => String::new(),
        }
    }
}
