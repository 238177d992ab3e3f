//! Which session a message belongs to, who sent it, and which request a response answers.
//!
//! Both sides number their requests by themselves, so there are two tables of requests that wait.

use std::collections::HashMap;

use serde_json::Value;

use super::envelope::{From, Moment, Wrapped};
use crate::formats::labels::marker_text;

/// Requests of a stream that may wait at a time; a hostile one could have any number.
const MAX_WAITING: usize = 65_536;

/// A request that has not been answered.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub record: u32,
    pub moment: Moment,
    pub session: Option<String>,
    /// The working directory of a new or loaded session, or the value that an option is set to.
    pub value: Option<String>,
}

/// A message with what the stream before it says about it.
pub struct Routed {
    pub session: Option<String>,
    pub moment: Moment,
    pub message: Message,
}

pub enum Message {
    Request { method: String, params: Value },
    Notification { method: String, params: Value },
    Response { request: Option<Request>, outcome: Result<Value, Value> },
}

#[derive(Debug, Default)]
pub struct Router {
    client: HashMap<String, Request>,
    agent: HashMap<String, Request>,
    /// The recorder's words mean the other side: it sat beside the agent.
    is_inverted: bool,
}

impl Router {
    pub fn route(&mut self, wrapped: Wrapped, record: u32) -> Routed {
        let Wrapped { from, moment, mut message } = wrapped;
        let mut take = |key: &str| message.get_mut(key).map(Value::take);
        let (method, params) = (take("method"), take("params").unwrap_or_default());
        let id = take("id").filter(|id| !id.is_null()).map(|id| id.to_string());
        let session = text(&params, "sessionId").map(str::to_owned);
        let Some(Value::String(method)) = method else {
            let error = take("error").filter(|error| !error.is_null());
            let outcome = error.map_or_else(|| Ok(take("result").unwrap_or_default()), Err);
            let request = id.and_then(|id| self.answered(&id, from, &outcome));
            let result = outcome.as_ref().ok().and_then(|result| text(result, "sessionId")).map(str::to_owned);
            let session = request.as_ref().and_then(|request| request.session.clone()).or(result);
            return Routed { session, moment, message: Message::Response { request, outcome } };
        };
        let Some(id) = id else {
            self.learn(from, &method);
            return Routed { session, moment, message: Message::Notification { method, params } };
        };
        let sender = self.learn(from, &method).unwrap_or(From::Client);
        let value = ["cwd", "value", "modelId"].iter().find_map(|key| text(&params, key)).map(marker_text);
        let request = Request { method: method.clone(), record, moment, session: session.clone(), value };
        let table = self.table(sender);
        if table.len() < MAX_WAITING {
            table.insert(id, request);
        }
        Routed { session, moment, message: Message::Request { method, params } }
    }

    fn table(&mut self, sender: From) -> &mut HashMap<String, Request> {
        match sender {
            From::Client => &mut self.client,
            From::Agent => &mut self.agent,
        }
    }

    /// Who sent a request or a notification: its method says so, else its envelope.
    fn learn(&mut self, from: Option<From>, method: &str) -> Option<From> {
        let known = sender_of(method);
        if let (Some(known), Some(from)) = (known, from) {
            self.is_inverted = known != from;
        }
        known.or(from.map(|from| if self.is_inverted { from.other() } else { from }))
    }

    /// The request that a response answers: one of the other side with that id.
    fn answered(&mut self, id: &str, from: Option<From>, outcome: &Result<Value, Value>) -> Option<Request> {
        let from = from.map(|from| if self.is_inverted { from.other() } else { from });
        let fits = |request: Option<&Request>| request.map(|request| (shape(&request.method, outcome), request.record));
        let (of_client, of_agent) = (fits(self.client.get(id)), fits(self.agent.get(id)));
        let asker = match (from, of_client, of_agent) {
            (_, None, None) => return None,
            (_, Some(_), None) => From::Client,
            (_, None, Some(_)) => From::Agent,
            (Some(from), ..) => from.other(),
            // Without a direction the one whose result looks like this, then the younger one.
            (None, Some(client), Some(agent)) => {
                if client >= agent {
                    From::Client
                } else {
                    From::Agent
                }
            }
        };
        self.table(asker).remove(id)
    }
}

/// Who sends messages of this method; `None` for methods that nobody knows.
fn sender_of(method: &str) -> Option<From> {
    const CLIENT: [&str; 16] = [
        "initialize",
        "authenticate",
        "logout",
        "session/new",
        "session/load",
        "session/resume",
        "session/list",
        "session/delete",
        "session/close",
        "session/fork",
        "session/prompt",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
        "session/cancel",
        "_cognition.ai/session/rename",
    ];
    const REVERT: &str = "_cognition.ai/revert/";
    const AGENT: [&str; 6] =
        ["session/update", "session/request_permission", "elicitation/", "fs/", "terminal/", "_cognition.ai/"];
    if let Some(rest) = method.strip_prefix(REVERT) {
        let is_told = matches!(rest, "stepsUpdated" | "historyRewound");
        return Some(if is_told { From::Agent } else { From::Client });
    }
    if CLIENT.contains(&method) {
        return Some(From::Client);
    }
    AGENT.iter().any(|start| method.starts_with(start)).then_some(From::Agent)
}

/// Whether a result looks like one of this method; 1 where it could be any.
fn shape(method: &str, outcome: &Result<Value, Value>) -> u32 {
    let Ok(result) = outcome else { return 1 };
    let key = match method {
        "session/request_permission" => "outcome",
        "elicitation/create" => "action",
        "fs/read_text_file" => "content",
        "terminal/create" => "terminalId",
        "session/prompt" => "stopReason",
        "initialize" => "protocolVersion",
        "session/new" => "sessionId",
        _ => return 1,
    };
    if result.get(key).is_some() { 2 } else { 0 }
}

/// The string under a key.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// What is under a key of `_meta`, with or without Devin's prefix.
pub fn meta<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let meta = value.get("_meta")?;
    meta.get(format!("cognition.ai/{key}")).or_else(|| meta.get(key)).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(router: &mut Router, message: Value, record: u32) -> Option<String> {
        let wrapped = super::super::envelope::unwrap(message).unwrap();
        match router.route(wrapped, record).message {
            Message::Response { request, .. } => request.map(|request| request.method),
            _ => None,
        }
    }

    #[test]
    fn both_sides_number_by_themselves() {
        let mut router = Router::default();
        answer(&mut router, json!({"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}), 0);
        answer(&mut router, json!({"id": 1, "method": "session/request_permission", "params": {}}), 1);
        let chosen = json!({"id": 1, "result": {"outcome": {"outcome": "cancelled"}}});
        assert_eq!(answer(&mut router, chosen, 2).as_deref(), Some("session/request_permission"));
        let stopped = json!({"id": 1, "result": {"stopReason": "end_turn"}});
        assert_eq!(answer(&mut router, stopped.clone(), 3).as_deref(), Some("session/prompt"));
        assert_eq!(answer(&mut router, stopped, 4), None);
    }

    #[test]
    fn a_recorder_beside_the_agent_is_understood() {
        let mut router = Router::default();
        let wrap = |direction: &str, message: Value| json!({"direction": direction, "message": message});
        answer(&mut router, wrap("in", json!({"id": 1, "method": "initialize"})), 0);
        answer(&mut router, wrap("out", json!({"id": 1, "method": "fs/write_text_file"})), 1);
        let from_client = wrap("in", json!({"id": 1, "result": null}));
        assert_eq!(answer(&mut router, from_client, 2).as_deref(), Some("fs/write_text_file"));
    }
}
