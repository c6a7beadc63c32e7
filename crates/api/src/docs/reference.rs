//! The API reference: a page for each group of operations, generated from the OpenAPI document.

use askama::Template;
use serde_json::Value;

use super::{
    literal::to_json,
    snippets::{SampleCall, Snippets},
    to_html,
};
use crate::openapi::examples::{resolve, type_of};

/// Returns the pages by their names in the path; the start page has none.
pub fn pages(document: &Value) -> Vec<(String, String)> {
    let groups = groups(document);
    let mut pages = vec![(String::new(), start_page(document, &groups))];
    for group in &groups {
        let page = GroupPage { groups: &groups, group };
        pages.push((group.slug.clone(), page.render().unwrap_or_default()));
    }
    pages
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'a> {
    groups: &'a [Group],
    /// The description, one paragraph each.
    about: Vec<String>,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage<'a> {
    groups: &'a [Group],
    group: &'a Group,
}

struct Group {
    name: String,
    slug: String,
    about: String,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    about: Vec<String>,
    parameters: Vec<Parameter>,
    body: Vec<Parameter>,
    status: String,
    response: String,
    sample: Option<String>,
    errors: Vec<ErrorLine>,
    snippets: Snippets,
}

struct Parameter {
    name: String,
    kind: String,
    is_required: bool,
    about: String,
}

struct ErrorLine {
    status: String,
    codes: Vec<String>,
}

fn start_page(document: &Value, groups: &[Group]) -> String {
    let about = paragraphs(&document["info"]["description"]);
    StartPage { groups, about }.render().unwrap_or_default()
}

fn groups(document: &Value) -> Vec<Group> {
    let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    let group = |tag: &Value| {
        let name = text(&tag["name"]);
        Group {
            slug: name.to_ascii_lowercase().replace(' ', "-"),
            about: to_html(&text(&tag["description"])),
            operations: operations(document, &name),
            name,
        }
    };
    tags.iter().map(group).collect()
}

fn operations(document: &Value, tag: &str) -> Vec<Operation> {
    let schemas = &document["components"]["schemas"];
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path, method, operation))
    });
    all.filter(|(_, _, operation)| operation["tags"][0] == tag)
        .map(|(path, method, about)| operation(schemas, path, method, about))
        .collect()
}

fn operation(schemas: &Value, path: &str, method: &str, about: &Value) -> Operation {
    let method = method.to_ascii_uppercase();
    let body = &about["requestBody"]["content"]["application/json"];
    let responses = about["responses"].as_object();
    let mut responses: Vec<_> = responses.into_iter().flatten().collect();
    responses.sort_by_key(|(status, _)| status.as_str());
    let (done, refused): (Vec<_>, Vec<_>) =
        responses.into_iter().partition(|(status, _)| status.starts_with('2'));
    let (status, response) =
        done.first().map_or(("", &Value::Null), |(status, done)| (status, *done));
    let sample = &response["content"]["application/json"]["example"];
    let security = about["security"].as_array().map(Vec::as_slice).unwrap_or_default();
    let id = text(&about["operationId"]);
    let sample_path = sample_path(path, about);
    Operation {
        summary: text(&about["summary"]),
        about: paragraphs(&about["description"]),
        parameters: parameters(schemas, about),
        body: fields(schemas, resolve(schemas, &body["schema"])),
        status: status.to_owned(),
        response: to_html(&text(&response["description"])),
        sample: (!sample.is_null()).then(|| to_json(sample, 0)),
        errors: refused.iter().map(|(status, refusal)| error_line(status, refusal)).collect(),
        snippets: Snippets::of(&SampleCall {
            id: &id,
            method: &method,
            path: &sample_path,
            is_for_operator: !security.iter().any(|scheme| scheme.get("api_key").is_some()),
            body: (!body.is_null()).then(|| body["example"].clone()),
        }),
        id,
        method,
        path: path.to_owned(),
    }
}

/// Replaces parameters: `/v1/webhooks/{id}/test` becomes `/v1/webhooks/wh_01KA…/test`.
fn sample_path(path: &str, about: &Value) -> String {
    let parameters = about["parameters"].as_array().into_iter().flatten();
    let in_path = parameters.filter(|parameter| parameter["in"] == "path");
    in_path.fold(path.to_owned(), |path, parameter| {
        let name = format!("{{{}}}", text(&parameter["name"]));
        path.replace(&name, &text(&parameter["example"]))
    })
}

fn parameters(schemas: &Value, about: &Value) -> Vec<Parameter> {
    let all = about["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let parameter = |one: &Value| Parameter {
        name: text(&one["name"]),
        kind: format!("{}, in the {}", kind(schemas, &one["schema"]), text(&one["in"])),
        is_required: one["required"] == true,
        about: to_html(&text(&one["description"])),
    };
    all.iter().map(parameter).collect()
}

fn fields(schemas: &Value, body: &Value) -> Vec<Parameter> {
    let required = body["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = body["properties"].as_object().into_iter().flatten();
    let field = |(name, field): (&String, &Value)| Parameter {
        is_required: required.iter().any(|required| required.as_str() == Some(name)),
        name: name.clone(),
        kind: kind(schemas, field),
        about: to_html(&text(&field["description"])),
    };
    let mut fields: Vec<_> = fields.map(field).collect();
    fields.sort_by_key(|field| !field.is_required);
    fields
}

fn kind(schemas: &Value, schema: &Value) -> String {
    let schema = resolve(schemas, schema);
    let mut alternatives = schema["oneOf"].as_array().into_iter().flatten();
    if let Some(one) = alternatives.find(|one| one["type"] != "null") {
        return kind(schemas, one);
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().map(text).collect();
        return values.join(" | ");
    }
    match (type_of(schema), schema["format"].as_str()) {
        ("array", _) => format!("list of {}", kind(schemas, &schema["items"])),
        ("string", Some("date-time")) => "time".to_owned(),
        ("", _) => "any JSON value".to_owned(),
        (kind, _) => kind.to_owned(),
    }
}

/// Parses an error as the document has it: `` `code`: title; `code`: title ``.
fn error_line(status: &str, refusal: &Value) -> ErrorLine {
    let description = text(&refusal["description"]);
    let codes = description.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    ErrorLine { status: status.to_owned(), codes }
}

fn paragraphs(about: &Value) -> Vec<String> {
    text(about).split("\n\n").map(to_html).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
