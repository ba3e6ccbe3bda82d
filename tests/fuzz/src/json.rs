//! JSON as serde_json reads it, with the two things kept that readers may differ on: the order of members, and keys
//! that stand twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A number from 0 upwards that is written without a fraction or an exponent.
    Whole(u64),
    /// Any other number.
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The document, if these bytes are one.
    pub fn read(bytes: &[u8]) -> Option<Json> {
        serde_json::from_slice(bytes).ok()
    }

    /// The member of this name; the last one if there are two.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members()?.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub fn members(&self) -> Option<&[(String, Json)]> {
        if let Json::Object(members) = self { Some(members) } else { None }
    }

    pub fn items(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    pub fn repeats(&self) -> bool {
        match self {
            Json::Array(items) => items.iter().any(Json::repeats),
            Json::Object(members) => {
                let mut keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
                keys.sort_unstable();
                keys.windows(2).any(|pair| pair[0] == pair[1]) || members.iter().any(|(_, value)| value.repeats())
            }
            _ => false,
        }
    }

    pub fn keys(&self) -> String {
        let mut keys: Vec<&str> = self.members().unwrap_or_default().iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        keys.join(",")
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Json, E> {
        Ok(Json::Bool(is))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        from.deserialize_any(Any)
    }
}
