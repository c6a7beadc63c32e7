//! Strings with a meaning for a database have none here.

use gancho_api::{route::Needs, router::ROUTES};
use serde_json::json;

use crate::{
    requests::{body, name, path, unknown},
    stage::Stage,
};

const STRINGS: &[&str] = &[
    "' OR '1'='1",
    "'; DROP TABLE deliveries; --",
    "\" OR 1=1 --",
    "1) UNION SELECT NULL--",
    "%",
    "_",
    "\\",
    "%25",
    "x' AND sleep(5)#",
    "NEAR(a b)",
    "*",
    "\"quoted\"",
    "$1",
    "?1",
    ":a",
    "@@version",
    "\u{202e}txt",
    "𝕊",
    "NULL",
    "-1",
    "9223372036854775808",
    "../../etc/passwd",
];

fn encoded(text: &str) -> String {
    let each: Vec<_> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    each.concat()
}

async fn everywhere(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    hands.publish("a.b", json!({})).await;
    for route in ROUTES {
        let client = match route.needs {
            Needs::Operator => stage.operator(),
            _ => hands.client.clone(),
        };
        let texts = route.query.iter().map(|field| Some(field.name));
        let names = route.path_fields().map(|(name, _)| name).collect::<Vec<_>>();
        for text in STRINGS {
            for field in texts.clone() {
                let plain = path(route, |_, noun| unknown(noun));
                let path = format!("{plain}?{}={}", field.unwrap_or_default(), encoded(text));
                let reply = client.call(route.method.as_str(), &path, body(route).as_ref()).await;
                assert!(reply.status < 500, "{} {text} {}", name(route), reply.text());
            }
            for part in &names {
                let path =
                    path(route, |at, noun| if at == *part { encoded(text) } else { unknown(noun) });
                let reply = client.call(route.method.as_str(), &path, body(route).as_ref()).await;
                assert!(reply.status < 500, "{} {text} {}", name(route), reply.text());
            }
        }
    }
}

async fn found_as_they_are(stage: &Stage) {
    let hands = stage.tenant("exact").await;
    for text in STRINGS {
        let event = json!({"type": "a.b", "data": text, "external_id": text, "subject": text});
        hands.client.post("/v1/events", &event).await.is(202);
    }
    for text in STRINGS {
        let path = format!("/v1/events?external_id={}", encoded(text));
        let found = hands.client.get(&path).await.is(200).json();
        assert_eq!(found["data"].as_array().unwrap().len(), 1, "{text}");
        assert_eq!(found["data"][0]["external_id"], *text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn never_a_mistake_of_ours() {
    let stage = Stage::new().await;
    everywhere(&stage).await;
    found_as_they_are(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_on_postgres() {
    let stage = Stage::postgres().await;
    everywhere(&stage).await;
    found_as_they_are(&stage).await;
}
