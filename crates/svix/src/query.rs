//! Reads the query of a request. Refuses parameters that are not read, like fields of a body.

use std::collections::BTreeMap;

use crate::svix_error::{InvalidField, SvixError};

pub struct Query {
    parameters: BTreeMap<String, String>,
    errors: Vec<InvalidField>,
}

impl Query {
    pub fn read(text: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        let mut parameters = BTreeMap::<String, String>::new();
        for (name, value) in pairs {
            // A list is either separated by commas or repeated.
            parameters
                .entry(name.into_owned())
                .and_modify(|all| {
                    all.push(',');
                    all.push_str(&value);
                })
                .or_insert_with(|| value.into_owned());
        }
        Self { parameters, errors: Vec::new() }
    }

    pub fn text(&mut self, name: &str) -> Option<String> {
        self.parameters.remove(name).filter(|value| !value.is_empty())
    }

    pub fn list(&mut self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').filter(|part| !part.is_empty()).map(ToOwned::to_owned).collect()
    }

    pub fn flag(&mut self, name: &str) -> Option<bool> {
        match self.text(name)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.error(name, "must be `true` or `false`");
                None
            }
        }
    }

    pub fn number(&mut self, name: &str) -> Option<u32> {
        let text = self.text(name)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.error(name, "must be a whole number");
        }
        number
    }

    /// Reads a time in the form of the API. Svix clients write `+00:00`, and some of them do not escape the
    /// plus sign.
    pub fn time(&mut self, name: &str) -> Option<String> {
        self.text(name).map(|text| text.replace(' ', "+"))
    }

    /// Refuses a parameter that the gateway does not support.
    pub fn refuse(&mut self, name: &str, why: &str) {
        if self.text(name).is_some_and(|value| value != "false") {
            self.error(name, why);
        }
    }

    /// Accepts only the list's own order, because the gateway has no other.
    pub fn only_order(&mut self, order: &str) {
        if self.text("order").is_some_and(|wanted| wanted != order) {
            self.error("order", &format!("this list is `{order}` only"));
        }
    }

    pub fn error(&mut self, name: &str, msg: &str) {
        self.errors.push(InvalidField::value(&["query", name], msg));
    }

    pub fn finish(self) -> Result<(), SvixError> {
        let mut errors = self.errors;
        for name in self.parameters.into_keys().take(20) {
            let short: String = name.chars().take(100).collect();
            errors.push(InvalidField::value(&["query", &short], "unknown parameter; remove it"));
        }
        if errors.is_empty() { Ok(()) } else { Err(SvixError::invalid_fields(errors)) }
    }
}
