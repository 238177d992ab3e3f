//! Reads the arguments and starts the window or a command.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use stepline::cli::{self, CliError, Invocation, Options};
use stepline::ui::app::{self, WindowOptions};
use stepline::workspace::settings::Theme;

fn main() -> ExitCode {
    let outcome = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Help) => print(&cli::usage()),
        Ok(Invocation::Version) => print(&format!("stepline {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Invocation::Command(command, options)) => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let done = cli::run(command, &options, &mut out);
            out.flush().map_err(CliError::from).and(done)
        }
        Ok(Invocation::Window(options)) => open_window(options),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(sentence) = error.sentence() {
                eprintln!("stepline: {}", cli::harmless_lines(&sentence));
            }
            ExitCode::from(error.exit_status())
        }
    }
}

fn print(text: &str) -> Result<(), CliError> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn open_window(options: Options) -> Result<(), CliError> {
    let theme = match options.theme.as_deref() {
        None => None,
        Some("dark") => Some(Theme::Dark),
        Some("light") => Some(Theme::Light),
        Some(other) => return Err(CliError::Usage(format!("--theme is dark or light, not {other}"))),
    };
    let session = options.session.as_deref().map(|session| cli::find_session(&options.paths, session)).transpose()?;
    let Options { paths, step, screenshot, size, .. } = options;
    app::open_window(WindowOptions { paths, session, step, screenshot, size, theme }).map_err(CliError::Refused)
}
