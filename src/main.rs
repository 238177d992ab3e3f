//! Reads the arguments and starts the window or a command.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use stepline::cli::{self, CliError, Invocation};
use stepline::ui::app;

fn main() -> ExitCode {
    let outcome = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Help) => print(&cli::usage()),
        Ok(Invocation::Version) => print(&format!("stepline {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Invocation::Command(command, options)) => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let done = cli::run(command, &options, &mut out);
            out.flush().map_err(CliError::from).and(done)
        }
        Ok(Invocation::Window(options)) => app::open_window(options).map_err(CliError::Refused),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(sentence) = error.sentence() {
                eprintln!("stepline: {sentence}");
            }
            ExitCode::from(error.exit_status())
        }
    }
}

fn print(text: &str) -> Result<(), CliError> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
