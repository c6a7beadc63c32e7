//! Renders the call of an operation in curl, Python and TypeScript.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

use super::literal::to_json;

pub struct Snippets {
    pub curl: String,
    pub python: String,
    pub typescript: String,
}

pub struct SampleCall<'a> {
    /// The id of the operation.
    pub id: &'a str,
    pub method: &'a str,
    /// The path, with sample values for its parameters.
    pub path: &'a str,
    pub is_for_operator: bool,
    pub body: Option<Value>,
}

/// A call with the clients. `clients/generate` writes them, because it knows the names of their methods.
#[derive(Debug, Clone, Default, Deserialize)]
struct ClientSample {
    python: String,
    typescript: String,
    /// Parameters that the call requires, as in a URL.
    #[serde(default)]
    query: Option<String>,
}

/// The samples by the id of the operation.
static SAMPLES: LazyLock<HashMap<String, ClientSample>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../assets/samples.json")).unwrap_or_default()
});

impl Snippets {
    pub fn of(call: &SampleCall) -> Self {
        // A test checks that there is one for each operation.
        let sample = SAMPLES.get(call.id).cloned().unwrap_or_default();
        let ClientSample { python, typescript, query } = sample;
        Self { curl: curl(call, query.as_deref()), python, typescript }
    }
}

/// Returns the name of the variable with the credential.
const fn variable(call: &SampleCall) -> &'static str {
    if call.is_for_operator { "GANCHO_ADMIN_TOKEN" } else { "GANCHO_API_KEY" }
}

fn curl(call: &SampleCall, query: Option<&str>) -> String {
    let SampleCall { method, path, .. } = call;
    let path = query.map_or_else(|| (*path).to_owned(), |query| format!("{path}?{query}"));
    let mut lines = vec![match *method {
        "GET" => format!("curl \"$GANCHO_URL{path}\""),
        method => format!("curl -X {method} \"$GANCHO_URL{path}\""),
    }];
    lines.push(format!("-H \"Authorization: Bearer ${}\"", variable(call)));
    if let Some(body) = &call.body {
        // A quote within single quotes ends them.
        let body = to_json(body, 2).replace('\'', r"'\''");
        lines.push(format!("--json '{body}'"));
    }
    lines.join(" \\\n  ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::operations::ROUTES;

    #[test]
    fn curl_has_what_a_call_needs() {
        let purge = Snippets::of(&SampleCall {
            id: "purgeDeadLetters",
            method: "DELETE",
            path: "/v1/dlq",
            is_for_operator: false,
            body: None,
        });
        assert!(purge.curl.contains("$GANCHO_URL/v1/dlq?code=HTTP_410\""), "{}", purge.curl);
    }

    #[test]
    fn every_operation_has_a_sample_for_each_client() {
        let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.operation_id).collect();
        let sampled: BTreeSet<_> = SAMPLES.keys().map(String::as_str).collect();
        assert_eq!(ids, sampled, "run clients/generate");
        for (id, sample) in &*SAMPLES {
            assert!(sample.python.contains("from gancho import Gancho\n"), "{id}");
            assert!(sample.typescript.contains("from \"@gancho/client\";\n"), "{id}");
        }
    }
}
