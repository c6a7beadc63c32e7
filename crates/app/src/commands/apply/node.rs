//! A file as it is written, with fields in the order in which a person reads them.

use serde::{Serialize, Serializer};
use serde_json::Value;

pub enum Node {
    Value(Value),
    List(Vec<Node>),
    Map(Vec<(&'static str, Node)>),
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(fields) => {
                serializer.collect_map(fields.iter().map(|(name, node)| (name, node)))
            }
        }
    }
}
