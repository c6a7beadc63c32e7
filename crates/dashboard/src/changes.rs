//! Finds what a form changes: saving it must not undo what someone else has saved since it was opened.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use crate::typed_json::TypedObject;

/// Returns the fields of a body that differ from those that the form was opened with; all of them if those
/// are unknown.
pub fn changed(body: String, before: &str) -> String {
    let before = serde_json::from_str::<BTreeMap<String, Value>>(before);
    let now = serde_json::from_str::<BTreeMap<String, &RawValue>>(&body);
    let (Ok(before), Ok(now)) = (before, now) else { return body };
    let mut changes = TypedObject::default();
    for (name, value) in now {
        let is_same =
            serde_json::from_str(value.get()).is_ok_and(|value| before.get(&name) == Some(&value));
        if !is_same {
            changes.set(&name, value);
        }
    }
    changes.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_changed_is_sent() {
        let before = r#"{"name":"a","timeout":null,"metadata":{"b":1,"a":2}}"#;
        let body =
            |name| format!(r#"{{"name":"{name}","timeout":"5s","metadata":{{"a": 2, "b": 1}}}}"#);
        assert_eq!(changed(body("a"), before), r#"{"timeout":"5s"}"#);
        assert_eq!(changed(body("b"), before), r#"{"name":"b","timeout":"5s"}"#);
        assert_eq!(changed(body("a"), ""), body("a"));
        assert_eq!(changed(before.to_owned(), before), "{}");
    }
}
