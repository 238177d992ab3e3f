//! The steps of a trace, one after the other.

use serde_json::Value;

use super::facts::Spot;
use super::field::time;
use super::read::FileData;

/// Steps inside so many others are not looked into; they are in the raw record.
pub const MAX_DEPTH: usize = 12;

/// A step of a trace.
pub struct Visited<'a> {
    pub spot: Spot,
    pub value: &'a Value,
    /// In how many others it is. In the list, what is inside a step follows it, deeper than it is.
    pub depth: usize,
    /// It has steps that are too deep to be shown.
    pub is_cut: bool,
}

/// The steps of an array of steps and all those inside them, each before its own. Siblings are sorted by their start
/// when all of them have one: a trace that was merged across a resume can list later attempts first.
pub fn steps<'a>(files: &'a [FileData], list: &Spot) -> Vec<Visited<'a>> {
    let mut found = Vec::new();
    collect(list.value(files), list, 0, &mut found);
    found
}

fn collect<'a>(list: &'a Value, at: &Spot, depth: usize, found: &mut Vec<Visited<'a>>) {
    let Some(siblings) = list.as_array() else { return };
    let mut order: Vec<(usize, &Value)> = siblings.iter().enumerate().filter(|(_, step)| step.is_object()).collect();
    if order.iter().all(|(_, step)| time(step, "startTime").is_some()) {
        order.sort_by_key(|(_, step)| time(step, "startTime"));
    }
    for (index, step) in order {
        let spot = at.below(index);
        let inner = step.get("steps").unwrap_or(&Value::Null);
        let is_cut = depth + 1 >= MAX_DEPTH && inner.as_array().is_some_and(|steps| !steps.is_empty());
        found.push(Visited { spot: spot.clone(), value: step, depth, is_cut });
        if !is_cut {
            collect(inner, &spot.below("steps"), depth + 1, found);
        }
    }
}
