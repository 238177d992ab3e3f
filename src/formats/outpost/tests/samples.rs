//! The sample files beside the repository, where there are any.

use std::path::Path;

use super::*;
use crate::formats::testing;
use crate::model::{Decision, Fact};

fn folder() -> Option<PathBuf> {
    testing::samples("outpost/examples")
}

fn only(folder: &Path, example: &str) -> Vec<Arc<dyn Recording>> {
    let sessions = formats::sessions_of(&[folder.join(example).join("state")], &Patient).unwrap().sessions;
    sessions.iter().map(|listed| formats::open_session(&listed.reference, &Patient).unwrap()).collect()
}

#[test]
fn samples_have_their_steps_and_decisions() {
    let Some(folder) = folder() else { return };
    let approvals = only(&folder, "13-approvals");
    let mut decisions = Vec::new();
    for recording in &approvals {
        look_at_everything(recording.as_ref());
        let session = recording.session();
        assert_eq!((session.steps.len(), session.report.problems.len()), (1, 0));
        decisions.extend(session.events.all().iter().filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Approval { decision, by, .. } => Some((session.id.get(..4)?.to_owned(), *decision, by.clone()?)),
            _ => None,
        }));
    }
    decisions.sort_by(|a, b| a.0.cmp(&b.0));
    let by = |id: &str, decision| (id.to_owned(), decision, "demo-reviewer".to_owned());
    assert_eq!(
        decisions,
        [
            by("08f9", Decision::Granted),
            by("35dc", Decision::Denied),
            by("6978", Decision::Granted),
            by("7ce5", Decision::Denied)
        ]
    );

    let [asked] = only(&folder, "38-interactive-tasks").try_into().ok().unwrap();
    let Fact::Question { options, answers, .. } =
        &asked.session().events_of(&asked.session().steps[0])[0].marker.as_ref().unwrap().fact
    else {
        panic!("the step begins with its question")
    };
    assert_eq!((options.len(), answers.as_slice()), (3, ["JSON structuré".to_owned()].as_slice()));

    let [quota] = only(&folder, "39-quota-pauses").try_into().ok().unwrap();
    assert_eq!((quota.session().steps.len(), quota.session().usage.input), (0, Some(18901)));

    let [stored] = only(&folder, "24-storage-transports").try_into().ok().unwrap();
    let session = stored.session();
    assert_eq!((session.steps.len(), session.nodes, session.report.problems.len()), (1, 4, 0));
    assert_eq!(session.id, "2c060daa-e50f-42f0-a74d-ce8fccfcf6a0");
    look_at_everything(stored.as_ref());
}
