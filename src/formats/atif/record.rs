//! The elements of `steps` as they are read: borrowed, lenient, with every large value left as raw JSON. Token ids and
//! log probabilities are passed over.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::formats::document::{self, Flaw};
use crate::formats::json;
use crate::formats::lenient::{Count, Flag, Float, List, Object, Text};
use crate::model::{Timestamp, Usage};

/// A value of any type, not looked into.
pub type Raw<'a> = Option<&'a RawValue>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Record<'a> {
    pub step_id: Count,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub source: Text<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub model_name: Text<'a>,
    #[serde(borrow)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow)]
    pub tool_calls: List<Object<Call<'a>>>,
    #[serde(borrow)]
    pub observation: Object<Observation<'a>>,
    pub metrics: Object<Metrics>,
    pub is_copied_context: Flag,
    #[serde(borrow)]
    pub extra: Object<Extra<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Call<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub function_name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Observation<'a> {
    #[serde(borrow)]
    pub results: List<Object<CallResult<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CallResult<'a> {
    #[serde(borrow)]
    pub source_call_id: Text<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub subagent_trajectory_ref: List<Object<Reference<'a>>>,
    #[serde(borrow)]
    pub extra: Object<ResultExtra<'a>>,
}

/// What says where a subagent's own trajectory is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference<'a> {
    #[serde(borrow)]
    pub trajectory_id: Text<'a>,
    #[serde(borrow)]
    pub trajectory_path: Text<'a>,
}

/// What converters note beside a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResultExtra<'a> {
    pub tool_result_is_error: Flag,
    /// Copilot's: `false` when the tool failed.
    #[serde(borrow)]
    pub success: Raw<'a>,
    #[serde(borrow)]
    pub tool_result_metadata: Object<ResultMetadata<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResultMetadata<'a> {
    /// Claude Code's own account of a result; of a question it holds the answers.
    #[serde(borrow)]
    pub tool_use_result: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Extra<'a> {
    pub is_sidechain: Flag,
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    #[serde(borrow)]
    pub generation_model: Text<'a>,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    /// Copilot's: `queued` for a prompt that was typed while the agent worked.
    #[serde(borrow)]
    delivery: Text<'a>,
}

/// Tokens of one model response; `prompt_tokens` includes those read from a cache.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metrics {
    pub prompt_tokens: Count,
    pub completion_tokens: Count,
    pub cached_tokens: Count,
    pub cost_usd: Float,
    extra: Object<MetricsExtra>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MetricsExtra {
    cache_creation_input_tokens: Count,
    output_tokens_details: Object<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    thinking_tokens: Count,
}

impl Metrics {
    pub fn usage(&self) -> Usage {
        let extra = self.extra.0.as_ref();
        let details = extra.and_then(|extra| extra.output_tokens_details.0.as_ref());
        usage_of(Counted {
            prompt: self.prompt_tokens.0,
            output: self.completion_tokens.0,
            cached: self.cached_tokens.0,
            written: extra.and_then(|extra| extra.cache_creation_input_tokens.0),
            reasoning: details.and_then(|details| details.thinking_tokens.0),
            cost: self.cost_usd.0,
        })
    }
}

/// Counters as the format has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// With what was read from and written to a cache.
    pub prompt: Option<u64>,
    pub output: Option<u64>,
    pub cached: Option<u64>,
    pub written: Option<u64>,
    pub reasoning: Option<u64>,
    pub cost: Option<f64>,
}

/// Counters as they are shown: input without the cached part.
pub fn usage_of(counted: Counted) -> Usage {
    let in_cache = counted.cached.unwrap_or(0).saturating_add(counted.written.unwrap_or(0));
    Usage {
        // Counters that do not fit together are taken as they are.
        input: counted.prompt.map(|prompt| prompt.checked_sub(in_cache).unwrap_or(prompt)),
        output: counted.output,
        cache_read: counted.cached,
        cache_write: counted.written,
        reasoning: counted.reasoning,
        cost: counted.cost.filter(|cost| cost.is_finite()),
    }
}

impl Record<'_> {
    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.timestamp.as_str()?)
    }

    /// The model that served it; what a converter put in is no model.
    pub fn model(&self) -> Option<&str> {
        let Object(extra) = &self.extra;
        let generation = extra.as_ref().and_then(|extra| extra.generation_model.as_str());
        self.model_name.as_str().or(generation).filter(|model| !model.is_empty() && !model.starts_with('<'))
    }

    pub fn is_queued(&self) -> bool {
        self.extra.0.as_ref().is_some_and(|extra| extra.delivery.is("queued"))
    }

    /// The subagent that it belongs to.
    pub fn agent_id(&self) -> Option<&str> {
        let Object(extra) = &self.extra;
        extra.as_ref().filter(|extra| extra.is_sidechain.0).map(|extra| extra.agent_id.or_empty())
    }

    pub fn calls(&self) -> impl Iterator<Item = (usize, &Call<'_>)> {
        self.tool_calls.0.iter().enumerate().filter_map(|(at, call)| Some((at, call.0.as_ref()?)))
    }

    pub fn results(&self) -> impl Iterator<Item = (usize, &CallResult<'_>)> {
        let Object(observation) = &self.observation;
        let results = observation.as_ref().map(|observation| observation.results.0.as_slice()).unwrap_or_default();
        results.iter().enumerate().filter_map(|(at, result)| Some((at, result.0.as_ref()?)))
    }
}

/// Reads an element. `true` when numbers or characters had to be mended that JSON does not have.
pub fn read<'a>(text: &'a str, spare: &'a mut String) -> Result<(Record<'a>, bool), String> {
    if !text.starts_with('{') {
        return Err("the record is not an object".to_owned());
    }
    if let Ok(value) = serde_json::from_str(text) {
        return Ok((value, false));
    }
    *spare = match document::parse(text.as_bytes()) {
        Some(document::Document { value, flaw: None | Some(Flaw::Mended) }) => value.to_string(),
        Some(document::Document { flaw: Some(Flaw::Cut { .. }), .. }) => return Err("the record is cut off".to_owned()),
        _ => return Err("the record is no JSON".to_owned()),
    };
    serde_json::from_str(spare).map(|record| (record, true)).map_err(|error| error.to_string())
}

/// The text of a string or of content parts. What is no text is named, never opened.
pub fn text_of(content: &Value, attachments: &mut Vec<String>) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                let field = |key: &str| part.get(key).and_then(Value::as_str);
                if let Some(text) = part.as_str().or_else(|| field("text")) {
                    texts.push(text.to_owned());
                } else if let Some(source) = part.get("source") {
                    let of = |key: &str| source.get(key).and_then(Value::as_str);
                    let media = of("media_type").or_else(|| field("type")).unwrap_or("media");
                    attachments.push(of("path").map_or_else(|| media.to_owned(), |path| format!("{media}: {path}")));
                } else if !part.is_null() {
                    texts.push(part.to_string());
                }
            }
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The same of a value that was not looked into.
pub fn raw_text(raw: Raw<'_>) -> String {
    let Some(raw) = raw else { return String::new() };
    if let Some(text) = json::string(raw) {
        return text;
    }
    serde_json::from_str(raw.get()).map_or_else(|_| raw.get().to_owned(), |value| text_of(&value, &mut Vec::new()))
}
