//! Invented text in the shapes that sessions hold: sentences, Markdown answers, program text, command output.

use crate::random::Random;

const WORDS: &[&str] = &[
    "the",
    "cart",
    "checkout",
    "test",
    "fails",
    "when",
    "two",
    "writers",
    "append",
    "to",
    "same",
    "file",
    "we",
    "should",
    "keep",
    "a",
    "lock",
    "until",
    "index",
    "is",
    "written",
    "then",
    "retry",
    "with",
    "backoff",
    "because",
    "service",
    "returns",
    "early",
    "and",
    "cache",
    "holds",
    "stale",
    "entry",
    "for",
    "order",
    "total",
    "rounding",
    "in",
    "euro",
    "Größe",
    "naïve",
    "数量",
    "не",
    "найдено",
    "✅",
    "parser",
    "accepts",
    "trailing",
    "comma",
    "but",
    "schema",
    "says",
    "otherwise",
    "migration",
    "adds",
    "column",
    "without",
    "default",
    "so",
    "old",
    "rows",
    "break",
];

const NAMES: &[&str] = &[
    "cart", "order", "price", "lock", "index", "writer", "reader", "retry", "queue", "session", "total", "entry",
    "parser", "cache", "invoice", "stock", "route", "token", "worker", "ledger",
];

/// A sentence of so many words.
pub fn sentence(random: &mut Random, words: usize) -> String {
    let mut text = String::new();
    for at in 0..words {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(random.pick(WORDS));
    }
    text.push('.');
    text
}

/// An answer in Markdown of about so many bytes.
pub fn answer(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        match random.range(0, 6) {
            0 => text.push_str(&format!("## {}\n\n", sentence(random, 4))),
            1 => {
                for _ in 0..random.range(2, 6) {
                    text.push_str(&format!("- **{}**: {}\n", name(random), sentence(random, 9)));
                }
            }
            2 => text.push_str(&format!("```rust\n{}```\n", code(random, 300))),
            _ => {
                for _ in 0..random.range(1, 4) {
                    let words = random.range(6, 18);
                    text.push_str(&sentence(random, words));
                    text.push(' ');
                }
                text.push_str("\n\n");
            }
        }
    }
    text
}

/// Program text of about so many bytes: quotes, tabs and backslashes as programs have them.
pub fn code(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        let (a, b) = (name(random), name(random));
        let number = random.range(0, 10_000);
        match random.range(0, 6) {
            0 => text.push_str(&format!("\nfn {a}_{b}_{number}(input: &str) -> Result<u64, Error> {{\n")),
            1 => text.push_str(&format!("\tlet {a} = {b}.get(\"{number}\").ok_or(\"no {a} \\\\ {b}\")?;\n")),
            2 => text
                .push_str(&format!("    if {a} > {number} {{ return Err(Error::new(\"{b}: \\\"{number}\\\"\")); }}\n")),
            3 => text.push_str(&format!("    // {}\n", sentence(random, 8))),
            4 => text.push_str(&format!("    {a}.push(format!(\"{{}}\\n\", {b}.len() * {number}));\n")),
            _ => text.push_str("}\n"),
        }
    }
    text
}

/// Program text with line numbers in front, as tools show files.
pub fn numbered(random: &mut Random, bytes: usize) -> String {
    let text = code(random, bytes);
    text.lines().enumerate().map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect()
}

/// What a command printed, about so many bytes of it.
pub fn output(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        let (a, b) = (name(random), name(random));
        let number = random.range(0, 100_000);
        match random.range(0, 4) {
            0 => text.push_str(&format!("test {a}::{b}_{number} ... \u{1b}[32mok\u{1b}[0m\n")),
            1 => text.push_str(&format!("src/{a}/{b}.rs:{number}:  let {a} = \"{b}\";\n")),
            2 => text.push_str(&format!("{number:>8} {a:<12} {b}\t0x{:016x}\n", random.next())),
            _ => text.push_str(&format!("warning: {}\n", sentence(random, 7))),
        }
    }
    text
}

pub fn path(random: &mut Random) -> String {
    format!("/home/user/shop/src/{}/{}_{}.rs", name(random), name(random), random.range(0, 100))
}

fn name(random: &mut Random) -> &'static str {
    random.pick(NAMES)
}
