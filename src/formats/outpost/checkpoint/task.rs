//! What the record of one task tells: its start and end, its gate or question, and what held it up.

use std::sync::Arc;

use serde_json::Value;

use crate::formats::outpost::fields::{short, spoken, text, time, words};
use crate::formats::outpost::happenings::{Asking, Happening, Replayed, Source};
use crate::formats::outpost::labels::shorten;
use crate::model::{Asked, Decision, EventKind, Fact, NodeId, QuestionState, StepKind, Timestamp};

/// A record of a task, and what the task gave back.
pub struct Task<'a> {
    pub record: &'a Value,
    pub source: Source,
    pub output: Option<&'a Value>,
}

impl Task<'_> {
    pub fn tell(&self, out: &mut Vec<Happening>) {
        self.tell_start(out);
        self.tell_rounds(out);
        self.tell_gate(out);
        self.tell_question(out);
        self.tell_quota(out);
        self.tell_end(out);
    }

    fn key(&self) -> &str {
        text(self.record, "key")
    }

    fn happening(&self, kind: EventKind, at: Option<Timestamp>, label: String) -> Happening {
        Happening::new(kind, self.key(), at, label, &self.source)
    }

    fn tell_start(&self, out: &mut Vec<Happening>) {
        let started = time(self.record, "startedAt");
        let attempts = self.record.get("attempts").and_then(Value::as_u64).unwrap_or(0);
        if started.is_none() && attempts == 0 {
            return;
        }
        let turns = self.record.get("interaction").and_then(|interaction| interaction.get("state"));
        let turns = turns.and_then(|state| state.get("turns")).and_then(Value::as_u64);
        // Each answered turn of an interactive task counts as an attempt; those are no retries.
        if attempts > 1 && turns.is_none_or(|turns| turns < attempts) {
            let message = format!("{attempts} attempts of {} are recorded", shorten(self.key()));
            let fact = Fact::Retry {
                attempt: Some(attempts),
                max_attempts: None,
                status: None,
                message: Some(message.clone()),
            };
            let retry = self.happening(EventKind::Retry, started, message).inferred(fact);
            out.push(retry.replayed(Replayed::Fields(&["key", "attempts"])));
        }
        let start = self.happening(EventKind::Notice, started, format!("task {} started", self.key()));
        out.push(start.replayed(Replayed::Fields(&["key", "attempts", "startedAt"])));
    }

    /// What the rounds of a loop came to. They have no times of their own.
    fn tell_rounds(&self, out: &mut Vec<Happening>) {
        let rounds = self.record.get("rounds").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for round in rounds {
            let number =
                round.get("round").and_then(Value::as_u64).map_or_else(String::new, |number| format!(" {number}"));
            let check = round.get("check").unwrap_or(&Value::Null);
            let verdict = match check.get("done").and_then(Value::as_bool) {
                Some(true) => ", done".to_owned(),
                Some(false) => format!(", not done: {}", text(check, "feedback")),
                None => String::new(),
            };
            let label = format!("{} round{number}: {}{verdict}", self.key(), text(round, "phase"));
            let source = Source { record: Arc::new(round.clone()), ..self.source.clone() };
            let fields = Replayed::Fields(&["round", "phase", "output", "check"]);
            out.push(Happening::new(EventKind::Notice, self.key(), None, label, &source).replayed(fields));
        }
    }

    /// A gate: the question that a person decides, and the decision.
    fn tell_gate(&self, out: &mut Vec<Happening>) {
        let Some(pause) = self.record.get("pause").filter(|pause| pause.is_object()) else { return };
        let given = self.record.get("decision").filter(|decision| decision.is_object());
        let (requested, decided) = (time(pause, "requestedAt"), given.and_then(|given| time(given, "decidedAt")));
        let prompt = short(pause, "prompt").unwrap_or_default();
        let decision = self.decision(given);
        let is_pending = decision == Decision::Pending;
        let go_on = if text(pause, "kind") == "pause" { "resume" } else { "approve" };
        let answer = given.map(|given| format!("{}: {}", text(given, "action"), text(given, "reason")));
        let question = Fact::Question {
            question: prompt.clone(),
            options: vec![go_on.to_owned(), "reject".to_owned()],
            answers: answer.iter().map(|answer| shorten(answer)).collect(),
            state: if is_pending { QuestionState::Pending } else { QuestionState::Answered },
        };
        let whole = text(pause, "prompt");
        let mut asked = self.happening(EventKind::Question, requested, whole.to_owned()).recorded(question);
        asked.text = Some(whole.to_owned());
        asked.step = Some(Asking {
            id: NodeId::Text(short(pause, "id").unwrap_or_else(|| shorten(self.key())).into()),
            kind: StepKind::QuestionAnswer,
            question: whole.to_owned(),
            answer: answer.clone(),
            is_pending,
            origin: Some("gate"),
        });
        out.push(asked.replayed(Replayed::Fields(&["key", "pause"])));
        let approval = Fact::Approval {
            tool: shorten(self.key()),
            tool_call_id: None,
            decision,
            by: given.and_then(|given| short(given, "actor")),
            reason: given.and_then(|given| short(given, "reason")),
            waited_ms: decided.zip(requested).map(|(to, from)| to.since(from)).filter(|ms| *ms >= 0),
            asked: Asked {
                prompt: Some(prompt),
                actors: words(pause, "actors"),
                verification: given.and_then(|given| given.get("verification")).map(verification),
            },
        };
        let label = self.gate_label(pause, given);
        let mut event = self.happening(EventKind::Approval, decided.or(requested), label).recorded(approval);
        event.text = Some(match given {
            Some(given) => text(given, "reason").to_owned(),
            None => format!("{whole}\n\n{}", words(pause, "actors").join("\n")),
        });
        out.push(event.replayed(Replayed::Fields(&["key", "decision"])));
    }

    fn gate_label(&self, pause: &Value, given: Option<&Value>) -> String {
        match given {
            Some(given) => {
                format!(
                    "{}: {} by {}: {}",
                    self.key(),
                    text(given, "action"),
                    text(given, "actor"),
                    text(given, "reason")
                )
            }
            None => {
                let signed = if text(pause, "authentication") == "signed" { "a signed decision" } else { "a decision" };
                format!("{} waits for {signed} by {}", self.key(), words(pause, "actors").join(", "))
            }
        }
    }

    fn decision(&self, given: Option<&Value>) -> Decision {
        let action = given.map(|given| text(given, "action")).unwrap_or_default();
        match (action, text(self.record, "status")) {
            ("approve" | "resume", _) => Decision::Granted,
            ("reject", _) => Decision::Denied,
            (_, "done") => Decision::Granted,
            (_, "rejected") => Decision::Denied,
            (_, "cancelled" | "skipped") => Decision::Cancelled,
            _ => Decision::Pending,
        }
    }

    /// The latest question of an interactive task; earlier ones are not kept.
    fn tell_question(&self, out: &mut Vec<Happening>) {
        let interaction = self.record.get("interaction").unwrap_or(&Value::Null);
        let Some(request) = interaction.get("request").filter(|request| request.is_object()) else { return };
        let id = text(request, "id");
        // An answer to an earlier question is none to this one.
        let is_its_own = |answer: &&Value| answer.is_object() && (id.is_empty() || text(answer, "requestId") == id);
        let answer = interaction.get("answer").filter(is_its_own);
        let question = text(request, "question");
        let choices = words(request, "choices");
        let fact = Fact::Question {
            question: shorten(question),
            options: choices.clone(),
            answers: answer.iter().filter_map(|answer| short(answer, "value")).collect(),
            state: if answer.is_some() { QuestionState::Answered } else { QuestionState::Pending },
        };
        let mut whole = question.to_owned();
        for choice in &choices {
            whole.push_str("\n- ");
            whole.push_str(choice);
        }
        if let Some(answer) = answer {
            whole.push_str(&format!("\n\n{}: {}", text(answer, "actor"), text(answer, "value")));
        }
        let label = match answer {
            Some(answer) => format!("{question} → {}", text(answer, "value")),
            None => question.to_owned(),
        };
        let mut asked = self.happening(EventKind::Question, time(request, "requestedAt"), label).recorded(fact);
        asked.duration_ms = answer
            .and_then(|answer| time(answer, "answeredAt"))
            .zip(asked.at)
            .map(|(to, from)| to.since(from))
            .filter(|ms| *ms >= 0);
        asked.step = Some(Asking {
            id: NodeId::Text(if id.is_empty() { shorten(self.key()) } else { shorten(id) }.into()),
            kind: StepKind::QuestionAnswer,
            question: question.to_owned(),
            answer: answer.map(|answer| text(answer, "value").to_owned()),
            is_pending: answer.is_none(),
            origin: None,
        });
        out.push(asked.text(whole).replayed(Replayed::Fields(&["key", "interaction"])));
    }

    fn tell_quota(&self, out: &mut Vec<Happening>) {
        let Some(quota) = self.record.get("quota").filter(|quota| quota.is_object()) else { return };
        let message = text(quota, "message");
        let fact = Fact::Quota { message: shorten(message), reset_at: time(quota, "resetAt") };
        let label = format!("{} paused: {message}", self.key());
        let event = self.happening(EventKind::Quota, time(quota, "requestedAt"), label).recorded(fact);
        out.push(event.replayed(Replayed::Fields(&["key", "quota"])));
    }

    fn tell_end(&self, out: &mut Vec<Happening>) {
        let (key, status, error) = (self.key(), text(self.record, "status"), text(self.record, "error"));
        let at = time(self.record, "finishedAt");
        let is_gate = self.record.get("pause").is_some();
        let mut end = match status {
            // The decision says it already.
            "done" | "rejected" if is_gate => return,
            "done" => self.done(at),
            "failed" => {
                let fact = Fact::Failure { code: None, message: shorten(error) };
                self.happening(EventKind::Failure, at, format!("task {key} failed: {error}")).recorded(fact)
            }
            "cancelled" => {
                let fact = Fact::Interruption { message: format!("task {} was cancelled", shorten(key)) };
                self.happening(EventKind::Interruption, at, format!("task {key} was cancelled")).recorded(fact)
            }
            "skipped" | "rejected" => self.happening(EventKind::Notice, at, format!("task {key} {status}")),
            "waiting" | "active" | "paused" | "waiting-input" => return,
            _ => self.happening(EventKind::Unknown, at, format!("task {key} {status}")),
        };
        if end.kind != EventKind::Text && !error.is_empty() {
            end.text = Some(error.to_owned());
        }
        end.duration_ms = time(self.record, "startedAt").zip(at).map(|(from, to)| to.since(from)).filter(|ms| *ms >= 0);
        out.push(end.replayed(Replayed::Fields(&["key", "status", "attempts", "finishedAt", "error", "cacheHit"])));
    }

    fn done(&self, at: Option<Timestamp>) -> Happening {
        let key = self.key();
        let cached = self.record.get("cacheHit").and_then(Value::as_bool) == Some(true);
        let done = if cached { "done, from the cache" } else { "done" };
        match self.output.and_then(|output| output.get("value")) {
            Some(value) => {
                let said = spoken(value);
                self.happening(EventKind::Text, at, format!("{key} {done}: {said}")).text(said)
            }
            None => self.happening(EventKind::Notice, at, format!("task {key} {done}")),
        }
    }
}

/// How a signed decision was checked: the proof itself is not kept.
fn verification(value: &Value) -> String {
    shorten(&format!("key {}, {}", text(value, "keyId"), text(value, "verifiedAt")))
}
