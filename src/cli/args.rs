//! What was typed. Nothing is opened here.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;

use super::{CliError, CommandName};

/// What was asked for.
#[derive(Debug, PartialEq)]
pub enum Invocation {
    Window(Options),
    Command(CommandName, Options),
    Help,
    Version,
}

/// Options of all commands; each command uses those that its usage names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub paths: Vec<PathBuf>,
    pub session: Option<String>,
    /// `diff` only: the session of the second source, where `--session` is given twice.
    pub other_session: Option<String>,
    pub step: Option<u32>,
    pub json: bool,
    /// Also list the sessions that their agent hides.
    pub hidden: bool,
    pub before: bool,
    pub out: Option<PathBuf>,
    pub preview: bool,
    pub yes: bool,
    pub from: Option<u32>,
    pub to: Option<u32>,
    pub prompt: Option<PathBuf>,
    pub against: Option<PathBuf>,
    /// Export: its form, and the steps as they were named.
    pub form: Option<String>,
    pub steps: Option<String>,
    /// Export: print the review list with the result.
    pub redact: bool,
    pub no_redact: bool,
    /// Export: values or kinds of values that are not replaced.
    pub keep: Vec<String>,
    /// Export: regular expressions of more that is replaced.
    pub patterns: Vec<String>,
    /// Export: what is left out unless asked for.
    pub images: bool,
    pub old_contents: bool,
    /// Window only: write a picture of the window to this file and leave. For documents and tests.
    pub screenshot: Option<PathBuf>,
    /// Window only: its size in points.
    pub size: Option<(f32, f32)>,
    /// Window only: `light` or `dark` instead of the remembered theme.
    pub theme: Option<String>,
}

/// The text of `--help`.
pub fn usage() -> String {
    format!(
        "Stepline {version}: opens the recorded session of an AI agent as a timeline of steps.

stepline [PATH…] [--session ID] [--step N]     open the window
stepline sessions SOURCE [--hidden] [--json]   the sessions a source holds
stepline steps    SOURCE [--json]              its steps
stepline show     SOURCE --step N [--json]     the events of one step
stepline fork     SOURCE --step N [--before] [--out PATH] [--json]
                                               a new session with step N and all before it
                                               (--before: without step N)
stepline revert   SOURCE --step N (--preview | --yes) [--json]
                                               take step N and all after it out of the file
stepline undo     RECEIPT [--json]             take a revert back, byte for byte
stepline replay   SOURCE [--from N] [--to M] [--json] [--prompt FILE] [--against OTHER]
                                               play back what was recorded; runs nothing
stepline diff     A B [--json]                 two sessions side by side, aligned step by step
                                               (--session given twice: of A, then of B)
stepline export   SOURCE --to html|markdown|json|case [--steps A..B] [--out PATH] (--preview | --yes)
                  [--redact] [--keep WHAT]… [--pattern REGEX]… [--images] [--old-contents] [--no-redact] [--json]
                                               hand steps on; what is private is listed, then replaced
stepline check    SOURCE [--json]              every record accounted for

SOURCE is a file, several files that belong together, a folder, or - for standard input.
--session ID chooses one where a source holds several. Exit status: 0 done, 1 refused or diverged, 2 wrong usage, 3 cannot be read.
",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// The options of a command, or of the window.
fn allowed(command: Option<CommandName>) -> &'static [&'static str] {
    match command {
        None => &["session", "step", "screenshot", "size", "theme"],
        Some(CommandName::Sessions) => &["session", "json", "hidden"],
        Some(CommandName::Steps | CommandName::Check | CommandName::Diff) => &["session", "json"],
        Some(CommandName::Show) => &["session", "json", "step"],
        Some(CommandName::Fork) => &["session", "json", "step", "before", "out"],
        Some(CommandName::Revert) => &["session", "json", "step", "preview", "yes"],
        Some(CommandName::Undo) => &["json"],
        Some(CommandName::Replay) => &["session", "json", "from", "to", "prompt", "against"],
        Some(CommandName::Export) => &[
            "session",
            "json",
            "to",
            "steps",
            "out",
            "preview",
            "yes",
            "redact",
            "no-redact",
            "keep",
            "pattern",
            "images",
            "old-contents",
        ],
    }
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, CliError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let named = arguments.first().and_then(|first| first.to_str());
    let command = named.and_then(|name| CommandName::ALL.iter().find(|(other, _)| *other == name));
    let rest = arguments.get(usize::from(command.is_some())..).unwrap_or_default().to_vec();
    let usage = |error: lexopt::Error| CliError::Usage(format!("{error}; see stepline --help"));
    let is_export = matches!(command, Some((_, CommandName::Export)));
    let allowed = allowed(command.map(|(_, command)| *command));
    let mut parser = lexopt::Parser::from_args(rest);
    let mut options = Options::default();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long(name) if !matches!(name, "help" | "version") && !allowed.contains(&name) => {
                let of = command.map_or("the window", |(name, _)| *name);
                return Err(CliError::Usage(format!("{of} has no option --{name}; see stepline --help")));
            }
            Short('h') | Long("help") => return Ok(Invocation::Help),
            Short('V') | Long("version") => return Ok(Invocation::Version),
            Long("session") => {
                let session = parser.value().and_then(|value| value.string()).map_err(usage)?;
                match (&options.session, command) {
                    (Some(_), Some((_, CommandName::Diff))) => options.other_session = Some(session),
                    _ => options.session = Some(session),
                }
            }
            Long("step") => options.step = Some(parser.value().and_then(|value| value.parse()).map_err(usage)?),
            Long("json") => options.json = true,
            Long("hidden") => options.hidden = true,
            Long("before") => options.before = true,
            Long("out") => options.out = Some(parser.value().map_err(usage)?.into()),
            Long("preview") => options.preview = true,
            Long("yes") => options.yes = true,
            Long("from") => options.from = Some(parser.value().and_then(|value| value.parse()).map_err(usage)?),
            Long("to") if is_export => {
                options.form = Some(parser.value().and_then(|value| value.string()).map_err(usage)?);
            }
            Long("steps") => options.steps = Some(parser.value().and_then(|value| value.string()).map_err(usage)?),
            Long("redact") => options.redact = true,
            Long("no-redact") => options.no_redact = true,
            Long("keep") => options.keep.push(parser.value().and_then(|value| value.string()).map_err(usage)?),
            Long("pattern") => options.patterns.push(parser.value().and_then(|value| value.string()).map_err(usage)?),
            Long("images") => options.images = true,
            Long("old-contents") => options.old_contents = true,
            Long("to") => options.to = Some(parser.value().and_then(|value| value.parse()).map_err(usage)?),
            Long("prompt") => options.prompt = Some(parser.value().map_err(usage)?.into()),
            Long("against") => options.against = Some(parser.value().map_err(usage)?.into()),
            Long("screenshot") => options.screenshot = Some(parser.value().map_err(usage)?.into()),
            Long("theme") => options.theme = Some(parser.value().and_then(|value| value.string()).map_err(usage)?),
            Long("size") => {
                let text = parser.value().and_then(|value| value.string()).map_err(usage)?;
                let size = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
                options.size = Some(size.ok_or_else(|| CliError::Usage(format!("--size is WxH, not {text}")))?);
            }
            Value(path) => options.paths.push(path.into()),
            other => return Err(usage(other.unexpected())),
        }
    }
    Ok(match command {
        Some((_, command)) => Invocation::Command(*command, options),
        None => Invocation::Window(options),
    })
}

impl Options {
    /// The source of a command: one path or several.
    pub fn source(&self) -> Result<&[PathBuf], CliError> {
        match self.paths.as_slice() {
            [] => Err(CliError::Usage("SOURCE is missing; see stepline --help".to_owned())),
            paths => Ok(paths),
        }
    }

    /// The one receipt of a command.
    pub fn only_path(&self, what: &str) -> Result<&PathBuf, CliError> {
        match self.paths.as_slice() {
            [path] => Ok(path),
            [] => Err(CliError::Usage(format!("{what} is missing; see stepline --help"))),
            [_, other, ..] => Err(CliError::Usage(format!("one {what} at a time; what about {}?", other.display()))),
        }
    }

    /// The two sources of a comparison.
    pub fn two_sources(&self) -> Result<(&PathBuf, &PathBuf), CliError> {
        match self.paths.as_slice() {
            [a, b] => Ok((a, b)),
            [] => Err(CliError::Usage("A and B are missing; see stepline --help".to_owned())),
            [_] => Err(CliError::Usage("B is missing; see stepline --help".to_owned())),
            [_, _, other, ..] => Err(CliError::Usage(format!("two at a time; what about {}?", other.display()))),
        }
    }

    /// The step that a command must name.
    pub fn step(&self) -> Result<u32, CliError> {
        self.step.ok_or_else(|| CliError::Usage("--step N is missing; see stepline --help".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, CliError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_first_word_that_is_no_command_is_a_path() {
        let Ok(Invocation::Window(options)) = parsed("a.jsonl b.json --step 3") else { panic!("a window") };
        assert_eq!(options.paths, [PathBuf::from("a.jsonl"), PathBuf::from("b.json")]);
        assert_eq!(options.step, Some(3));
        let Ok(Invocation::Command(CommandName::Fork, options)) = parsed("fork x --step=2 --before --json") else {
            panic!("a fork")
        };
        assert!(options.before && options.json);
        assert_eq!(options.step, Some(2));
    }

    #[test]
    fn wrong_usage_says_what_is_wrong() {
        let Err(CliError::Usage(sentence)) = parsed("steps a --stop 3") else { panic!("refused") };
        assert_eq!(sentence, "steps has no option --stop; see stepline --help");
        let Err(CliError::Usage(sentence)) = parsed("undo receipt --preview") else { panic!("refused") };
        assert_eq!(sentence, "undo has no option --preview; see stepline --help");
        let Ok(Invocation::Command(_, options)) = parsed("steps") else { panic!("parsed") };
        let Err(CliError::Usage(sentence)) = options.source() else { panic!("refused") };
        assert_eq!(sentence, "SOURCE is missing; see stepline --help");
    }
}
