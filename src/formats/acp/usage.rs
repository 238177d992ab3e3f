//! Tokens of a turn, each counted once, though a stream tells them in up to three places.

use serde_json::Value;

use super::route::meta;
use crate::model::Usage;

/// What the stream has told so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// Totals of the session that an agent gives instead of those of a turn.
    before: Usage,
    /// Dollars of the session so far, and those of the turns that have ended.
    cost: Option<f64>,
    counted_cost: f64,
    /// What else was told of the turn that runs.
    stats: Option<Usage>,
    updates: Option<Usage>,
}

impl Meter {
    /// `usage_update`: the cost of the session so far, and from Devin the tokens of one response.
    pub fn update(&mut self, update: &Value) {
        let cost = update.get("cost");
        let is_dollars = cost.and_then(|cost| cost.get("currency")).and_then(Value::as_str) == Some("USD");
        if let Some(amount) = cost.and_then(|cost| cost.get("amount")).and_then(Value::as_f64).filter(|_| is_dollars) {
            self.cost = Some(amount);
        }
        let count = |key: &str| meta(update, key).and_then(Value::as_u64);
        let usage = Usage {
            input: count("inputTokens"),
            output: count("outputTokens"),
            cache_read: count("cachedReadTokens"),
            ..Usage::default()
        };
        if usage.total() > 0 {
            self.updates.get_or_insert_default().add(&usage);
        }
    }

    /// The figures that Devin gives when it stops.
    pub fn stopped(&mut self, stats: &Value) {
        let count = |key: &str| stats.get(key).and_then(Value::as_u64);
        let usage = Usage { input: count("inputTokens"), output: count("outputTokens"), ..Usage::default() };
        self.stats = (usage.total() > 0).then_some(usage);
    }

    /// The usage of the turn that ends with this response. Copilot gives the totals of the session so far.
    pub fn turn(&mut self, result: &Value, is_total: bool) -> Usage {
        let told = result.get("usage").filter(|usage| usage.is_object()).map(of_response);
        let told =
            told.map(|usage| if is_total { minus(usage, std::mem::replace(&mut self.before, usage)) } else { usage });
        let (stats, updates) = (self.stats.take(), self.updates.take());
        let mut usage = told.or(updates).or(stats).unwrap_or_default();
        if let Some(cost) = self.cost {
            usage.cost = Some((cost - self.counted_cost).max(0.0));
            self.counted_cost = cost;
        }
        usage
    }
}

/// Whether the cached and the thought tokens are inside the others, only the total tells.
fn of_response(usage: &Value) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let (input, output) = (count("inputTokens"), count("outputTokens"));
    let (read, written) = (count("cachedReadTokens"), count("cachedWriteTokens"));
    let thought = count("thoughtTokens");
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let plain = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
    let rest = count("totalTokens").map(|total| total.saturating_sub(plain));
    let is_inside = rest == Some(0);
    let is_thought_apart = thought.is_some_and(|thought| thought > 0 && rest == Some(cached.saturating_add(thought)));
    Usage {
        input: input.map(|input| if is_inside { input.saturating_sub(cached) } else { input }),
        output: output.map(|output| output.saturating_add(thought.filter(|_| is_thought_apart).unwrap_or(0))),
        cache_read: read,
        cache_write: written,
        reasoning: thought,
        cost: None,
    }
}

fn minus(total: Usage, before: Usage) -> Usage {
    let less = |a: Option<u64>, b: Option<u64>| a.map(|a| a.saturating_sub(b.unwrap_or(0)));
    Usage {
        input: less(total.input, before.input),
        output: less(total.output, before.output),
        cache_read: less(total.cache_read, before.cache_read),
        cache_write: less(total.cache_write, before.cache_write),
        reasoning: less(total.reasoning, before.reasoning),
        cost: total.cost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_total_tells_what_the_counters_hold() {
        let apart = json!({"inputTokens": 164, "outputTokens": 15, "totalTokens": 234, "thoughtTokens": 5, "cachedReadTokens": 50});
        let usage = of_response(&apart);
        assert_eq!(
            (usage.input, usage.output, usage.cache_read, usage.reasoning),
            (Some(164), Some(20), Some(50), Some(5))
        );
        let inside = json!({"inputTokens": 439, "outputTokens": 40, "totalTokens": 479, "thoughtTokens": 10, "cachedReadTokens": 100});
        let usage = of_response(&inside);
        assert_eq!((usage.input, usage.output, usage.cache_read), (Some(339), Some(40), Some(100)));
    }

    #[test]
    fn totals_of_the_session_are_counted_once() {
        let mut meter = Meter::default();
        let of = |input: u64| json!({"usage": {"inputTokens": input, "outputTokens": input}});
        assert_eq!(meter.turn(&of(10), true).input, Some(10));
        assert_eq!(meter.turn(&of(25), true).input, Some(15));
        let cost = |amount: f64| json!({"cost": {"amount": amount, "currency": "USD"}});
        meter.update(&cost(0.5));
        assert_eq!(meter.turn(&json!({}), false).cost, Some(0.5));
        meter.update(&cost(0.75));
        assert_eq!(meter.turn(&json!({}), false).cost, Some(0.25));
    }
}
