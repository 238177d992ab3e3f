//! A conversation that was read: its steps, and what a fork or a revert must know of its turns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::account::{count, lost_records, noticed};
use super::events::{Detail, How, Maker};
use super::facts::{Facts, Run, Spot};
use super::field::{spoken, text, word};
use super::inbound::unframed;
use super::join::{Group, is_fork_name};
use super::kind::Kind;
use super::prompts::Prompt;
use super::read::FileData;
use super::rows::{Row, rows_of, take_copies};
use super::tell::{Sum, Telling};
use super::turns::{Turn, turns};
use crate::model::{
    Agent, Capability, Decision, Event, EventKind, Fact, FormatName, NodeId, Outcome, Parent, Place, ProblemKind,
    QuestionState, Report, Session, Step, StepKind, Subagent, TitleSource, Usage, summarise,
};
use crate::store::SourceFile;

const INSIDE_A_RUN: &str = "a consult lies inside a run: choose the prompt that started the run";
const ONE_RUN: &str = "the files hold records of runs and not the messages of a conversation: there is nothing to cut";

/// What a fork or a revert must know of a turn.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// The number of its prompt's step; 0 for what came before the first.
    pub step: u32,
    /// Its messages and frames, as `(file, record)`.
    pub rows: Vec<(usize, usize)>,
    pub frames: Vec<(usize, usize)>,
    pub is_answered: bool,
    /// `(id, is going on, waits for an approval, how it stands is known)` of each run.
    pub runs: Vec<MarkedRun>,
    pub pending: Vec<(String, Option<String>)>,
    /// Calls that were approved and ran.
    pub approved: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct MarkedRun {
    pub id: Option<String>,
    pub is_going_on: bool,
    pub is_held: bool,
    pub is_known: bool,
}

/// A step's prompt.
#[derive(Clone, Debug)]
pub enum Said {
    At(Spot),
    Sentence(String),
}

/// A conversation, with the files it was read from.
pub struct Conversation {
    pub session: Session,
    pub files: Vec<FileData>,
    pub sources: Vec<Arc<SourceFile>>,
    pub details: HashMap<Place, Detail>,
    pub marks: Vec<Mark>,
    /// By step.
    pub said: Vec<Said>,
    pub sandbox_id: Option<String>,
    pub history_id: Option<String>,
    /// What its messages are; `None` where there are none.
    pub rows: Option<Kind>,
    pub has_streams: bool,
}

/// Reads the conversation that a group of records is.
pub fn build(files: Vec<FileData>, group: &Group) -> Conversation {
    let facts = Facts::gather(&files, group);
    let mut rows = rows_of(&files, &group.records, &facts.agents);
    let copies = take_copies(&mut rows);
    let list = turns(&files, &rows, &facts);
    let is_cuttable =
        !rows.is_empty() || (!facts.streams.is_empty() && facts.streams.iter().all(|stream| stream.scenario.is_none()));
    let mut builder = Builder::new(&files, &rows, &facts, is_cuttable);
    let lost = lost_records(&files, &list);
    for (place, turn) in list.iter().enumerate() {
        builder.turn(turn, place + 1 == list.len(), lost.get(&place).map_or(&[], Vec::as_slice));
    }
    let mut session = builder.session(group);
    count(&files, group, &copies, &facts, &mut session.report);
    let Builder { maker: Maker { details, .. }, said, marks, .. } = builder;
    let (sandbox_id, history_id) = (facts.sandbox_id.clone(), facts.history_id.clone());
    let (row_kind, has_streams) = (rows.first().map(|row| row.kind), !facts.streams.is_empty());
    drop((list, rows, facts));
    let sources = files.iter().map(|data| Arc::clone(&data.file)).collect();
    Conversation { session, sources, details, marks, said, sandbox_id, history_id, rows: row_kind, has_streams, files }
}

struct Builder<'b, 'a> {
    maker: Maker<'a>,
    rows: &'b [Row<'a>],
    facts: &'b Facts<'a>,
    is_cuttable: bool,
    steps: Vec<Step>,
    events: Vec<Event>,
    said: Vec<Said>,
    marks: Vec<Mark>,
    subagents: Vec<Subagent>,
    used: HashSet<String>,
    usage: Usage,
    /// The model and the revision of the turn before.
    last: (Option<String>, Option<i64>),
    report: Report,
}

impl<'b, 'a> Builder<'b, 'a> {
    fn new(files: &'a [FileData], rows: &'b [Row<'a>], facts: &'b Facts<'a>, is_cuttable: bool) -> Self {
        Self {
            maker: Maker::new(files),
            rows,
            facts,
            is_cuttable,
            steps: Vec::new(),
            events: Vec::new(),
            said: Vec::new(),
            marks: Vec::new(),
            subagents: Vec::new(),
            used: HashSet::new(),
            usage: Usage::default(),
            last: (None, None),
            report: Report::default(),
        }
    }

    fn turn(&mut self, turn: &Turn<'a>, is_last: bool, lost: &[Spot]) {
        let number = u32::try_from(self.steps.len() + 1).unwrap_or(u32::MAX);
        let step_id = self.step_id(turn, number);
        self.maker.node = step_id.clone();
        // First, so that a message's own place is its first.
        let (place, said, text) = self.prompt(turn);
        let telling = Telling { turn, rows: self.rows, facts: self.facts, is_last };
        let mut sum = self.maker.tell(&telling);
        self.compare_models(turn, &sum);
        lost.iter().for_each(|spot| self.lost(spot));
        let events = self.maker.take_turn();
        let start = self.events.len();
        self.usage.add(&sum.usage);
        self.subagents.append(&mut sum.subagents);
        let mark = self.mark(turn, &events, number);
        self.events.extend(events);
        if turn.prompt.is_none() {
            self.marks.push(Mark { step: 0, ..mark });
            return;
        }
        if let Some(why) = &sum.parked {
            let message = format!("step {number}: {why}");
            self.report.notice(noticed("waitingFor", ProblemKind::Structure, message, None));
        }
        self.marks.push(mark);
        let row = turn.prompt_row().and_then(|row| self.rows.get(row));
        let step = Step {
            number,
            kind: StepKind::Prompt,
            step_id: step_id.clone(),
            user_message_id: row.and_then(|row| row.id.as_deref()).map(node_id),
            tool_call_id: None,
            question_node_id: None,
            revert_target: self.is_cuttable.then(|| self.steps.last().map(|step| step.step_id.clone())).flatten(),
            fork_target: Some(step_id).filter(|_| self.is_cuttable),
            summary: summarise(&text),
            at: turn.at.or(self.events.get(start..).and_then(|events| events.iter().find_map(|event| event.at))),
            ended_at: sum.ended_at,
            place,
            text_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
            origin: None,
            events: start..self.events.len(),
            model: sum.model.clone(),
            usage: sum.usage,
            outcome: sum.outcome,
            fork_refusal: (!self.is_cuttable).then(|| ONE_RUN.to_owned()),
            revert_refusal: (!self.is_cuttable).then(|| ONE_RUN.to_owned()),
        };
        self.steps.push(step);
        self.said.push(said);
        self.last = (sum.model.clone().or(self.last.0.take()), sum.revision.or(self.last.1));
        self.questions(&sum, start);
    }

    /// Makes a step of each question that a person was asked in the turn whose events begin at `start`.
    fn questions(&mut self, sum: &Sum, start: usize) {
        let asked: Vec<usize> = (start..self.events.len())
            .filter(|index| {
                let event = self.events.get(*index).filter(|event| event.kind == EventKind::Question);
                let detail = event.and_then(|event| self.maker.details.get(&event.place));
                detail.is_some_and(|detail| sum.questions.contains(&detail.spot))
            })
            .collect();
        for index in asked {
            let (Some(event), Some(before)) = (self.events.get(index), self.steps.last_mut()) else { continue };
            let Some(Fact::Question { question, state, answers, .. }) =
                event.marker.as_ref().map(|marker| &marker.fact)
            else {
                continue;
            };
            let spot = self.maker.details.get(&event.place).map(|detail| detail.spot.clone());
            let value = spot.as_ref().map(|spot| spot.value(self.maker.files));
            let operation = value.and_then(|value| text(value, "operationId")).map(node_id);
            let outcome = std::mem::replace(
                &mut before.outcome,
                if *state == QuestionState::Pending { Outcome::Pending } else { Outcome::Done },
            );
            let end = before.events.end;
            before.events.end = index;
            let node = operation.unwrap_or_else(|| NodeId::Text(format!("{}-question-{index}", before.step_id).into()));
            let said = answers.first().map_or(question.clone(), |answer| format!("{question}\n{answer}"));
            let step = Step {
                number: before.number + 1,
                kind: StepKind::QuestionAnswer,
                step_id: node.clone(),
                user_message_id: None,
                question_node_id: Some(node.clone()),
                revert_target: None,
                fork_target: None,
                summary: summarise(question),
                at: event.at,
                place: event.place,
                text_bytes: u32::try_from(said.len()).unwrap_or(u32::MAX),
                events: index..end,
                usage: Usage::default(),
                outcome: if *state == QuestionState::Pending { Outcome::Pending } else { outcome },
                fork_refusal: Some(INSIDE_A_RUN.to_owned()),
                revert_refusal: Some(INSIDE_A_RUN.to_owned()),
                ..before.clone()
            };
            self.steps.push(step);
            self.said.push(Said::Sentence(said));
        }
    }

    /// The run that answers; where no run is known or it is taken, the message's own id, or its number.
    fn step_id(&mut self, turn: &Turn<'_>, number: u32) -> NodeId {
        let runs = turn.runs.iter().filter_map(|index| self.facts.runs.get(*index)?.id.clone());
        let named = turn.rows.iter().filter_map(|row| self.rows.get(*row)?.run.clone());
        let own = turn.prompt_row().and_then(|row| self.rows.get(row)?.id.clone());
        let framed = turn
            .frames
            .iter()
            .filter_map(|frame| super::field::any_id(frame.value, &["record_id", "executionRecordId"]));
        let held = turn.approvals.iter().filter_map(|index| {
            let approval = self.facts.approvals.get(*index)?;
            approval.run.clone().or(approval.id.clone())
        });
        let mut ids = named.chain(runs).chain(framed).chain(held).chain(own);
        let id = ids.find(|id| !self.used.contains(id)).unwrap_or_else(|| format!("turn-{number}"));
        self.used.insert(id.clone());
        node_id(&id)
    }

    /// Where the prompt is, what it is read from, and its text.
    fn prompt(&mut self, turn: &Turn<'_>) -> (Place, Said, String) {
        let spot = match &turn.prompt {
            Some(Prompt::Row(row)) => self.rows.get(*row).map(|row| row.spot().below(row.text_key(self.maker.files))),
            Some(Prompt::Text(spot)) => Some(spot.clone()),
            _ => None,
        };
        if let Some(spot) = spot {
            let text = unframed(&spoken(spot.value(self.maker.files))).into_owned();
            return (self.maker.place(&spot, How::Said, Vec::new()), Said::At(spot), text);
        }
        let sentence = match &turn.prompt {
            Some(Prompt::Unknown(sentence)) => (*sentence).to_owned(),
            _ => String::new(),
        };
        let spot = self.any_spot(turn).unwrap_or_else(|| Spot::new(0, 0));
        (self.maker.place(&spot, How::Note, Vec::new()), Said::Sentence(sentence.clone()), sentence)
    }

    /// Some record that tells of the turn.
    fn any_spot(&self, turn: &Turn<'_>) -> Option<Spot> {
        let run = turn.runs.first().and_then(|index| self.facts.runs.get(*index));
        let approval = turn.approvals.first().and_then(|index| self.facts.approvals.get(*index));
        let row = turn.rows.first().and_then(|row| self.rows.get(*row));
        let frame = turn.frames.first().map(|frame| frame.spot.clone());
        let other = turn.others.first().map(|(_, spot)| spot.clone());
        let row = row.map(Row::spot);
        row.or(run.and_then(Run::spot)).or(frame).or(approval.map(|a| a.spot.clone())).or(other)
    }

    /// A quiet note where the model is another one than in the turn before.
    fn compare_models(&mut self, turn: &Turn<'_>, sum: &Sum) {
        if let (Some(from), Some(to)) = (&self.last.0, &sum.model)
            && from != to
            && let Some(spot) = self.any_spot(turn)
        {
            let revisions = match (self.last.1, sum.revision) {
                (Some(from), Some(to)) if from != to => format!(", revision {from} → {to}"),
                _ => String::new(),
            };
            let label = format!("model changed since the turn before: {from} → {to}{revisions}");
            self.maker.note(&spot, turn.at, &label);
        }
    }

    fn lost(&mut self, spot: &Spot) {
        let record = self.maker.files.get(spot.file).and_then(|data| data.records.get(spot.record));
        let Some((kind, message)) = record.and_then(|record| record.problem.clone()) else { return };
        let event = if kind == ProblemKind::Unknown { EventKind::Unknown } else { EventKind::Unreadable };
        self.maker.add(event, spot, How::Raw, None, &message);
    }

    fn mark(&self, turn: &Turn<'_>, events: &[Event], step: u32) -> Mark {
        let held = |decision: Decision| {
            events.iter().filter_map(move |event| match &event.marker.as_ref()?.fact {
                Fact::Approval { tool, tool_call_id, decision: own, asked, .. } if *own == decision => {
                    Some((tool.clone(), tool_call_id.clone(), asked.prompt.clone()))
                }
                _ => None,
            })
        };
        let pending: Vec<_> = held(Decision::Pending).map(|(tool, call, _)| (tool, call)).collect();
        let mut runs: Vec<MarkedRun> = turn
            .runs
            .iter()
            .filter_map(|index| self.facts.runs.get(*index))
            .map(|run| {
                let waits = run.waiting.as_ref().map(|spot| word(spot.value(self.maker.files), "kind"));
                MarkedRun {
                    id: run.id.clone(),
                    is_going_on: matches!(run.status.as_str(), "IN_PROGRESS" | "RUNNING"),
                    is_held: (run.is_parked() && waits.as_deref() == Some("APPROVAL"))
                        || (!pending.is_empty() && run.end.is_none()),
                    is_known: !run.status.is_empty() || !pending.is_empty(),
                }
            })
            .collect();
        for named in turn.rows.iter().filter_map(|row| self.rows.get(*row)?.run.clone()) {
            if !runs.iter().any(|run| run.id.as_ref() == Some(&named)) {
                // Its reply is there: it does not wait.
                runs.push(MarkedRun { id: Some(named), is_known: true, ..MarkedRun::default() });
            }
        }
        Mark {
            step,
            rows: turn.rows.iter().filter_map(|row| self.rows.get(*row)).map(|row| (row.file, row.record)).collect(),
            frames: turn.frames.iter().map(|frame| (frame.spot.file, frame.spot.record)).collect(),
            is_answered: turn.rows.len() > 1,
            runs,
            pending,
            approved: held(Decision::Granted).map(|(tool, _, prompt)| (tool, prompt.unwrap_or_default())).collect(),
        }
    }

    fn session(&mut self, group: &Group) -> Session {
        let files = self.maker.files;
        let first = files.first();
        let source = first.map(FileData::path_buf).unwrap_or_default();
        let stem = || source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let id = group.key.clone().filter(|_| !is_fork_name(&source)).unwrap_or_else(stem);
        let title = self.steps.iter().zip(&self.said).find(|(_, said)| matches!(said, Said::At(_)));
        let times =
            || self.events.iter().filter_map(|event| event.at).chain(self.steps.iter().filter_map(|step| step.at));
        let mut capabilities = vec![Capability::Replay];
        if self.is_cuttable {
            capabilities.splice(0..0, [Capability::Fork, Capability::Revert]);
        }
        let fork = self.facts.answers.iter().find(|(kind, _)| *kind == Kind::Fork);
        let source_id = fork.and_then(|(_, spot)| text(spot.value(files), "sourceSessionId"));
        let revision = self.facts.runs.iter().filter_map(|run| run.revision).max();
        Session {
            id,
            title: title.map(|(step, _)| step.summary.clone()).filter(|title| !title.is_empty()),
            title_source: TitleSource::FirstPrompt,
            format: format_of(files, group),
            agent: Agent {
                name: self.facts.agents.first().cloned().or(Some("Fruxon".to_owned())),
                version: revision.filter(|revision| *revision > 0).map(|revision| format!("revision {revision}")),
            },
            model: self.steps.iter().rev().find_map(|step| step.model.clone()),
            cwd: None,
            started_at: times().min(),
            ended_at: self.steps.iter().filter_map(|step| step.ended_at).chain(times()).max(),
            head: self.steps.last().map(|step| step.step_id.clone()),
            nodes: group.records.len(),
            branches: Vec::new(),
            parent: source_id.map(|id| Parent { session_id: id.to_owned(), step_number: None }),
            relatives: Vec::new(),
            usage: self.usage,
            steps: std::mem::take(&mut self.steps),
            events: std::mem::take(&mut self.events).into(),
            subagents: std::mem::take(&mut self.subagents),
            capabilities,
            report: std::mem::take(&mut self.report),
            source,
        }
    }
}

/// The format of the first record of the first file; rows that were polled are a stream's.
fn format_of(files: &[FileData], group: &Group) -> FormatName {
    let first = group.records.iter().find_map(|(file, record)| files.get(*file)?.records.get(*record));
    match first {
        Some(record) if text(&record.value, "type") == Some("message") => FormatName::FruxonStream,
        Some(record) => record.kind.map_or(FormatName::FruxonRecord, Kind::format),
        None => FormatName::FruxonRecord,
    }
}

/// A number where the id is one.
fn node_id(id: &str) -> NodeId {
    let is_number = !id.starts_with('0') || id == "0";
    id.parse().ok().filter(|_| is_number).map_or_else(|| NodeId::Text(id.into()), NodeId::Number)
}
