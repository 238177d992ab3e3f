//! What a user record's text is: a person's words, or one of the many texts that the harness writes under the same role.

/// What a text in a user record stands for.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::formats) enum Spoken<'a> {
    /// A person's words, without the wrappers that an editor put before them.
    Person(&'a str),
    /// A slash command, `/x args`.
    Command(String),
    /// What a command that ran in Claude Code itself printed.
    LocalOutput(&'a str),
    /// A background task has ended.
    Notification(Notification<'a>),
    Interruption(&'a str),
    /// Any other text of the harness: a caveat, a reminder, a shell command typed with `!`.
    Harness(&'a str),
    Empty,
}

/// The fields of a `<task-notification>`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::formats) struct Notification<'a> {
    pub task: &'a str,
    pub call: &'a str,
    pub status: &'a str,
    pub summary: &'a str,
}

/// Wrappers that may precede a person's words in the same text.
const WRAPPERS: [&str; 3] = ["system-reminder", "ide_opened_file", "ide_selection"];

/// Starts of texts that no person wrote.
const HARNESS: [&str; 7] = [
    "<local-command-caveat>",
    "Caveat: ",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
    "<local-command-",
];

/// Tells what a text is. The rules go by how it starts.
pub(in crate::formats) fn classify(text: &str) -> Spoken<'_> {
    let whole = text.trim();
    let rest = strip_wrappers(whole);
    if rest.is_empty() {
        return if whole.is_empty() { Spoken::Empty } else { Spoken::Harness(whole) };
    }
    if rest.starts_with("<task-notification>") {
        return Spoken::Notification(Notification {
            task: inside(rest, "task-id").unwrap_or_default(),
            call: inside(rest, "tool-use-id").unwrap_or_default(),
            status: inside(rest, "status").unwrap_or_default(),
            summary: inside(rest, "summary").unwrap_or_default(),
        });
    }
    if ["<command-name>", "<command-message>", "<command-args>"].iter().any(|start| rest.starts_with(start)) {
        return match command(rest) {
            Some(command) => Spoken::Command(command),
            None => Spoken::Harness(rest),
        };
    }
    for tag in ["local-command-stdout", "local-command-stderr"] {
        if rest.starts_with(&format!("<{tag}>")) {
            return Spoken::LocalOutput(inside(rest, tag).unwrap_or(rest));
        }
    }
    if rest.starts_with("[Request interrupted by user") {
        return Spoken::Interruption(rest);
    }
    if HARNESS.iter().any(|start| rest.starts_with(start)) {
        return Spoken::Harness(rest);
    }
    Spoken::Person(rest)
}

/// `/x args` of a command wrapper; `None` when it names no command.
pub(super) fn command(text: &str) -> Option<String> {
    let name = inside(text, "command-name").filter(|name| !name.is_empty())?;
    let args = inside(text, "command-args").unwrap_or_default();
    let slash = if name.starts_with('/') { "" } else { "/" };
    Some(if args.is_empty() { format!("{slash}{name}") } else { format!("{slash}{name} {args}") })
}

/// The text between `<tag>` and `</tag>`, or to the end where the end tag is missing.
pub(super) fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inner, _)| inner).trim())
}

fn strip_wrappers(mut text: &str) -> &str {
    'again: loop {
        for tag in WRAPPERS {
            if text.starts_with(&format!("<{tag}>")) {
                text = text.split_once(&format!("</{tag}>")).map_or("", |(_, rest)| rest).trim_start();
                continue 'again;
            }
        }
        return text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_a_persons() {
        assert_eq!(classify("  Add a licence header\n"), Spoken::Person("Add a licence header"));
        assert_eq!(classify("Fix the <command-name> parser"), Spoken::Person("Fix the <command-name> parser"));
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(classify(" \n"), Spoken::Empty);
    }

    #[test]
    fn local_command_caveats_are_no_prompts() {
        assert!(matches!(classify("<local-command-caveat>Do not answer</local-command-caveat>"), Spoken::Harness(_)));
    }

    #[test]
    fn old_caveats_are_no_prompts() {
        assert!(matches!(classify("Caveat: The messages below were made by local commands"), Spoken::Harness(_)));
    }

    #[test]
    fn commands_are_named_with_their_arguments() {
        let wrapper = "<command-name>/review</command-name>\n  <command-message>review</command-message>\n  <command-args>the parser</command-args>";
        assert_eq!(classify(wrapper), Spoken::Command("/review the parser".into()));
        let older = "<command-message>init is analyzing…</command-message>\n<command-name>/init</command-name>";
        assert_eq!(classify(older), Spoken::Command("/init".into()));
        assert!(matches!(classify("<command-message>nameless</command-message>"), Spoken::Harness(_)));
    }

    #[test]
    fn output_of_local_commands_is_no_prompt() {
        assert_eq!(
            classify("<local-command-stdout>Set model</local-command-stdout>"),
            Spoken::LocalOutput("Set model")
        );
        assert_eq!(classify("<local-command-stderr>No</local-command-stderr>"), Spoken::LocalOutput("No"));
        assert_eq!(classify("<local-command-stdout></local-command-stdout>"), Spoken::LocalOutput(""));
    }

    #[test]
    fn shell_commands_typed_by_hand_are_no_prompts() {
        assert!(matches!(classify("<bash-input>ls</bash-input>"), Spoken::Harness(_)));
        assert!(matches!(classify("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"), Spoken::Harness(_)));
    }

    #[test]
    fn task_notifications_are_no_prompts() {
        let text = "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>completed</status>\n<summary>Agent \"x\" finished</summary>\n</task-notification>";
        assert_eq!(
            classify(text),
            Spoken::Notification(Notification {
                task: "a1",
                call: "toolu_1",
                status: "completed",
                summary: "Agent \"x\" finished"
            })
        );
    }

    #[test]
    fn system_reminders_are_no_prompts() {
        assert!(matches!(classify("<system-reminder>Mind the list</system-reminder>"), Spoken::Harness(_)));
        assert!(matches!(classify("<system-reminder>never closed"), Spoken::Harness(_)));
    }

    #[test]
    fn editor_wrappers_are_taken_off_a_prompt() {
        let alone = "<ide_opened_file>The user opened a.rs</ide_opened_file>";
        assert!(matches!(classify(alone), Spoken::Harness(_)));
        assert!(matches!(classify("<ide_selection>lines 1 to 3</ide_selection>"), Spoken::Harness(_)));
        assert_eq!(classify(&format!("{alone}\nExplain it")), Spoken::Person("Explain it"));
        assert_eq!(
            classify(&format!("{alone}<ide_selection>x</ide_selection> Explain it")),
            Spoken::Person("Explain it")
        );
        assert_eq!(
            classify(&format!("{alone}[Request interrupted by user]")),
            Spoken::Interruption("[Request interrupted by user]")
        );
    }

    #[test]
    fn interruptions_are_no_prompts() {
        for text in ["[Request interrupted by user]", "[Request interrupted by user for tool use]"] {
            assert_eq!(classify(text), Spoken::Interruption(text));
        }
    }
}
