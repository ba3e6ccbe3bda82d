//! The outcome of a run of the vendor.

use serde_json::Value;

use super::script::{Answer, answers, text_of};
use crate::case::Seen;
use crate::scratch::Ended;

pub struct Outcome {
    pub ended: Ended,
    pub requests: Vec<Value>,
    /// Every tool result once, in the order that the model got them.
    pub answers: Vec<Answer>,
    digest: String,
}

impl Outcome {
    pub fn new(ended: Ended, requests: Vec<Value>, digest: String) -> Outcome {
        let mut all: Vec<Answer> = Vec::new();
        for request in &requests {
            for answer in answers(request) {
                if !all.iter().any(|known| known.id == answer.id) {
                    all.push(answer);
                }
            }
        }
        Outcome { ended, requests, answers: all, digest }
    }

    pub fn was_told(&self, text: &str) -> bool {
        self.answers.iter().any(|answer| answer.text.contains(text))
    }

    /// Whether any request to the model contains `text`.
    pub fn asked_with(&self, text: &str) -> bool {
        self.requests.iter().any(|request| request.to_string().contains(text))
    }

    /// The first request of the conversation whose prompt contains `word`, as text.
    pub fn conversation(&self, word: &str) -> Result<String, String> {
        // Before a prompt with attachments there are messages of the vendor's own.
        let begins = |request: &&Value| {
            let said = request["messages"].as_array().is_some_and(|messages| {
                let user = |message: &&Value| message["role"] == "user";
                messages.iter().filter(user).any(|message| text_of(&message["content"]).contains(word))
            });
            said && request["tools"].as_array().is_some_and(|tools| !tools.is_empty())
        };
        let request = self.requests.iter().find(begins);
        request.map(Value::to_string).ok_or_else(|| format!("no request for {word:?} was made; {}", self.detail()))
    }

    pub fn refused(&self) -> bool {
        let mark = self.digest.get(..12).unwrap_or_default();
        !mark.is_empty() && self.answers.iter().any(|answer| answer.is_error && answer.text.contains(mark))
    }

    /// For people: the last lines of the run.
    pub fn detail(&self) -> String {
        let last = self.answers.last().map_or("no tool result".to_string(), |answer| {
            let text: String = answer.text.chars().take(400).collect();
            format!("the model was told (error {}): {text:?}", answer.is_error)
        });
        let errors: String = self.ended.stderr.chars().take(200).collect();
        format!("{last}; claude ended with {:?}, stderr {errors:?}", self.ended.code)
    }

    /// The outcome by an effect. A call without a result for the model proves nothing.
    pub fn effect(&self, ran: bool) -> Result<Seen, String> {
        if self.answers.is_empty() {
            return Err(format!("no call came back to the model; {}", self.detail()));
        }
        Ok(Seen::effect(ran, self.detail()))
    }

    pub fn or_refusal(&self, ran: bool) -> Result<Seen, String> {
        if !ran && !self.refused() {
            return Err(format!("not run, but not by the frame's refusal; {}", self.detail()));
        }
        self.effect(ran)
    }
}
