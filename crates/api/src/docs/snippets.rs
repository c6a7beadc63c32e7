//! The call of an operation in curl, Python and TypeScript.

use serde_json::Value;

use super::literal::{to_json, to_python};

pub struct Snippets {
    pub curl: String,
    pub python: String,
    pub typescript: String,
}

pub struct SampleCall<'a> {
    pub method: &'a str,
    /// With sample values for its parameters.
    pub path: &'a str,
    pub is_for_operator: bool,
    pub body: Option<Value>,
}

impl Snippets {
    pub fn of(call: &SampleCall) -> Self {
        Self { curl: curl(call), python: python(call), typescript: typescript(call) }
    }
}

/// The name of the variable that holds the credential.
const fn variable(call: &SampleCall) -> &'static str {
    if call.is_for_operator { "GANCHO_ADMIN_TOKEN" } else { "GANCHO_API_KEY" }
}

fn curl(call: &SampleCall) -> String {
    let SampleCall { method, path, .. } = call;
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

fn python(call: &SampleCall) -> String {
    let SampleCall { method, path, .. } = call;
    let (method, variable) = (method.to_ascii_lowercase(), variable(call));
    let body = call
        .body
        .as_ref()
        .map_or_else(String::new, |body| format!("    json={},\n", to_python(body, 4)));
    format!(
        "import os, requests\n\n\
         response = requests.{method}(\n    \
             os.environ[\"GANCHO_URL\"] + \"{path}\",\n    \
             headers={{\"Authorization\": \"Bearer \" + os.environ[\"{variable}\"]}},\n\
         {body})\n\
         response.raise_for_status()"
    )
}

fn typescript(call: &SampleCall) -> String {
    let SampleCall { method, path, .. } = call;
    let variable = variable(call);
    let mut headers = format!("Authorization: `Bearer ${{process.env.{variable}}}`");
    let body = call.body.as_ref().map_or_else(String::new, |body| {
        headers.push_str(", \"Content-Type\": \"application/json\"");
        format!("  body: JSON.stringify({}),\n", to_json(body, 2))
    });
    format!(
        "const response = await fetch(`${{process.env.GANCHO_URL}}{path}`, {{\n  \
           method: \"{method}\",\n  \
           headers: {{ {headers} }},\n\
         {body}}});\n\
         if (!response.ok) throw new Error((await response.json()).detail);"
    )
}
