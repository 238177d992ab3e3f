//! What goes through redaction never says a secret, in whatever form it was written, and stays what it was.

use proptest::prelude::*;

use super::*;

fn secrets(text: &[u8], rules: &Rules) -> (Secrets, List) {
    let mut search = Search::new(rules).unwrap();
    search.text([text]).unwrap();
    let mut secrets = search.finish().unwrap();
    let mut list = List::default();
    list.text(&mut secrets, [text], &|line, offset| Spot::File { file: 0, line, offset }).unwrap();
    (secrets, list)
}

fn redacted(text: &str) -> String {
    let (secrets, _) = secrets(text.as_bytes(), &Rules::default());
    let redacted = Redactor::text(&secrets, text.as_bytes()).unwrap();
    let mut check = Check::new(&secrets).unwrap();
    check.feed(&redacted, "x").unwrap();
    check.finish("x").unwrap();
    String::from_utf8(redacted).unwrap()
}

#[test]
fn the_same_value_has_the_same_placeholder_everywhere() {
    let text = r#"{"a":"ada@example.com wrote to bob@example.com","ada@example.com":["\u0061da@example.com"]}"#;
    let expected =
        r#"{"a":"[redacted email 1] wrote to [redacted email 2]","[redacted email 1]":["[redacted email 1]"]}"#;
    assert_eq!(redacted(text), expected);
}

#[test]
fn escapes_hide_nothing() {
    for text in [
        r#"{"a":"x\nghp_0123456789abcdef0123"}"#,
        r#"{"a":"ghp_0123456789\u0061bcdef0123"}"#,
        r#"{"a":"{\"b\":\"ghp_012345678\\u0039abcdef0123\"}"}"#,
        r#"{"ghp_0123456789abcdef0123":1}"#,
        r#"{"a":"https:\/\/ada:ghp_0123456789abcdef0123@host"}"#,
    ] {
        let redacted = redacted(text);
        assert!(redacted.contains("[redacted ") && !redacted.contains("bcdef0123"), "{redacted}");
        serde_json::from_str::<serde_json::Value>(&redacted).unwrap();
    }
    // What looks like an escape and is none hides nothing either.
    assert_eq!(redacted(r#""\a ada@example.com""#), r#""\a [redacted email 1]""#);
    let text = r#"{"a":"{\"say\":\"hello\\nada@example.com\"}"}"#;
    assert_eq!(redacted(text), r#"{"a":"{\"say\":\"hello\\n[redacted email 1]\"}"}"#);
}

#[test]
fn a_password_is_taken_whole_by_its_key_and_found_wherever_it_stands() {
    let text = r#"{"password":"pa\"ss\\w0rd","log":["login with pa\"ss\\w0rd"],"n":{"db_password":123456},"m":123456}"#;
    let expected = concat!(
        r#"{"password":"[redacted password 1]","log":["login with [redacted password 1]"],"#,
        r#""n":{"db_password":"[redacted password 2]"},"m":"[redacted password 2]"}"#
    );
    assert_eq!(redacted(text), expected);
    assert_eq!(
        redacted(r#"{"usage":{"max_tokens":123456},"type":"user"}"#),
        r#"{"usage":{"max_tokens":123456},"type":"user"}"#
    );
}

#[test]
fn a_user_is_known_from_their_home_folder_and_then_by_name() {
    let text = r#"{"cwd":"/home/ada/shop","say":"Ada's folder -home-ada-shop, not Adam's","type":"user","win":"C:\\Users\\ada"}"#;
    let expected = concat!(
        r#"{"cwd":"/home/[redacted user 1]/shop","#,
        r#""say":"[redacted user 1]'s folder -home-[redacted user 1]-shop, not Adam's","type":"user","#,
        r#""win":"C:\\Users\\[redacted user 1]"}"#
    );
    assert_eq!(redacted(text), expected);
    let generic = r#"{"cwd":"/home/user/x","type":"user"}"#;
    assert_eq!(redacted(generic), r#"{"cwd":"/home/[redacted user 1]/x","type":"user"}"#);
}

#[test]
fn images_and_old_contents_are_left_out_unless_asked_for() {
    let data = "iVBORw0KGgo".repeat(40);
    let text = format!(
        r#"{{"source":{{"media_type":"image/png","data":"{data}"}},"originalFile":"old text","x":"data:image/png;base64,{data}"}}"#
    );
    let (secrets, list) = secrets(text.as_bytes(), &Rules::default());
    assert_eq!((list.images, list.old_contents, list.hits.len()), (2, 1, 0));
    let redacted = String::from_utf8(Redactor::text(&secrets, text.as_bytes()).unwrap()).unwrap();
    let expected = r#"{"source":{"media_type":"image/png","data":"[left out: image, 330 bytes]"},"originalFile":"[left out: old contents, 8 bytes]","x":"data:image/png;base64,[left out: image, 330 bytes]"}"#;
    assert_eq!(redacted, expected);
    let all = Rules { images: true, old_contents: true, ..Rules::default() };
    let (secrets, _) = self::secrets(text.as_bytes(), &all);
    assert_eq!(Redactor::text(&secrets, text.as_bytes()).unwrap(), text.as_bytes());
}

#[test]
fn hits_have_a_place_and_a_context_and_can_be_kept() {
    let text = "{\"a\":\"one\"}\n{\"b\":\"mail\\tada@example.com now\",\"c\":\"bob@example.com\"}\n";
    let (mut secrets, list) = secrets(text.as_bytes(), &Rules::default());
    let hit = &list.hits[0];
    assert_eq!((&*hit.name, &*hit.before, &*hit.after), ("b", "mail ", " now"));
    assert_eq!(hit.spot, Spot::File { file: 0, line: 2, offset: 24 });
    secrets.decide(0, true);
    let kept = Redactor::text(&secrets, text.as_bytes()).unwrap();
    assert!(String::from_utf8(kept).unwrap().contains("ada@example.com now\",\"c\":\"[redacted email 2]\""));
    secrets.decide_kind(Kind::Email, true);
    assert_eq!(Redactor::text(&secrets, text.as_bytes()).unwrap(), text.as_bytes());
}

#[test]
fn what_is_left_is_an_error_that_says_where() {
    let (secrets, _) = secrets(br#"{"a":"ada@example.com"}"#, &Rules::default());
    for text in [
        "{\"a\":1}\n{\"b\":\"ada@example.com\"}",
        r#"{"b":"ad\u0061@example.com"}"#,
        r#"{"b":"{\"c\":\"ada\\u0040example.com\"}"}"#,
        "no json: ada@example.com",
    ] {
        let mut check = Check::new(&secrets).unwrap();
        let result = check.feed(text.as_bytes(), "out.json").and_then(|()| check.finish("out.json"));
        let sentence = result.unwrap_err().to_string();
        assert!(sentence.contains("offset") && sentence.contains("of out.json; nothing was written"), "{sentence}");
    }
    // Parted by the borders of what is read at a time.
    let mut check = Check::new(&secrets).unwrap();
    check.bytes(b"<p>ada@exa", "out.html").unwrap();
    assert!(check.bytes(b"mple.com</p>", "out.html").is_err());
}

#[test]
fn the_start_of_a_value_at_a_cut_is_replaced_like_the_value() {
    let text = r#"{"title":"use ghp_0123456789abcdef...","summary":"mail ada@exa…","text":"use ghp_0123456789abcdefABCDEF, mail ada@example.com"}"#;
    let expected = concat!(
        r#"{"title":"use [redacted key 1]...","summary":"mail [redacted email 1]…","#,
        r#""text":"use [redacted key 1], mail [redacted email 1]"}"#
    );
    assert_eq!(redacted(text), expected);
    let named = r#"["set password=hunt…","password=hunter2x. Then"]"#;
    assert_eq!(redacted(named), r#"["set password=[redacted password 1]…","password=[redacted password 1]. Then"]"#);
    assert_eq!(redacted(r#"["ghp_0123456789abcdef..."]"#), r#"["[redacted key 1]..."]"#);
}

#[test]
fn off_is_off() {
    let text = br#"{"a":"ada@example.com"}"#;
    let (secrets, list) = secrets(text, &Rules { off: true, ..Rules::default() });
    assert!(list.hits.is_empty());
    assert_eq!(Redactor::text(&secrets, text).unwrap(), text);
}

/// One of the ways to write a character in a JSON string.
fn escaped(character: char, way: u8) -> String {
    let units = || character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    match (way, character) {
        (0, _) => units(),
        (1, _) => units().to_uppercase().replace("\\U", "\\u"),
        (2, '/') => "\\/".to_owned(),
        _ => {
            let quoted = serde_json::to_string(&character.to_string()).unwrap();
            quoted[1..quoted.len() - 1].to_owned()
        }
    }
}

fn in_some_form(text: &str, ways: &[u8]) -> String {
    text.chars().zip(ways.iter().cycle()).map(|(character, way)| escaped(character, *way)).collect()
}

/// Whether any string of a value holds the secret, also inside of JSON inside of it.
fn says(text: &str, secret: &str) -> bool {
    let mut found = false;
    escapes::each_view(text, false, &mut |view, _| found |= view.contains(secret));
    found
}

const SECRETS: [&str; 9] = [
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "sk-ant-api03-abcdef0123456789",
    "ada.lovelace@example.com",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg/kqhkiG9w0\n-----END PRIVATE KEY-----",
    "AKIAIOSFODNN7EXAMPLE",
    "postgres://ada:Tr0ub4dor&3@db/x",
    "password=Tr0ub4dor&3",
    "Authorization: Bearer q1w2e3r4t5y6",
];

/// What of each of them may not be left.
fn core(secret: &str) -> &str {
    ["Tr0ub4dor&3", "q1w2e3r4t5y6"].into_iter().find(|core| secret.contains(core)).unwrap_or(secret)
}

proptest! {
    #[test]
    fn no_form_of_a_secret_gets_through_and_json_stays_json(
        secret in proptest::sample::select(&SECRETS[..]),
        ways in proptest::collection::vec(0_u8..4, 1..40),
        around in "([ \"\\\\\n\t/é😀{}:,]|word|\\\\n){0,6}",
        layers in 0_usize..3,
        place in 0_u8..3,
    ) {
        let mut content = format!("{around} {secret} {around}");
        for _ in 0..layers {
            content = serde_json::to_string(&content).unwrap();
        }
        let written = in_some_form(&content, &ways);
        let text = match place {
            0 => format!("{{\"k\":\"{written}\"}}"),
            1 => format!("{{\"{written}\":[1,true,null]}}"),
            _ => format!("[\"plain\",{{\"x\":{{\"y\":[\"{written}\"]}}}}]"),
        };
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let redacted = redacted(&text);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok(), "{}", redacted);
        prop_assert!(!says(&redacted, core(secret)), "{} in {}", secret, redacted);
    }

    #[test]
    fn a_named_value_never_gets_through(
        value in "[A-Za-z0-9\"\\\\/&<>@é ]{6,20}[0-9]",
        ways in proptest::collection::vec(0_u8..4, 1..20),
    ) {
        let text = format!("{{\"db_p\\u0061ssword\":\"{0}\",\"log\":\"x {0} y\"}}", in_some_form(&value, &ways));
        let redacted = redacted(&text);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&redacted).is_ok(), "{}", redacted);
        prop_assert!(!says(&redacted, &value), "{} in {}", value, redacted);
    }

    #[test]
    fn anything_goes_through_and_what_is_json_stays_json(text in "(\"|\\\\|[{}\\[\\]:,]|password|=|/home/ada|a@b.cc|\n| |1){0,40}") {
        let redacted = redacted(&text);
        let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
        prop_assert!(!is_json(&text) || is_json(&redacted), "{}", redacted);
    }
}
