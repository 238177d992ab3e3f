//! What a file of Fruxon's, or a record in one, is.

use serde_json::Value;

use super::field::{at, text};
use crate::formats::detect::{Sample, Shape};
use crate::formats::document;
use crate::model::FormatName;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row of a sandbox session.
    Row,
    /// A row of a topic's transcript.
    Topic,
    /// A row of a test chat or of the channel ledger.
    Channel,
    /// A trace in its envelope, or bare.
    Trace,
    /// Steps rebuilt from archived spans.
    Projected,
    Otlp,
    RawSpans,
    Run,
    Tree,
    /// Inputs and output of a run.
    Result,
    /// The answer to a run that was waited for.
    Execute,
    /// A test of a ledger's stage.
    Stage,
    /// Two answers to one evaluation sample.
    Evaluation,
    /// What a run changed in simulated integrations.
    Impact,
    Scenarios,
    Rewind,
    Fork,
    Approval,
    Audit,
    /// A frame of a stream.
    Frame,
}

impl Kind {
    pub fn format(self) -> FormatName {
        match self {
            Self::Row => FormatName::FruxonMessages,
            Self::Topic | Self::Channel => FormatName::FruxonTranscript,
            Self::Trace | Self::Projected | Self::Otlp | Self::RawSpans => FormatName::FruxonTrace,
            Self::Approval | Self::Audit => FormatName::FruxonApprovals,
            Self::Frame => FormatName::FruxonStream,
            _ => FormatName::FruxonRecord,
        }
    }

    /// Whether it is a message of a conversation.
    pub fn is_row(self) -> bool {
        matches!(self, Self::Row | Self::Topic | Self::Channel)
    }

    /// What a record is by its keys; `None` for one that is nothing of Fruxon's.
    pub fn of(record: &Value) -> Option<Self> {
        let fields = record.as_object()?;
        let all = |keys: &[&str]| keys.iter().all(|key| fields.contains_key(*key));
        let any = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(*key));
        let trace = at(record, &["trace"]);
        let is_traced = trace.get("traces").or(trace.get("steps")).is_some();
        let rules = [
            (Self::Rewind, all(&["droppedRuns", "prefillText"])),
            (Self::Fork, all(&["copiedMessages", "prefillText"])),
            (Self::Trace, is_traced && any(&["status"]) && !any(&["response"])),
            (Self::Trace, all(&["traces", "agentExecutionRecordId"])),
            (Self::Projected, all(&["executionRecordId", "rawSpanCount"])),
            (Self::RawSpans, all(&["executionRecordId", "spans"])),
            (Self::Otlp, record.get("resourceSpans").is_some_and(Value::is_array)),
            (Self::Execute, all(&["response", "executionRecordId", "trace"])),
            (Self::Tree, all(&["nodes", "rootExecutionId"])),
            (Self::Result, all(&["parameters", "result", "agentExecutionRecordId"])),
            (Self::Scenarios, any(&["passed"]) && at(record, &["results"]).get(0).is_some_and(has_transcript)),
            (Self::Impact, all(&["configs", "runGroupId"])),
            (Self::Stage, all(&["seedKind", "stageId"])),
            (Self::Audit, all(&["eventType", "approvalRequestId"])),
            (Self::Approval, all(&["toolKey", "status"]) || (any(&["gateType"]) && any(&["status", "id"]))),
            (Self::Row, all(&["from", "text", "at"])),
            (Self::Topic, all(&["role", "content", "sessionId"]) && !any(&["uuid", "type"])),
            (Self::Channel, all(&["from", "conversationId"]) && any(&["message", "content"])),
            (Self::Evaluation, any(&["baseRevisionResult"])),
            (Self::Run, all(&["startTime", "status", "agentId"]) && !any(&["depth"])),
        ];
        rules.iter().find(|(_, fits)| *fits).map(|(kind, _)| *kind)
    }
}

fn has_transcript(result: &Value) -> bool {
    result.get("transcript").is_some()
}

/// Whether a record starts a stream of the command line.
pub fn starts_stream(record: &Value) -> bool {
    let named = matches!(text(record, "stream"), Some("sandbox" | "test_chats"));
    text(record, "type") == Some("start")
        && record.get("schema_version").is_some()
        && (named || record.get("agent").is_some())
}

/// Points for a sample of a format of this family: 10 for the first record of its own. Spans may come from anywhere: 4.
pub fn points(sample: &Sample, format: FormatName) -> u32 {
    match of_sample(sample) {
        Some(Kind::Otlp) if format == FormatName::FruxonTrace => 4,
        Some(kind) if kind.format() == format => 10,
        _ => 0,
    }
}

fn of_sample(sample: &Sample) -> Option<Kind> {
    let first = sample.records.first()?;
    match (sample.shape, first) {
        (Shape::Other, Value::String(text)) => {
            if is_event_stream(text) {
                return Some(Kind::Frame);
            }
            // Notices of the command line before a document.
            let start = document::start_of(text.as_bytes())
                .filter(|start| text.get(..*start).is_some_and(|notices| notices.ends_with('\n')))?;
            of_first(&document::parse(text.as_bytes().get(start..)?)?.value)
        }
        (Shape::Lines | Shape::Array { .. } | Shape::Document, record) => of_first(record),
        _ => None,
    }
}

/// By a file's first record: a page and an array count as their first row.
fn of_first(record: &Value) -> Option<Kind> {
    if starts_stream(record) {
        return Some(Kind::Frame);
    }
    match record.get("items").unwrap_or(record) {
        Value::Array(rows) => rows.iter().find_map(Kind::of),
        // A console row that was polled is a line of a stream.
        row if text(row, "type") == Some("message") => Kind::of(row).map(|_| Kind::Frame),
        record => Kind::of(record),
    }
}

/// Whether a text is server-sent events of Fruxon's.
pub fn is_event_stream(text: &str) -> bool {
    const NAMES: [&str; 20] = [
        "text",
        "tool_call",
        "tool_result",
        "step_trace",
        "status",
        "usage",
        "error",
        "done",
        "reply",
        "blocked",
        "failed",
        "turn_complete",
        "pending_approval",
        "pending_consult",
        "typing",
        "testchat",
        "heartbeat",
        "message",
        "stopped",
        "start",
    ];
    let is_framed = text.starts_with("event:") || text.starts_with(':');
    let mut names = text.lines().filter_map(|line| line.strip_prefix("event:")).map(|name| name.trim().to_lowercase());
    is_framed
        && text.lines().any(|line| line.starts_with("data:"))
        && names.next().is_none_or(|name| NAMES.contains(&name.as_str()))
}
