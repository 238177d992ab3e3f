//! `stepline diff`: two sessions side by side.

use super::*;

/// The sample with a word of its prompts and commands changed, as a re-run might have it.
fn changed(folder: &Path, from: &str, to: &str) -> PathBuf {
    let path = folder.join("changed.jsonl");
    fs::write(&path, fs::read_to_string(sample()).unwrap().replace(from, to)).unwrap();
    path
}

fn diff(a: &Path, b: &Path, json: bool) -> Ended {
    let arguments: [&std::ffi::OsStr; 4] = ["diff".as_ref(), a.as_ref(), b.as_ref(), "--json".as_ref()];
    stepline(&arguments[..if json { 4 } else { 3 }])
}

#[test]
fn a_session_is_the_same_as_itself() {
    let ended = diff(&sample(), &sample(), true);
    assert_eq!(ended.status, 0, "{}", ended.err);
    let document = ended.json();
    assert_eq!(document["firstDivergence"], Value::Null);
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 15);
    for (step, number) in steps.iter().zip(1..) {
        assert_eq!((&step["a"], &step["b"], &step["state"]), (&number.into(), &number.into(), &"same".into()));
    }
    assert!(diff(&sample(), &sample(), false).out.ends_with("the same, step by step\n"));
}

#[test]
fn a_fork_is_its_original_up_to_where_it_ends() {
    let (folder, original) = copy_of_sample();
    let fork = folder.path().join("fork.jsonl");
    let arguments = ["fork".as_ref(), original.as_os_str(), "--step".as_ref(), "6".as_ref(), "--out".as_ref()];
    assert_eq!(stepline(arguments.into_iter().chain([fork.as_os_str()])).status, 0);
    let ended = diff(&original, &fork, true);
    assert_eq!(ended.status, 1, "they diverge");
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["firstDivergence"], 7);
    let states: Vec<&str> =
        document["steps"].as_array().unwrap().iter().map(|step| step["state"].as_str().unwrap()).collect();
    assert_eq!(states, [["same"; 6].as_slice(), ["onlyA"; 9].as_slice()].concat());
    assert_eq!((&document["steps"][6]["a"], &document["steps"][6]["b"]), (&7.into(), &Value::Null));
    assert_eq!(document["totals"]["b"]["steps"], 6);
    let table = diff(&fork, &original, false);
    assert!(table.out.contains("    –     7  only B    Ship 2.0\n"), "{}", table.out);
    assert!(table.out.ends_with("first divergence at step 7\n"));
}

#[test]
fn what_changed_is_named_word_by_word() {
    let folder = tempfile::tempdir().unwrap();
    let other = changed(folder.path(), "Ship 2.0", "Ship 2.1");
    let document: Value = serde_json::from_str(&diff(&sample(), &other, true).out).unwrap();
    let changed: Vec<&Value> =
        document["steps"].as_array().unwrap().iter().filter(|step| step["state"] == "changed").collect();
    assert_eq!(changed.len(), 1);
    assert_eq!((&changed[0]["a"], &changed[0]["b"]), (&7.into(), &7.into()));
    assert_eq!(changed[0]["differs"], serde_json::json!(["prompt"]));
    let table = diff(&sample(), &other, false).out;
    assert!(table.contains("    7     7  changed   Ship 2.0  [prompt]\n"), "{table}");
    assert!(table.contains("Prompt: Ship 2.[-0-]{+1+}\n"), "{table}");
}

#[test]
fn a_comparison_takes_two_sources() {
    let one = stepline(["diff".as_ref(), sample().as_os_str()]);
    assert_eq!((one.status, one.err.as_str()), (2, "stepline: B is missing; see stepline --help\n"));
    let both = stepline(["diff", "-", "-"]);
    assert_eq!((both.status, both.err.as_str()), (2, "stepline: standard input can be only one of A and B\n"));
    let gone = stepline(["diff".as_ref(), sample().as_os_str(), "/nowhere/b.jsonl".as_ref()]);
    assert_eq!(gone.status, 3);
    let input = with_input(["diff".as_ref(), sample().as_os_str(), "-".as_ref()], &fs::read(sample()).unwrap());
    assert_eq!(input.status, 0, "{}", input.err);
}
