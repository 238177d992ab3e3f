//! The commands: everything the window can be told to do without further words.
//!
//! Menus, tooltips, the shortcut sheet and the README's table are made from this one list. A command that needs words of
//! its own (which step, which file) is a [`super::Request`].

use super::Workspace;

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Open,
    OpenFolder,
    OpenPath,
    Reload,
    CloseTab,
    NextTab,
    PreviousTab,
    Fork,
    ForkBefore,
    Revert,
    UndoRevert,
    Replay,
    CopyPrompt,
    Export,
    Bookmark,
    EditNote,
    NextBookmark,
    PreviousBookmark,
    NextStep,
    PreviousStep,
    FirstStep,
    LastStep,
    NextMarker,
    PreviousMarker,
    Find,
    NextMatch,
    PreviousMatch,
    CloseSearch,
    PlayPause,
    PlayNextEvent,
    PlayNextStep,
    PlayNextMarker,
    PlayFaster,
    PlaySlower,
    StopReplay,
    TimelineZoomIn,
    TimelineZoomOut,
    TimelinePanLeft,
    TimelinePanRight,
    TimelineShowAll,
    TimelineScale,
    ToggleInspector,
    ToggleTheme,
    ZoomIn,
    ZoomOut,
    ZoomReset,
    Report,
    Notices,
    Shortcuts,
    Quit,
}

/// A key as a shortcut names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    Tab,
    Space,
    Period,
    F3,
    F5,
    Escape,
}

/// A key with its modifiers; no others may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shortcut {
    pub key: Key,
    pub control: bool,
    pub shift: bool,
}

/// Under which heading the shortcut sheet lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Session,
    Steps,
    Search,
    Replay,
    Timeline,
    Window,
}

/// What there is to say about a command.
#[derive(Clone, Copy, Debug)]
pub struct CommandInfo {
    pub text: &'static str,
    pub tooltip: &'static str,
    pub group: Group,
    pub shortcuts: &'static [Shortcut],
}

const fn plain(key: Key) -> Shortcut {
    Shortcut { key, control: false, shift: false }
}

const fn control(key: Key) -> Shortcut {
    Shortcut { key, control: true, shift: false }
}

const fn shift(key: Key) -> Shortcut {
    Shortcut { key, control: false, shift: true }
}

const fn control_shift(key: Key) -> Shortcut {
    Shortcut { key, control: true, shift: true }
}

impl Command {
    pub const ALL: [Self; 50] = [
        Self::Open,
        Self::OpenFolder,
        Self::OpenPath,
        Self::Reload,
        Self::CloseTab,
        Self::NextTab,
        Self::PreviousTab,
        Self::Fork,
        Self::ForkBefore,
        Self::Revert,
        Self::UndoRevert,
        Self::CopyPrompt,
        Self::NextStep,
        Self::PreviousStep,
        Self::FirstStep,
        Self::LastStep,
        Self::NextMarker,
        Self::PreviousMarker,
        Self::Bookmark,
        Self::EditNote,
        Self::NextBookmark,
        Self::PreviousBookmark,
        Self::Find,
        Self::NextMatch,
        Self::PreviousMatch,
        Self::CloseSearch,
        Self::Replay,
        Self::PlayPause,
        Self::PlayNextEvent,
        Self::PlayNextStep,
        Self::PlayNextMarker,
        Self::PlayFaster,
        Self::PlaySlower,
        Self::StopReplay,
        Self::TimelineZoomIn,
        Self::TimelineZoomOut,
        Self::TimelinePanLeft,
        Self::TimelinePanRight,
        Self::TimelineShowAll,
        Self::TimelineScale,
        Self::ToggleInspector,
        Self::ToggleTheme,
        Self::ZoomIn,
        Self::ZoomOut,
        Self::ZoomReset,
        Self::Export,
        Self::Report,
        Self::Notices,
        Self::Shortcuts,
        Self::Quit,
    ];

    /// Text, tooltip, heading and shortcuts.
    #[expect(clippy::too_many_lines, reason = "one entry a command")]
    pub fn info(self) -> CommandInfo {
        use Group::{Replay, Search, Session, Steps, Timeline, Window};
        let (text, tooltip, group, shortcuts): (_, _, _, &[Shortcut]) = match self {
            Self::Open => (
                "Open…",
                "Choose a session file, a database, or several files that belong together",
                Session,
                const { &[control(Key::Char('O'))] },
            ),
            Self::OpenFolder => (
                "Open folder…",
                "Choose a folder: all sessions in it are listed",
                Session,
                const { &[control_shift(Key::Char('O'))] },
            ),
            Self::OpenPath => (
                "Open path…",
                "Type or paste the path of a session file or a folder",
                Session,
                const { &[control(Key::Char('L'))] },
            ),
            Self::Reload => ("Reload", "Read the file again; the place is kept", Session, const { &[plain(Key::F5)] }),
            Self::CloseTab => ("Close tab", "Close this session", Session, const { &[control(Key::Char('W'))] }),
            Self::NextTab => ("Next tab", "Show the next open session", Session, const { &[control(Key::Tab)] }),
            Self::PreviousTab => {
                ("Previous tab", "Show the previous open session", Session, const { &[control_shift(Key::Tab)] })
            }
            Self::Report => (
                "Reading report",
                "Every record accounted for, with the problems found",
                Session,
                const { &[control(Key::Char('I'))] },
            ),
            Self::Export => (
                "Export…",
                "Hand steps on as a page, a text, JSON or a support case; shows first what is private",
                Session,
                const { &[control(Key::Char('E'))] },
            ),
            Self::Bookmark => (
                "Bookmark",
                "Set a bookmark on the selected event or step, or take it away",
                Steps,
                const { &[plain(Key::Char('B'))] },
            ),
            Self::EditNote => (
                "Note",
                "Write a note on the selected event or step; it is kept beside the session",
                Steps,
                const { &[plain(Key::Char('E'))] },
            ),
            Self::NextBookmark => (
                "Next bookmark",
                "Go to the next step with a bookmark or a note",
                Steps,
                const { &[plain(Key::Char('D'))] },
            ),
            Self::PreviousBookmark => (
                "Previous bookmark",
                "Go to the previous step with a bookmark or a note",
                Steps,
                const { &[shift(Key::Char('D'))] },
            ),
            Self::Fork => (
                "Fork",
                "A new session with this step and everything before it",
                Steps,
                const { &[plain(Key::Char('F'))] },
            ),
            Self::ForkBefore => (
                "Fork before",
                "A new session with everything before this step",
                Steps,
                const { &[shift(Key::Char('F'))] },
            ),
            Self::Revert => (
                "Revert…",
                "Undo this step and everything after it; shows first what goes",
                Steps,
                const { &[plain(Key::Char('X'))] },
            ),
            Self::UndoRevert => (
                "Undo revert",
                "Put the file back as it was before the last revert",
                Steps,
                const { &[control(Key::Char('Z'))] },
            ),
            Self::CopyPrompt => {
                ("Copy prompt", "Copy the step's whole prompt", Steps, const { &[plain(Key::Char('Y'))] })
            }
            Self::NextStep => {
                ("Next step", "Select the next step", Steps, const { &[plain(Key::Down), plain(Key::Char('J'))] })
            }
            Self::PreviousStep => {
                ("Previous step", "Select the previous step", Steps, const { &[plain(Key::Up), plain(Key::Char('K'))] })
            }
            Self::FirstStep => ("First step", "Select the first step", Steps, const { &[plain(Key::Home)] }),
            Self::LastStep => ("Last step", "Select the last step", Steps, const { &[plain(Key::End)] }),
            Self::NextMarker => {
                ("Next marker", "Go to the next marked event", Steps, const { &[plain(Key::Char('M'))] })
            }
            Self::PreviousMarker => {
                ("Previous marker", "Go to the previous marked event", Steps, const { &[shift(Key::Char('M'))] })
            }
            Self::Find => ("Find…", "Search all texts of the session", Search, const { &[control(Key::Char('F'))] }),
            Self::NextMatch => {
                ("Next match", "Go to the next match", Search, const { &[plain(Key::F3), control(Key::Char('G'))] })
            }
            Self::PreviousMatch => (
                "Previous match",
                "Go to the previous match",
                Search,
                const { &[shift(Key::F3), control_shift(Key::Char('G'))] },
            ),
            Self::CloseSearch => {
                ("Close search", "Close the search and forget its matches", Search, const { &[plain(Key::Escape)] })
            }
            Self::Replay => (
                "Replay",
                "Plays back what was recorded from this step on; runs nothing",
                Replay,
                const { &[plain(Key::Char('R'))] },
            ),
            Self::PlayPause => ("Play or pause", "Play back, or hold", Replay, const { &[plain(Key::Space)] }),
            Self::PlayNextEvent => {
                ("Next event", "Play the next event at once", Replay, const { &[plain(Key::Period)] })
            }
            Self::PlayNextStep => {
                ("Play to next step", "Play on to the start of the next step", Replay, const { &[shift(Key::Period)] })
            }
            Self::PlayNextMarker => {
                ("Play to next marker", "Play on to the next marked event", Replay, const { &[plain(Key::Char('N'))] })
            }
            Self::PlayFaster => ("Faster", "Double the speed, up to 64×", Replay, const { &[plain(Key::Char(']'))] }),
            Self::PlaySlower => ("Slower", "Halve the speed, down to 0.5×", Replay, const { &[plain(Key::Char('['))] }),
            Self::StopReplay => (
                "End replay",
                "Leave the replay and show the whole session",
                Replay,
                const { &[shift(Key::Char('R'))] },
            ),
            Self::TimelineZoomIn => (
                "Zoom timeline in",
                "Show less of the session, larger",
                Timeline,
                const { &[plain(Key::Char('+')), plain(Key::Char('='))] },
            ),
            Self::TimelineZoomOut => {
                ("Zoom timeline out", "Show more of the session, smaller", Timeline, const { &[plain(Key::Char('-'))] })
            }
            Self::TimelinePanLeft => {
                ("Pan timeline left", "Show what was before", Timeline, const { &[shift(Key::Left)] })
            }
            Self::TimelinePanRight => {
                ("Pan timeline right", "Show what came after", Timeline, const { &[shift(Key::Right)] })
            }
            Self::TimelineShowAll => (
                "Whole session",
                "Show all of the session on the timeline",
                Timeline,
                const { &[plain(Key::Char('0'))] },
            ),
            Self::TimelineScale => (
                "Time or step scale",
                "Space the timeline by time, or evenly by event",
                Timeline,
                const { &[plain(Key::Char('T'))] },
            ),
            Self::ToggleInspector => {
                ("Inspector", "Show or hide the inspector", Window, const { &[plain(Key::Char('I'))] })
            }
            Self::ToggleTheme => (
                "Light or dark",
                "Change between the light and the dark theme",
                Window,
                const { &[control_shift(Key::Char('L'))] },
            ),
            Self::ZoomIn => (
                "Larger",
                "Make everything larger",
                Window,
                const { &[control(Key::Char('+')), control(Key::Char('='))] },
            ),
            Self::ZoomOut => ("Smaller", "Make everything smaller", Window, const { &[control(Key::Char('-'))] }),
            Self::ZoomReset => ("Normal size", "Back to normal size", Window, const { &[control(Key::Char('0'))] }),
            Self::Notices => {
                ("Notices", "What Stepline has told you so far", Window, const { &[control_shift(Key::Char('N'))] })
            }
            Self::Shortcuts => {
                ("Keyboard shortcuts", "All commands and their keys", Window, const { &[plain(Key::Char('?'))] })
            }
            Self::Quit => ("Quit", "Close Stepline", Window, const { &[control(Key::Char('Q'))] }),
        };
        CommandInfo { text, tooltip, group, shortcuts }
    }

    /// Why the command cannot be run now; `None` when it can.
    pub fn refusal(self, workspace: &Workspace) -> Option<String> {
        use Command::*;
        let document = workspace.active();
        let session = document.and_then(|document| document.session());
        let step = document.and_then(|document| document.selected_step());
        match self {
            Open | OpenFolder | OpenPath | ToggleTheme | ZoomIn | ZoomOut | ZoomReset | Notices | Shortcuts | Quit => {
                None
            }
            Reload | CloseTab => document.is_none().then(|| "No session is open".to_owned()),
            NextTab | PreviousTab => (workspace.documents().len() < 2).then(|| "Only one session is open".to_owned()),
            _ if session.is_none() => Some("No session is open".to_owned()),
            TimelineZoomIn | TimelineZoomOut | TimelinePanLeft | TimelinePanRight | TimelineShowAll | TimelineScale
            | ToggleInspector | Report | Find => None,
            CloseSearch => {
                document.and_then(|document| (!document.search.is_open).then(|| "No search is open".to_owned()))
            }
            NextMatch | PreviousMatch => document.and_then(|document| {
                let search = &document.search;
                if search.query.text.is_empty() {
                    Some("Say first what to search for".to_owned())
                } else {
                    (search.is_open && search.found().is_empty()).then(|| "There is no match".to_owned())
                }
            }),
            UndoRevert => document.and_then(|document| {
                document.receipts.is_empty().then(|| "This file has no revert that could be undone".to_owned())
            }),
            PlayPause | PlayNextEvent | PlayNextStep | PlayNextMarker | PlayFaster | PlaySlower | StopReplay => {
                document
                    .and_then(|document| document.player.is_none().then(|| "Start a replay on a step first".to_owned()))
            }
            _ if step.is_none() => Some("The session has no steps".to_owned()),
            Fork => document.and_then(|document| document.fork_refusal(step?)),
            ForkBefore | Revert => document.and_then(|document| document.revert_refusal(step?)),
            Export => document
                .and_then(|document| (!document.is_whole()).then(|| "The file is not read to its end".to_owned())),
            NextBookmark | PreviousBookmark => document
                .and_then(|document| document.noted_steps().is_empty().then(|| "There is no bookmark".to_owned())),
            Bookmark | EditNote | Replay | CopyPrompt | NextStep | PreviousStep | FirstStep | LastStep | NextMarker
            | PreviousMarker => None,
        }
    }
}

impl Shortcut {
    /// As the shortcut sheet writes it: `Ctrl+Shift+Z`.
    pub fn words(self) -> String {
        let mut words = String::new();
        if self.control {
            words.push_str("Ctrl+");
        }
        // A sign that needs Shift to be typed names itself.
        if self.shift {
            words.push_str("Shift+");
        }
        match self.key {
            Key::Char(character) => words.push(character),
            Key::Up => words.push('↑'),
            Key::Down => words.push('↓'),
            Key::Left => words.push('←'),
            Key::Right => words.push('→'),
            Key::Home => words.push_str("Home"),
            Key::End => words.push_str("End"),
            Key::Tab => words.push_str("Tab"),
            Key::Space => words.push_str("Space"),
            Key::Period => words.push('.'),
            Key::F3 => words.push_str("F3"),
            Key::F5 => words.push_str("F5"),
            Key::Escape => words.push_str("Esc"),
        }
        words
    }
}

impl Group {
    pub const ALL: [Self; 6] = [Self::Session, Self::Steps, Self::Search, Self::Replay, Self::Timeline, Self::Window];

    pub fn title(self) -> &'static str {
        match self {
            Self::Session => "Session",
            Self::Steps => "Steps",
            Self::Search => "Search",
            Self::Replay => "Replay",
            Self::Timeline => "Timeline",
            Self::Window => "Window",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_command_is_listed_once_and_no_shortcut_twice() {
        let mut owners: HashMap<Shortcut, Command> = HashMap::new();
        for (index, command) in Command::ALL.into_iter().enumerate() {
            assert_eq!(Command::ALL.iter().filter(|other| **other == command).count(), 1, "{command:?}");
            assert_eq!(Command::ALL.iter().position(|other| *other == command), Some(index));
            assert!(!command.info().shortcuts.is_empty(), "{command:?} can be reached by keyboard");
            for shortcut in command.info().shortcuts {
                let before = owners.insert(*shortcut, command);
                assert_eq!(before, None, "{} belongs to two commands", shortcut.words());
            }
        }
    }
}
