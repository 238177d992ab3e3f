use super::*;

/// Made by Git with every file forced to binary form; `big.txt` has 300 lines of which one changes.
const LITERALS: &str = include_str!("../../../../tests/fixtures/outpost/literal.patch");
const DELTA: &str = include_str!("../../../../tests/fixtures/outpost/delta.patch");

#[test]
fn literals_give_both_contents() {
    let files = read(LITERALS, &mut Blobs::default());
    let seen: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.change, file.lines)).collect();
    assert_eq!(seen, [("a.txt", Change::Added, Some((1, 0))), ("big.txt", Change::Added, Some((300, 0)))],);
    assert_eq!(files[0].diff.as_deref(), Some("@@ -0,0 +1 @@\n+hello\n"));
    assert_eq!(files[0].new_mode.as_deref(), Some("100644"));
    assert_eq!((files[0].old_bytes, files[0].new_bytes), (Some(0), Some(6)));
    assert_eq!(files[1].new_blob, "eab676fd6737208cee3567fc31e22b7813fe63aa");
    assert_eq!(files[1].new_bytes, Some(4992));
}

#[test]
fn a_delta_needs_the_content_it_builds_on() {
    let alone = read(DELTA, &mut Blobs::default());
    let big = alone.iter().find(|file| file.path == "big.txt").unwrap();
    assert_eq!((big.lines, big.old_bytes, big.new_bytes), (None, Some(4992), Some(4988)));
    assert_eq!(big.headline(), "changed big.txt (4992 → 4988 bytes); … is what stayed, which is not recorded");
    assert_eq!(big.diff.as_deref(), Some("-…150 line of text…\n+…changed here…\n"));

    let mut blobs = Blobs::default();
    read(LITERALS, &mut blobs);
    let files = read(DELTA, &mut blobs);
    let changed: Vec<_> = files.iter().map(FilePatch::headline).collect();
    assert_eq!(
        changed,
        [
            "changed a.txt (+1 −0)",
            "changed big.txt (+1 −1)",
            "deleted a.txt (+0 −2)",
            "changed big.txt, mode 100644 → 100755",
            "added sp ace é.txt (+1 −0)"
        ]
    );
    assert!(files[1].diff.as_deref().unwrap().contains("-150 line of text\n+changed here\n"));
}

#[test]
fn contents_that_are_no_text_are_named_with_their_sizes() {
    let file = FilePatch { lines: None, is_binary: true, ..read(LITERALS, &mut Blobs::default()).remove(0) };
    assert_eq!(file.headline(), "added a.txt (binary, 6 bytes)");
    let link = FilePatch { new_mode: Some("120000".to_owned()), ..file };
    assert_eq!(link.headline(), "added a.txt (binary, 6 bytes), symbolic link");
    assert!(!is_text(b"a\0") && !is_text(b"\xff") && is_text("é".as_bytes()));
}

#[test]
fn what_unfolds_too_far_is_not_unpacked() {
    let mut blobs = Blobs { unpacked: MAX_UNPACKED_BYTES, ..Blobs::default() };
    let file = read(LITERALS, &mut blobs).remove(0);
    assert_eq!((file.diff.as_deref(), file.headline().as_str()), (None, "added a.txt (6 bytes)"));
}

#[test]
fn what_was_learnt_earlier_is_built_on() {
    let mut blobs = Blobs::default();
    learn(LITERALS, &mut blobs);
    assert_eq!(read(DELTA, &mut blobs)[1].lines, Some((1, 1)));
}

#[test]
fn the_list_needs_no_unpacking() {
    assert_eq!(list(LITERALS), [("a.txt".to_owned(), Change::Added), ("big.txt".to_owned(), Change::Added)]);
    assert_eq!(list(""), []);
}

#[test]
fn damaged_patches_give_what_is_left() {
    for end in 0..LITERALS.len() {
        if let Some(cut) = LITERALS.get(..end) {
            read(cut, &mut Blobs::default());
        }
    }
    let lying = LITERALS.replace("literal 6", "literal 4000000000");
    assert_eq!(read(&lying, &mut Blobs::default())[0].lines, None);
    let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(read(text, &mut Blobs::default())[0].lines, Some((1, 1)));
}
