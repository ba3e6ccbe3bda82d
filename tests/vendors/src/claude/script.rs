//! The scripted model: its answers in each conversation, turn by turn.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Service;

/// A word that marks the main conversation's prompt, and tells it from sub-agents and from the vendor's helper requests
/// (titles, summaries).
pub const MAIN: &str = "SUITEMAIN";

type Input = Box<dyn Fn(&str) -> Value + Send + Sync>;

pub struct Call {
    pub name: String,
    input: Input,
}

impl Call {
    pub fn new(name: &str, input: Value) -> Call {
        Call { name: name.into(), input: Box::new(move |_| input.clone()) }
    }

    /// A call whose input is made from all tool results so far: some tools give ids that a later call takes.
    pub fn later(name: &str, input: impl Fn(&str) -> Value + Send + Sync + 'static) -> Call {
        Call { name: name.into(), input: Box::new(input) }
    }

    pub fn input(&self, results: &str) -> Value {
        (self.input)(results)
    }
}

/// One answer of the model: calls (several are parallel), or its last text.
pub struct Turn {
    pub calls: Vec<Call>,
    /// The delay before the answer: the vendor needs up to 3 s to notice a changed file.
    pub delay: Duration,
}

#[derive(Default)]
pub struct Script {
    pub service: Service,
    main: Vec<Turn>,
    others: Vec<(String, Vec<Turn>)>,
    words: Vec<(String, String)>,
}

impl Script {
    /// The last words in the conversation whose first message holds `word`.
    pub fn says(&mut self, word: &str, words: &str) {
        self.words.push((word.into(), words.into()));
    }

    /// What ends this conversation.
    pub fn last_words(&self, request: &Value) -> &str {
        let first = text_of(&request["messages"][0]["content"]);
        let own = self.words.iter().find(|(word, _)| first.contains(word.as_str()));
        own.map_or("That is all.", |(_, words)| words)
    }

    pub fn push(&mut self, calls: Vec<Call>, delay: Duration) {
        self.main.push(Turn { calls, delay });
    }

    /// Adds a call to the conversation whose first message contains `word`.
    pub fn push_other(&mut self, word: &str, call: Call) {
        let turn = Turn { calls: vec![call], delay: Duration::ZERO };
        match self.others.iter_mut().find(|(known, _)| known == word) {
            Some((_, turns)) => turns.push(turn),
            None => self.others.push((word.into(), vec![turn])),
        }
    }

    /// The turn for this request, with its number; `None` for a helper request and after the last turn. The number is
    /// the count of assistant messages so far, so nothing is kept between requests, and a retry gets the same answer.
    pub fn turn(&self, request: &Value) -> Option<(usize, &Turn)> {
        let messages = request["messages"].as_array()?;
        let turns = self.conversation(request, messages)?;
        let number = messages.iter().filter(|message| message["role"] == "assistant").count();
        turns.get(number).map(|turn| (number, turn))
    }

    fn conversation(&self, request: &Value, messages: &[Value]) -> Option<&[Turn]> {
        let first = messages.first().map(|message| text_of(&message["content"])).unwrap_or_default();
        let other = |hay: &str| {
            self.others.iter().find(|(word, _)| hay.contains(word.as_str())).map(|(_, turns)| turns.as_slice())
        };
        if !first.contains(MAIN)
            && let Some(turns) = other(&first)
        {
            return Some(turns);
        }
        let said: String = messages
            .iter()
            .filter(|message| message["role"] == "user")
            .map(|message| text_of(&message["content"]))
            .collect::<Vec<_>>()
            .join("\n");
        let offered = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        if said.contains(MAIN) && offered { Some(&self.main) } else { other(&said) }
    }
}

/// All text of a message's content, tool results included.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| match block["type"].as_str() {
                Some("text") => block["text"].as_str().unwrap_or_default().to_string(),
                Some("tool_result") => text_of(&block["content"]),
                _ => String::new(),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub id: String,
    pub is_error: bool,
    pub text: String,
}

pub fn answers(request: &Value) -> Vec<Answer> {
    let none = Vec::new();
    let mut found = Vec::new();
    for message in request["messages"].as_array().unwrap_or(&none) {
        for block in message["content"].as_array().unwrap_or(&none) {
            if block["type"] == "tool_result" {
                found.push(Answer {
                    id: block["tool_use_id"].as_str().unwrap_or_default().into(),
                    is_error: block["is_error"] == json!(true),
                    text: text_of(&block["content"]),
                });
            }
        }
    }
    found
}
