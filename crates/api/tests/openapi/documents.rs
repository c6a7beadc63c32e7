//! The API does what its documents say: they are generated from the code, and the checked-in ones are not
//! stale. `GANCHO_WRITE_DOCS=1` writes them.

use std::{collections::BTreeSet, fmt::Write, path::PathBuf};

use gancho_api::{codes, docs, openapi, router::ROUTES};
use serde_json::Value;

use crate::{
    requests::{call, name},
    stage::Stage,
};

fn is_fresh(file: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    #[expect(clippy::disallowed_methods, reason = "how the documents are regenerated")]
    if std::env::var_os("GANCHO_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "docs/{file} is stale: regenerate it with GANCHO_WRITE_DOCS=1 cargo test -p gancho-api documents"
    );
}

#[test]
fn the_checked_in_documents_are_fresh() {
    is_fresh("openapi.json", &openapi::text());
    is_fresh("errors.md", &docs::errors_markdown());
    is_fresh("api.md", &with_operations());
}

/// Returns docs/api.md with the table of all operations, by their tags.
fn with_operations() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (before, rest) = document.split_once("<!-- generated: operations -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
    let api: Value = serde_json::from_str(&openapi::text()).unwrap();
    let mut table = String::new();
    for tag in api["tags"].as_array().unwrap() {
        let (name, about) = (tag["name"].as_str().unwrap(), tag["description"].as_str().unwrap());
        let mut rows: Vec<_> = ROUTES.iter().filter(|route| route.tag == name).collect();
        rows.sort_by_key(|route| (route.path, route.method.as_str()));
        write!(table, "\n### {name}\n\n{about}\n\n| Operation | Path | |\n|---|---|---|\n")
            .unwrap();
        for route in rows {
            let mark = if route.takes_idempotency_key { " *" } else { "" };
            let (id, method, path) = (route.operation_id, &route.method, route.path);
            writeln!(table, "| `{id}` | `{method} /v1{path}` | {}{mark} |", route.summary).unwrap();
        }
    }
    format!("{before}<!-- generated: operations -->\n{table}\n<!-- end -->\n{after}")
}

#[test]
fn the_document_says_its_version_and_where_the_api_is() {
    let document: Value = serde_json::from_str(&openapi::text()).unwrap();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["servers"][0]["url"], "/");
    assert_eq!(document["servers"][1]["variables"]["host"]["default"], "gancho.example.com");
}

#[test]
fn every_reference_leads_somewhere() {
    let text = openapi::text();
    let document: Value = serde_json::from_str(&text).unwrap();
    for part in text.split("\"$ref\": \"").skip(1) {
        let pointer = part.split('"').next().unwrap().trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let count: usize = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .map(|path| path.as_object().unwrap().len())
        .sum();
    assert_eq!(count, ROUTES.len());
}

/// The responses of a route are among the documented ones.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_documented() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let document: Value = serde_json::from_str(&openapi::text()).unwrap();
    for route in ROUTES {
        let method = route.method.as_str().to_lowercase();
        let answers = &document["paths"][format!("/v1{}", route.path)][method]["responses"];
        for client in [
            &stage.anyone(),
            &stage.operator(),
            &hands.client,
            &stage.operator().with("x-tenant", "m2"),
        ] {
            let reply = call(client, route).await;
            let documented = &answers[reply.status.to_string()];
            assert!(documented.is_object(), "{} answers {}", name(route), reply.status);
            if reply.status >= 400 {
                let about = documented["description"].as_str().unwrap();
                assert!(
                    about.contains(&format!("`{}`", reply.code())),
                    "{} {}",
                    name(route),
                    reply.text()
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_without_a_network() {
    let stage = Stage::new().await;
    let anyone = stage.anyone();
    let served = anyone.get("/openapi.json").await.is(200);
    assert_eq!(served.text(), openapi::text());
    anyone.get("/docs").await.is(308);
    let page = anyone.get("/docs/").await.is(200);
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
    let start = page.text();
    for file in ["style.css", "script.js"] {
        assert!(start.contains(&format!("\"/docs/{file}\"")), "{start}");
        anyone.get(&format!("/docs/{file}")).await.is(200);
    }
    let groups: BTreeSet<_> = ROUTES.iter().map(|route| route.tag).collect();
    let mut all = String::new();
    for group in groups {
        let slug = group.to_ascii_lowercase().replace(' ', "-");
        assert!(start.contains(&format!("\"/docs/{slug}\"")), "{group}");
        let page = anyone.get(&format!("/docs/{slug}")).await.is(200).text();
        for asked in ["src=\"http", "<link rel=\"stylesheet\" href=\"http", "@import"] {
            assert!(!page.contains(asked), "{group} asks others");
        }
        all.push_str(&page);
    }
    for route in ROUTES {
        assert!(all.contains(&format!("<article id=\"{}\"", route.operation_id)), "{}", route.path);
    }
    assert!(all.contains("from gancho import Gancho") && all.contains("await gancho."), "samples");
    anyone.get("/docs/no-such-file.js").await.refused(404, "no_route");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_code_has_a_page() {
    let stage = Stage::new().await;
    for code in codes::ALL {
        let page = stage.anyone().get(&format!("/docs/errors/{}", code.code)).await.is(200);
        assert!(page.text().contains(code.title), "{}", code.code);
    }
    let none = stage.anyone().get("/docs/errors/%3Cscript%3E").await.is(404);
    assert!(!none.text().contains("<script"));
    assert!(stage.anyone().get("/docs/errors").await.is(200).text().contains("plan_limit"));
}

/// Generators name methods and types after these.
#[test]
fn operations_have_names_of_their_own() {
    let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.operation_id).collect();
    assert_eq!(ids.len(), ROUTES.len());
    for id in ids {
        assert!(
            id.starts_with(|first: char| first.is_ascii_lowercase())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{id}"
        );
    }
}

/// A generator would have to invent a name for an object inside of another one.
#[test]
fn objects_have_names() {
    fn check(schema: &Value, at: &str) {
        assert!(schema.get("properties").is_none(), "{at} has fields and no name");
        children(schema, at);
    }
    fn children(schema: &Value, at: &str) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            check(field, &format!("{at}/{name}"));
        }
        for kind in ["oneOf", "anyOf"] {
            for part in schema[kind].as_array().into_iter().flatten() {
                check(part, at);
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            children(part, at);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(part) = schema.get(inner) {
                check(part, &format!("{at}/{inner}"));
            }
        }
    }
    let document: Value = serde_json::from_str(&openapi::text()).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        children(schema, name);
    }
    assert!(schemas.contains_key("RateLimitInput") && schemas.contains_key("BatchError"));
}

/// Examples match their schemas, so the gateway accepts and returns such values.
#[test]
fn examples_fit_their_schemas() {
    let document: Value = serde_json::from_str(&openapi::text()).unwrap();
    let mut seen = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let body = operation["requestBody"]["content"]["application/json"].as_object();
            let responses = operation["responses"].as_object().unwrap().values();
            let responses =
                responses.filter_map(|one| one["content"]["application/json"].as_object());
            for content in body.into_iter().chain(responses) {
                let mut schema = content["schema"].clone();
                schema["components"] = document["components"].clone();
                let validator = jsonschema::validator_for(&schema).unwrap();
                let errors: Vec<_> = validator
                    .iter_errors(&content["example"])
                    .map(|error| format!("{error} at {}", error.instance_path()))
                    .collect();
                assert!(errors.is_empty(), "{method} {path}: {errors:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > ROUTES.len() / 2, "{seen}");
}
