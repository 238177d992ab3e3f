//! What Outpost would refuse: it is strict, and one bad entry rejects the whole journal.
//!
//! Only fields that its replay rules use are looked at, as Outpost does.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::entry::{Entry, Raw, RecordedCommit, object};
use super::kind::Kind;
use super::turns::Role;
use crate::formats::lenient::{Count, Text};

/// The largest integer that JavaScript tells from its neighbours.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// Why Outpost would refuse the journal because of this entry; `None` when it would not.
pub fn refusal(entry: &Entry<'_>, role: Role) -> Option<String> {
    if entry.kind.as_str().is_none() {
        return Some("the entry has no kind".into());
    }
    let result = match (entry.kind(), role) {
        (Kind::WorkspaceCommits, _) => commits(entry),
        (Kind::DispatchFinished, _) => match entry.error {
            Some(error) if !error.get().starts_with('{') => Err("its error is not an object".into()),
            _ => Ok(()),
        },
        (Kind::Prompt, Role::Starts | Role::Prompts) => string("text", entry.text),
        (Kind::Summary, Role::Ends) => tokens("tokens", entry.tokens),
        (Kind::Fallback, Role::HandsOver) => fallback(entry),
        (_, Role::Decision) => decision(entry),
        (Kind::Text | Kind::Result, Role::Event) => string("text", entry.text),
        (Kind::Failure, Role::Event) => string("message", entry.message),
        (Kind::Usage, Role::Event) => tokens("tokens", entry.tokens),
        (Kind::Conversation, Role::Event) => text("id", &entry.id),
        _ => Ok(()),
    };
    result.err().map(|reason| format!("Outpost would refuse this {}: {reason}", entry.kind.or_empty()))
}

type Checked = Result<(), String>;

fn string(name: &str, raw: Raw<'_>) -> Checked {
    match raw {
        Some(raw) if raw.get().starts_with('"') => Ok(()),
        _ => Err(format!("{name} is not a text")),
    }
}

fn text(name: &str, text: &Text<'_>) -> Checked {
    text.as_str().map(drop).ok_or_else(|| format!("{name} is not a text"))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Counters<'a> {
    input: Count,
    cached: Count,
    output: Count,
    #[serde(borrow, deserialize_with = "present")]
    cache_created: Raw<'a>,
    #[serde(borrow, deserialize_with = "present")]
    complete: Raw<'a>,
}

/// A value that is there, `null` too: for Outpost only what is missing is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Raw<'de>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn tokens(name: &str, raw: Raw<'_>) -> Checked {
    let Some(counters) = object::<Counters>(raw) else { return Err(format!("{name} is not an object")) };
    let created = match counters.cache_created {
        None => Count(Some(0)),
        Some(raw) => serde_json::from_str(raw.get()).unwrap_or_default(),
    };
    for (counter, count) in
        [("input", counters.input), ("cached", counters.cached), ("output", counters.output), ("cacheCreated", created)]
    {
        if count.0.is_none_or(|count| count > MAX_SAFE_INTEGER) {
            return Err(format!("{name}.{counter} is not a whole number"));
        }
    }
    match counters.complete.map(RawValue::get) {
        None | Some("true" | "false") => Ok(()),
        Some(_) => Err(format!("{name}.complete is neither true nor false")),
    }
}

fn fallback(entry: &Entry<'_>) -> Checked {
    string("message", entry.message)?;
    if !matches!(entry.failure.as_str(), Some("quota" | "unavailable")) {
        return Err("failure is neither quota nor unavailable".into());
    }
    for (name, raw) in [("from", entry.from), ("to", entry.to)] {
        let candidate = Entry::candidate(raw);
        text(&format!("{name}.name"), &candidate.name)?;
        if candidate.index.0.is_none_or(|index| index > MAX_SAFE_INTEGER) {
            return Err(format!("{name}.index is not a whole number"));
        }
    }
    Ok(())
}

fn decision(entry: &Entry<'_>) -> Checked {
    match entry.kind() {
        Kind::DecisionRequest => entry.request.map(drop).ok_or_else(|| "it has no request".into()),
        Kind::DecisionResponse => entry.response.map(drop).ok_or_else(|| "it has no response".into()),
        _ => {
            text("status", &entry.status)?;
            text("provider", &entry.provider)?;
            string("model", entry.model)?;
            if entry.duration_ms.is_some() && entry.took_ms().is_none_or(|ms| ms < 0.0) {
                return Err("durationMs is not a number of at least 0".into());
            }
            if entry.usage.is_some() {
                tokens("usage", entry.usage)?;
            }
            if !matches!(entry.truncated.map(RawValue::get), None | Some("true" | "false")) {
                return Err("truncated is neither true nor false".into());
            }
            if entry.code.is_some() {
                string("code", entry.code)?;
            }
            Ok(())
        }
    }
}

fn commits(entry: &Entry<'_>) -> Checked {
    let baseline = entry.baseline();
    if entry.unavailable.is_some() {
        string("unavailable", entry.unavailable)?;
        return baseline.map_or(Ok(()), |baseline| revision(&baseline));
    }
    revision(&baseline.ok_or_else(|| "it has no baseline".to_owned())?)?;
    let commits = entry.recorded_commits().ok_or_else(|| "commits is not a list".to_owned())?;
    for (index, commit) in commits.iter().enumerate() {
        one_commit(commit).map_err(|reason| format!("commits[{index}].{reason}"))?;
    }
    Ok(())
}

fn revision(revision: &super::entry::Revision<'_>) -> Checked {
    text("baseline.commit", &revision.commit)?;
    text("baseline.tree", &revision.tree)
}

fn one_commit(commit: &RecordedCommit<'_>) -> Checked {
    text("oid", &commit.oid)?;
    text("tree", &commit.tree)?;
    text("message", &commit.message)?;
    string("patch", commit.patch)?;
    for (name, identity) in [("author", &commit.author), ("committer", &commit.committer)] {
        let Some(identity) = &identity.0 else { return Err(format!("{name} is not an object")) };
        text(&format!("{name}.name"), &identity.name)?;
        text(&format!("{name}.email"), &identity.email)?;
        text(&format!("{name}.date"), &identity.date)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(entry: &str, role: Role) -> Option<String> {
        refusal(&serde_json::from_str(entry).unwrap(), role)
    }

    #[test]
    fn entries_that_replay_can_use_are_accepted() {
        let good = r#"{"kind":"summary","tokens":{"input":1,"cached":0,"output":2.0,"complete":true,"models":{}}}"#;
        assert_eq!(checked(good, Role::Ends), None);
        let good = r#"{"kind":"workspace-commits","unavailable":"too large"}"#;
        assert_eq!(checked(good, Role::Commits), None);
        let good = r#"{"kind":"decision","status":"failed","provider":"p","model":"m","code":"timeout"}"#;
        assert_eq!(checked(good, Role::Decision), None);
        // Not used by the derivation, so not checked.
        assert_eq!(checked(r#"{"kind":"tool","name":7}"#, Role::Event), None);
        assert_eq!(checked(r#"{"kind":"text","text":7}"#, Role::Outside), None);
    }

    #[test]
    fn refusals_name_the_field() {
        for (entry, role, reason) in [
            (r#"{"kind":"prompt","text":null}"#, Role::Starts, "refuse this prompt: text is not a text"),
            (r#"{"kind":"usage","tokens":{"input":-1,"cached":0,"output":0}}"#, Role::Event, "tokens.input"),
            (r#"{"kind":"usage","tokens":{"input":1,"cached":0,"output":0,"complete":1}}"#, Role::Event, "complete"),
            (r#"{"kind":"summary","tokens":{"input":9007199254740992,"cached":0,"output":0}}"#, Role::Ends, "input"),
            (r#"{"kind":"conversation","id":1}"#, Role::Event, "id is not a text"),
            (r#"{"kind":"workspace-commits","commits":[]}"#, Role::Commits, "no baseline"),
            (r#"{"kind":"workspace-commits","baseline":{"commit":"c","tree":"t"}}"#, Role::Commits, "not a list"),
            (
                r#"{"kind":"workspace-commits","baseline":{"commit":"c","tree":"t"},"commits":[{"oid":"o"}]}"#,
                Role::Commits,
                "commits[0].tree",
            ),
            (r#"{"kind":"dispatch-finished","error":"x"}"#, Role::Finishes, "not an object"),
            (
                r#"{"kind":"fallback","message":"m","failure":"mood","from":{},"to":{}}"#,
                Role::HandsOver,
                "neither quota nor unavailable",
            ),
            (
                r#"{"kind":"fallback","message":"m","failure":"quota","from":{"index":0.5,"name":"a"},"to":{}}"#,
                Role::HandsOver,
                "from.index",
            ),
            (r#"{"text":"x"}"#, Role::Outside, "no kind"),
            (
                r#"{"kind":"usage","tokens":{"input":1,"cached":0,"output":0,"cacheCreated":null}}"#,
                Role::Event,
                "tokens.cacheCreated",
            ),
            (
                r#"{"kind":"usage","tokens":{"input":1,"cached":0,"output":0,"complete":null}}"#,
                Role::Event,
                "neither true nor false",
            ),
            (
                r#"{"kind":"decision","status":"failed","provider":"p","model":"m","durationMs":"12"}"#,
                Role::Decision,
                "durationMs",
            ),
            (
                r#"{"kind":"decision","status":"failed","provider":"p","model":7}"#,
                Role::Decision,
                "model is not a text",
            ),
            (r#"{"kind":"decision-request"}"#, Role::Decision, "no request"),
        ] {
            let refusal = checked(entry, role).unwrap_or_default();
            assert!(refusal.contains(reason), "{entry}: {refusal}");
        }
    }
}
