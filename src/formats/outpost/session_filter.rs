//! Which entries of a log that several dispatches and workflows wrote make a session.

use super::entry::Entry;

/// The one whose session it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionFilter {
    /// A dispatch. What its workflow wrote, and what nobody in particular wrote, is the context around it.
    Dispatch { id: String, execution: Option<String> },
    /// A workflow: what it wrote itself, not its dispatches.
    Workflow(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// The session's own.
    Own,
    /// Context around it.
    Shared,
    /// Another session's.
    Not,
}

impl SessionFilter {
    pub fn belongs(&self, entry: &Entry<'_>) -> Belongs {
        let scope = entry.scope.0.as_ref();
        let dispatch = scope.and_then(|scope| scope.dispatch_id.as_str());
        let execution = scope.and_then(|scope| scope.execution_id.as_str());
        match (self, dispatch) {
            (Self::Dispatch { id, .. }, Some(dispatch)) if dispatch == id => Belongs::Own,
            (_, Some(_)) => Belongs::Not,
            (Self::Dispatch { execution: own, .. }, None) => match (own, execution) {
                (Some(own), Some(execution)) if execution != own => Belongs::Not,
                _ => Belongs::Shared,
            },
            (Self::Workflow(own), None) if execution.is_some_and(|execution| execution != own) => Belongs::Not,
            (Self::Workflow(_), None) => Belongs::Shared,
        }
    }

    pub fn id(&self) -> &str {
        match self {
            Self::Dispatch { id, .. } | Self::Workflow(id) => id,
        }
    }
}
