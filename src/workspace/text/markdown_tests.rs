use super::*;

fn parse(text: &str) -> Vec<Block> {
    Markdown::parse(text).unwrap().blocks
}

fn plain(text: &str) -> Span {
    Span { text: text.into(), ..Span::default() }
}

fn block(kind: BlockKind) -> Block {
    Block { depth: 0, quotes: 0, kind }
}

fn written(block: &Block) -> String {
    let spans = |spans: &[Span]| spans.iter().map(|span| span.text.as_str()).collect::<String>();
    match &block.kind {
        BlockKind::Heading { level, spans: text } => format!("h{level} {}", spans(text)),
        BlockKind::Paragraph(text) => spans(text),
        BlockKind::Item { marker, spans: text } => format!("{marker} {}", spans(text)),
        BlockKind::Code { language, text } => format!("```{language} {}", text.original().trim_end()),
        BlockKind::Table(rows) => {
            let rows: Vec<String> =
                rows.iter().map(|row| row.iter().map(|cell| spans(cell)).collect::<Vec<_>>().join("|")).collect();
            rows.join("//")
        }
        BlockKind::Rule => "---".into(),
    }
}

#[test]
fn inline_styles_become_spans() {
    assert_eq!(
        parse("It **is** *so* `code` ~~no~~."),
        [block(BlockKind::Paragraph(vec![
            plain("It "),
            Span { strong: true, ..plain("is") },
            plain(" "),
            Span { emphasis: true, ..plain("so") },
            plain(" "),
            Span { code: true, ..plain("code") },
            plain(" "),
            Span { struck: true, ..plain("no") },
            plain("."),
        ]))]
    );
}

#[test]
fn blocks_come_flat_with_their_depth() {
    let blocks = parse(
        "# One\n\ntext\nmore\n\n- a\n  - b\n- c\n\n  second\n\n1. x\n2. y\n\n> q\n\n---\n\n```rust\nfn f() {}\n```\n",
    );
    let shape: Vec<(String, u8, u8)> = blocks.iter().map(|block| (written(block), block.depth, block.quotes)).collect();
    let expected = [
        ("h1 One", 0, 0),
        ("text\nmore", 0, 0),
        ("• a", 1, 0),
        ("• b", 2, 0),
        ("• c", 1, 0),
        ("second", 1, 0),
        ("1. x", 1, 0),
        ("2. y", 1, 0),
        ("q", 0, 1),
        ("---", 0, 0),
        ("```rust fn f() {}", 0, 0),
    ];
    assert_eq!(shape, expected.map(|(text, depth, quotes)| (text.to_owned(), depth, quotes)));
}

#[test]
fn tables_have_rows_of_cells() {
    let blocks = parse("| a | b |\n|---|---|\n| 1 | **2** |\n");
    assert_eq!(blocks.iter().map(written).collect::<Vec<_>>(), ["a|b//1|2"]);
}

#[test]
fn links_say_where_they_go_and_images_are_not_loaded() {
    let blocks = parse("[here](https://evil.example/x) <https://a.example> ![a cat](https://b.example/cat.png)");
    assert_eq!(
        blocks.iter().map(written).collect::<Vec<_>>(),
        ["here (https://evil.example/x) https://a.example [image: a cat]"]
    );
    let BlockKind::Paragraph(spans) = &blocks[0].kind else { panic!() };
    assert_eq!(spans[0].link.as_deref(), Some("https://evil.example/x"));
    assert_eq!(spans[1].link, None);
    assert!(spans[1].note);
}

#[test]
fn html_is_text_and_controls_are_spelled_out() {
    let blocks = parse("<script>alert(1)</script>\n\na <b>bold</b> \u{202e}word");
    assert_eq!(
        blocks.iter().map(written).collect::<Vec<_>>(),
        ["<script>alert(1)</script>", "a <b>bold</b> ⟨U+202E⟩word"]
    );
}

#[test]
fn an_item_that_begins_with_code_keeps_its_marker() {
    let blocks = parse("- ```\n  x\n  ```\n");
    assert_eq!(blocks.iter().map(written).collect::<Vec<_>>(), ["• ", "``` x"]);
}

#[test]
fn long_texts_are_cut_or_left_alone() {
    assert!(Markdown::parse(&"x".repeat(MAX_BYTES + 1)).is_none());
    assert!(Markdown::parse(&"- x\n".repeat(5_000)).is_none());
    let words = "word ".repeat(6_000);
    let blocks = parse(&words);
    assert_eq!(blocks.len(), 4);
    assert_eq!(blocks.iter().map(written).collect::<String>(), words.trim_end());
}

#[test]
fn hostile_nesting_takes_no_time() {
    let start = std::time::Instant::now();
    for piece in [">", "- ", "[", "*a ", "![", "`", "<a ", "|", "**_", "\\[", "1. > "] {
        let _ = Markdown::parse(&piece.repeat(MAX_BYTES / piece.len()));
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
