//! A session made by hand, and a recording that reads its texts from memory.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::formats::{Body, Recording};
use crate::model::{
    Asked, Commit, Decision, Event, EventKind, Fact, Marker, NodeId, Outcome, Place, QuestionState, Session, Step,
    StepKind, Subagent, SubagentStatus, Timestamp, Tool, ToolState, Usage,
};
use crate::ui::tests::fixture::{Fake, empty};
use crate::workspace::bodies::{Slot, TextKey};
use crate::workspace::document::{Document, DocumentId, State};
use crate::workspace::outline::Outlined;
use crate::workspace::text::EventText;

/// Puts a session together, an event at a time.
pub struct Draft {
    pub fake: Fake,
    record: u32,
    now_ms: i64,
}

impl Draft {
    pub fn new() -> Self {
        let fake = Fake::of(empty());
        Self { fake, record: 0, now_ms: 1_790_000_000_000 }
    }

    pub fn place(&mut self) -> Place {
        self.record += 1;
        Place { file: 0, record: self.record, block: 0 }
    }

    fn at(&mut self) -> Option<Timestamp> {
        self.now_ms += 2_300;
        Some(Timestamp(self.now_ms))
    }

    pub fn step(&mut self, kind: StepKind, text: &str) -> &mut Step {
        let number = self.fake.session.steps.len() as u32 + 1;
        let start = self.fake.session.events.len();
        let place = self.place();
        let at = self.at();
        self.fake.prompts.insert(number, text.to_owned());
        let id = NodeId::Text(format!("step-{number}").into());
        self.fake.session.steps.push(Step {
            number,
            kind,
            step_id: id.clone(),
            user_message_id: Some(id),
            tool_call_id: None,
            question_node_id: None,
            revert_target: None,
            fork_target: None,
            summary: crate::model::summarise(text),
            at,
            ended_at: at.map(|at| Timestamp(at.0 + 41_000)),
            place,
            text_bytes: text.len() as u32,
            origin: None,
            events: start..start,
            model: None,
            usage: Usage::default(),
            outcome: Outcome::Done,
            fork_refusal: None,
            revert_refusal: None,
        });
        self.fake.session.steps.last_mut().unwrap()
    }

    pub fn event(&mut self, kind: EventKind, label: &str, body: Body) -> &mut Event {
        let place = self.place();
        let at = self.at();
        let index = self.fake.session.events.len();
        let bytes = body.text.len() + [&body.input, &body.output].into_iter().flatten().map(String::len).sum::<usize>();
        self.fake.bodies.insert(index, body);
        self.fake.session.events.list_mut().push(Event {
            kind,
            node: NodeId::Text(format!("node-{index}").into()),
            at,
            duration_ms: None,
            place,
            label: label.into(),
            text_bytes: bytes as u32,
            tool: None,
            marker: None,
            folded: false,
        });
        if let Some(step) = self.fake.session.steps.last_mut() {
            step.events.end = index + 1;
        }
        self.fake.session.events.list_mut().last_mut().unwrap()
    }

    pub fn says(&mut self, text: &str) -> &mut Event {
        let label: String = text.chars().take(80).collect();
        self.event(EventKind::Text, &label, Body { text: text.into(), ..Body::default() })
    }

    pub fn tool(&mut self, name: &str, input: Value, output: &str, state: ToolState) -> usize {
        let call = format!("call-{}", self.record);
        let body = Body {
            input: Some(input.to_string()),
            output: (!output.is_empty()).then(|| output.into()),
            ..Body::default()
        };
        let label = ["file_path", "command"].iter().find_map(|key| input[key].as_str()).unwrap_or_default().to_owned();
        let event = self.event(EventKind::Tool, &label, body);
        event.tool = Some(Box::new(Tool { name: name.into(), call_id: Some(call), state, result: None }));
        event.duration_ms = Some(1_040);
        self.fake.session.events.len() - 1
    }

    pub fn ruled(&mut self, tool: usize, decision: Decision, by: &str, reason: Option<&str>, waited_ms: Option<i64>) {
        let call = self.fake.session.events.all()[tool].tool.clone().unwrap();
        let fact = Fact::Approval {
            tool: call.name.clone(),
            tool_call_id: call.call_id,
            decision,
            by: Some(by.into()),
            reason: reason.map(str::to_owned),
            waited_ms,
            asked: Asked::default(),
        };
        let event = self.event(EventKind::Approval, "", Body::default());
        event.marker = Some(Box::new(Marker::recorded(fact, None)));
        event.folded = true;
    }

    pub fn fact(&mut self, kind: EventKind, marker: Marker, text: &str) -> &mut Event {
        let event = self.event(kind, text, Body { text: text.into(), ..Body::default() });
        event.marker = Some(Box::new(marker));
        event
    }

    /// The document, with all texts read or none.
    pub fn document(self, read: bool) -> Document {
        let recording: Arc<dyn Recording> = Arc::new(self.fake);
        let mut document = Document::new(DocumentId(1), crate::formats::SessionRef::file("/tmp/cart.jsonl".as_ref()));
        document.set_read(Outlined::new(Arc::clone(&recording)));
        document.state = State::Whole;
        if read {
            let session = recording.session();
            for (index, event) in session.events.all().iter().enumerate() {
                let text = EventText::prepare(event, recording.body(event).unwrap());
                document.bodies.put(TextKey::Event(index), Slot::Ready(Arc::new(text)));
            }
            for step in &session.steps {
                let text = EventText::plain(recording.prompt(step.number).unwrap());
                document.bodies.put(TextKey::Prompt(step.number), Slot::Ready(Arc::new(text)));
            }
        }
        document
    }
}

/// A session of `steps` steps with `events` short texts each.
pub fn plain(steps: usize, events: usize) -> Draft {
    let mut draft = Draft::new();
    for step in 1..=steps {
        draft.step(StepKind::Prompt, &format!("Prompt {step}"));
        for event in 0..events {
            draft.says(&format!("Answer {event} of step {step}"));
        }
    }
    draft
}

/// The session of the picture that the window is drawn after, and more.
pub fn cart() -> Draft {
    let mut draft = Draft::new();
    draft.event(EventKind::Notice, "session started", Body::default());
    draft.event(EventKind::Notice, "tools loaded", Body::default());
    draft.step(
        StepKind::Prompt,
        "Make the cart survive a restart.\nUse whatever storage fits, but ask me before you pick one, and leave the build folder alone.",
    );
    let thinking = "The cart keeps its items in memory. I need to know which storage is wanted before I change it.";
    draft.event(EventKind::Thinking, thinking, Body { text: thinking.repeat(3), ..Body::default() });
    draft.says("I'll look at how the cart keeps its items, then ask which storage you want.");
    let read = serde_json::json!({"file_path": "src/cart.py", "offset": 1, "limit": 40});
    let tool = draft.tool("Read", read, "1\tclass Cart:\n2\t    items = []\n3\t\n4\t    def add(self, item):\n5\t        self.items.append(item)\n6\t\n7\t    def total(self):\n8\t        return sum(item.price for item in self.items)\n9\t\n10\t    def clear(self):\n", ToolState::Done);
    draft.ruled(tool, Decision::Auto, "rule", None, None);

    question_turn(&mut draft);
    marked_turn(&mut draft);
    draft.step(StepKind::Prompt, "Open a pull request").outcome = Outcome::Pending;
    draft
}

/// A question, an edit, a refused call, Markdown, a fallback, a failed call and a commit.
fn question_turn(draft: &mut Draft) {
    let step = draft.step(StepKind::QuestionAnswer, "Which storage should the cart use?");
    step.tool_call_id = Some("ask".into());
    let asked = Fact::Question {
        question: "Which storage should the cart use?".into(),
        options: vec!["SQLite, one file".into(), "JSON, plain text".into(), "Postgres".into()],
        answers: vec!["SQLite".into()],
        state: QuestionState::Answered,
    };
    let event = draft.fact(EventKind::Question, Marker::recorded(asked, None), "Which storage should the cart use?");
    event.duration_ms = Some(38_000);
    event.tool = Some(Box::new(Tool {
        name: "AskUserQuestion".into(),
        call_id: Some("ask".into()),
        state: ToolState::Done,
        result: None,
    }));
    let edit = serde_json::json!({"file_path": "src/cart.py", "old_string": "import json\n\nclass Cart:\n    items = []\n", "new_string": "import json\n\nclass Cart:\n    def __init__(self, db=\"cart.db\"):\n        self.db = sqlite3.connect(db)\n"});
    let tool = draft.tool("Edit", edit, "", ToolState::Done);
    draft.ruled(tool, Decision::Granted, "user", None, Some(6_000));
    let tool = draft.tool(
        "Bash",
        serde_json::json!({"command": "rm -rf build"}),
        "The user doesn't want to proceed with this tool use.",
        ToolState::Denied,
    );
    draft.ruled(tool, Decision::Denied, "user", Some("keep the build"), None);
    draft.says(SAID);
    let fallback = Fact::Fallback {
        from: Some("claude-opus".into()),
        to: Some("claude-sonnet".into()),
        trigger: Some("overloaded after 4 retries (529)".into()),
        reset_at: None,
        message: None,
    };
    draft.fact(EventKind::Fallback, Marker::recorded(fallback.clone(), None), "");
    let output: String = (0..216)
        .map(|line| match line {
            0 => "FAILED tests/test_cart.py::test_add - sqlite3.OperationalError: no such table\n".to_owned(),
            1 => "1 failed, 11 passed in 0.62s\n".to_owned(),
            _ => format!("  File \"tests/test_cart.py\", line {line}, in test_add\n"),
        })
        .collect();
    let tool = draft.tool("Bash", serde_json::json!({"command": "pytest -q"}), &output, ToolState::Failed);
    draft.fake.session.events.list_mut()[tool].marker =
        Some(Box::new(Marker::recorded(Fact::Failure { code: None, message: "Exit code 1".into() }, None)));
    draft.ruled(tool, Decision::Auto, "rule", None, None);
    let commits = Fact::Commits {
        commits: vec![Commit { id: "3f2a91c0ffee".into(), subject: "Keep the cart in SQLite".into() }],
        unavailable: None,
    };
    draft.fact(EventKind::Commits, Marker::recorded(commits, None), "");
}

/// Every kind of event that the turns before do not have.
fn marked_turn(draft: &mut Draft) {
    let step = draft.step(
        StepKind::Prompt,
        &"Create the table on first use, and keep the old items when there are some.\n".repeat(15),
    );
    step.outcome = Outcome::Interrupted;
    step.origin = Some("queued");
    step.revert_refusal = Some("the chain of records is broken before it".into());
    for attempt in 1..=5 {
        let fact = Fact::Retry { attempt: Some(attempt), max_attempts: Some(10), status: Some(529), message: None };
        draft.fact(EventKind::Retry, Marker::recorded(fact, None), &format!("retry {attempt} of 10 · 529"));
    }
    let fact =
        Fact::Fallback { from: None, to: Some("claude-haiku".into()), trigger: None, reset_at: None, message: None };
    draft.fact(EventKind::Fallback, Marker::inferred(fact, None), "");
    let quota = Fact::Quota { message: "5-hour limit reached".into(), reset_at: Some(Timestamp(1_790_000_900_000)) };
    draft.fact(EventKind::Quota, Marker::recorded(quota, None), "");
    let steering = Fact::Steering { text: "Leave the migrations out of it".into(), mode: "queued".into() };
    draft.fact(EventKind::Steering, Marker::recorded(steering, None), "");
    let agent = Fact::Subagent { id: "a1".into(), name: Some("find callers".into()), status: SubagentStatus::Finished };
    draft.fact(EventKind::Subagent, Marker::recorded(agent, None), "");
    draft.tool("Frobnicate", serde_json::json!({"zap": 1, "list": [true, null]}), "", ToolState::Pending);
    let compaction =
        Fact::Compaction { trigger: Some("auto".into()), tokens_before: Some(155_000), tokens_after: Some(21_000) };
    draft.fact(EventKind::Compaction, Marker::recorded(compaction, None), "");
    draft.event(
        EventKind::Unknown,
        "telemetry-v9",
        Body { text: "{\n  \"type\": \"telemetry-v9\"\n}".into(), ..Body::default() },
    );
    draft.event(
        EventKind::Unreadable,
        "line 212, offset 88 214: not JSON",
        Body { text: "{\"type\":\"assistant\",\"mess\u{0}\u{1b}[31m".into(), ..Body::default() },
    );
    let failure = Fact::Failure { code: Some("api_error".into()), message: "Connection closed by the server".into() };
    draft.fact(EventKind::Failure, Marker::recorded(failure, None), "");
    draft.fact(
        EventKind::Interruption,
        Marker::recorded(Fact::Interruption { message: "interrupted by the user".into() }, None),
        "",
    );
    let events: Vec<Event> =
        draft.fake.session.events.all().iter().filter(|event| event.kind == EventKind::Tool).cloned().collect();
    draft.fake.session.subagents.push(Subagent {
        id: "a1".into(),
        name: Some("find callers".into()),
        status: SubagentStatus::Finished,
        call_id: None,
        path: None,
        usage: Usage { input: Some(12_481), output: Some(1_904), ..Usage::default() },
        events: events.into(),
    });
}

const SAID: &str =
    "The cart now keeps its items in **SQLite**. I left the `build` folder alone and ran the tests on what is there.

## What changed

- `Cart.__init__` opens the file
- items are rows, see [the docs](https://docs.python.org/3/library/sqlite3.html)
  1. a table `items`
  2. an index

| file | lines |
|---|---|
| src/cart.py | +31 |
| tests/test_cart.py | +12 |

```python
def add(self, item):
    self.db.execute(\"insert into items values (?)\", (item,))
```

> Note: ![chart](https://evil.example/x.png) is not loaded.
";

/// The events of a range, by their index.
pub fn kinds(session: &Session, range: Range<usize>) -> Vec<EventKind> {
    session.events.all()[range].iter().map(|event| event.kind).collect()
}
