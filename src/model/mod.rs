//! What a recorded session is: plain data, no input or output, no window.
//!
//! Every reader under `formats` produces these types and every other layer only reads them. The words are those of
//! the README: a *session* has *steps*, a step's turn has *events*, an event may carry a *marker*.

mod event;
mod events;
mod line;
mod marker;
mod notes;
mod report;
mod session;
mod spent;
mod step;
mod time;
mod usage;
pub mod words;

pub use event::{Event, EventKind, Place, Tool, ToolState};
pub use events::{EventSource, Events, Glance};
pub use line::{one_line, start_line, summarise, visible};
pub use marker::{Asked, Commit, Decision, Evidence, Fact, Marker, MarkerKind, QuestionState, SubagentStatus};
pub use notes::{NotNotes, Note, Notes, NotesFile, Target};
pub use report::{Locator, MAX_PROBLEMS, Problem, ProblemKind, Records, Report};
pub use session::{Agent, Branch, Capability, FormatName, NodeId, Parent, Relative, Session, Subagent, TitleSource};
pub use spent::TimeSpent;
pub use step::{Outcome, Step, StepKind};
pub use time::{Timestamp, clock, duration_words};
pub use usage::Usage;
