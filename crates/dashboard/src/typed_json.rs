//! A JSON object from the fields of a form, in which typed JSON stays unchanged.

use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Default)]
pub struct TypedObject {
    fields: Vec<String>,
}

impl TypedObject {
    pub fn set(&mut self, name: &str, value: impl Serialize) {
        if let Ok(value) = serde_json::to_string(&value) {
            self.fields.push(format!("\"{name}\":{value}"));
        }
    }

    /// Sets a field to the typed text. Text that is not JSON is sent as a string, so that the API reports the
    /// error.
    pub fn set_typed(&mut self, name: &str, json: &str) {
        match serde_json::from_str::<&RawValue>(json.trim()) {
            Ok(value) => self.set(name, value),
            Err(_) => self.set(name, json),
        }
    }

    pub fn into_text(self) -> String {
        format!("{{{}}}", self.fields.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_json_keeps_its_form() {
        let mut object = TypedObject::default();
        object.set("name", "a\"b");
        object.set_typed("example", " {\"b\": 1.50, \"a\": 2} ");
        object.set_typed("schema", "{oops");
        assert_eq!(
            object.into_text(),
            r#"{"name":"a\"b","example":{"b": 1.50, "a": 2},"schema":"{oops"}"#
        );
    }
}
