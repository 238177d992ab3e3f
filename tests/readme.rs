//! README says what is true: its table of shortcuts is the list of commands, its table of formats the registry.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use stepline::formats::REGISTRY;
use stepline::workspace::Command;
use stepline::workspace::command::Group;

const START: &str = "<!-- shortcuts: made from src/workspace/command.rs, held by tests/readme.rs -->\n";
const END: &str = "<!-- end of shortcuts -->";

fn shortcuts() -> String {
    let mut table = String::from("| key | command | what it does |\n| --- | --- | --- |\n");
    for group in Group::ALL {
        for command in Command::ALL.into_iter().filter(|command| command.info().group == group) {
            let info = command.info();
            let keys: Vec<String> = info.shortcuts.iter().map(|shortcut| format!("`{}`", shortcut.words())).collect();
            writeln!(table, "| {} | {} | {} |", keys.join(" "), info.text, info.tooltip).unwrap();
        }
    }
    table
}

#[test]
fn the_table_of_shortcuts_is_the_list_of_commands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(START).expect("the table's start");
    let (table, after) = rest.split_once(END).expect("the table's end");
    let expected = shortcuts();
    if table != expected && std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{before}{START}{expected}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(table, expected, "run this test with UPDATE_README=1 to write the table anew");
}

#[test]
fn every_format_is_in_the_table_of_formats() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for format in REGISTRY {
        assert!(readme.contains(&format!("| {} |", format.description)), "{} is not in README", format.description);
    }
}
