//! `final_metrics`: what a whole trajectory used. Two spellings of its counters are in use.

use serde_json::{Map, Value};

use super::record::{Counted, usage_of};
use crate::model::Usage;

/// The counters of `final_metrics`; `None` when it holds none.
pub fn usage(metrics: &Value) -> Option<Usage> {
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| metrics.get(*key)?.as_u64());
    let extra = metrics.get("extra");
    let written = extra.and_then(|extra| extra.get("total_cache_creation_input_tokens")).and_then(Value::as_u64);
    let counted = Counted {
        prompt: count(["total_prompt_tokens", "total_input_tokens"]),
        output: count(["total_completion_tokens", "total_output_tokens"]),
        cached: count(["total_cached_tokens", "total_cache_read_tokens"]),
        written: count(["total_cache_creation_tokens", "total_cache_creation_tokens"]).or(written),
        reasoning: None,
        cost: metrics.get("total_cost_usd").and_then(Value::as_f64),
    };
    let known = counted.prompt.is_some() || counted.output.is_some() || counted.cost.is_some();
    known.then(|| usage_of(counted))
}

/// The same counters for the records that stay; what else was in it and counts nothing stays too.
pub fn recounted(metrics: &Map<String, Value>, usage: &Usage, records: usize) -> Value {
    let cached = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
    let mut counted = Map::new();
    for (key, value) in metrics {
        let new = match key.as_str() {
            "total_prompt_tokens" | "total_input_tokens" => {
                usage.input.map(|input| Value::from(input.saturating_add(cached)))
            }
            "total_completion_tokens" | "total_output_tokens" => usage.output.map(Value::from),
            "total_cached_tokens" | "total_cache_read_tokens" => usage.cache_read.map(Value::from),
            "total_cache_creation_tokens" => usage.cache_write.map(Value::from),
            "total_cost_usd" => usage.cost.map(Value::from),
            "total_steps" => Some(Value::from(records)),
            "extra" => Some(without_totals(value)),
            _ => Some(value.clone()),
        };
        counted.insert(key.clone(), new.unwrap_or(Value::Null));
    }
    Value::Object(counted)
}

/// Totals of the whole that nothing here can count anew are left out.
fn without_totals(extra: &Value) -> Value {
    let Value::Object(fields) = extra else { return extra.clone() };
    fields
        .iter()
        .filter(|(key, _)| !key.starts_with("total_"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_are_read() {
        let expected = Usage { input: Some(600), output: Some(60), cache_read: Some(2100), ..Usage::default() };
        let one = json!({"total_prompt_tokens": 2700, "total_completion_tokens": 60, "total_cached_tokens": 2100});
        assert_eq!(usage(&one), Some(expected));
        let other = json!({"total_input_tokens": 2700, "total_output_tokens": 60, "total_cache_read_tokens": 2100});
        assert_eq!(usage(&other), Some(expected));
        assert_eq!(usage(&json!({"total_steps": 3})), None);
    }
}
