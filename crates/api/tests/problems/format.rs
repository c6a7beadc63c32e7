//! The form of a refusal, whatever it is about.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn one_form_for_all() {
    let stage = Stage::new().await;
    let reply = stage
        .operator()
        .post("/v1/tenants", &json!({"slg": "a"}))
        .await
        .refused(422, "unknown_field");
    let body = reply.json();
    assert_eq!(body["type"], "/docs/errors/unknown_field");
    assert_eq!((&body["status"], &body["title"]), (&json!(422), &json!("Unknown field")));
    assert_eq!(
        body["errors"],
        json!([
            {"pointer": "/slg", "detail": "unknown field `slg`; did you mean `slug`?"},
            {"pointer": "/slug", "detail": "`slug` is required: a string of 1 to 63 characters"},
        ])
    );
    assert_eq!(
        body["detail"],
        "unknown field `slg`; did you mean `slug`? (and 1 more, see `errors`)"
    );
    assert_eq!(Some(body["request_id"].as_str().unwrap()), reply.header("x-request-id"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let page = stage.anyone().get(body["type"].as_str().unwrap()).await.is(200);
    assert!(page.text().contains("unknown_field"));
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_are_echoed_where_they_are_plain() {
    let stage = Stage::new().await;
    let long = "a".repeat(129);
    for (given, is_echoed) in
        [("abc-123_x.y:z", true), ("a b", false), ("<script>", false), (long.as_str(), false)]
    {
        let reply = stage.operator().with("x-request-id", given).get("/v1/tenants").await.is(200);
        let shown = reply.header("x-request-id").unwrap();
        assert_eq!(shown == given, is_echoed, "{given}");
        assert!(is_echoed || shown.starts_with("req_"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_there_are_not() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    for path in
        ["/v1/nothing", "/v2/webhooks", "/", "/v1/webhooks/", "/v1//webhooks", "/webhooks/%FF"]
    {
        operator.get(path).await.refused(404, "no_route");
    }
    let reply = operator.delete("/v1/tenants").await.refused(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("POST, GET, HEAD"));
    operator.call("PATCH", "/v1/events", None).await.refused(405, "method_not_allowed");
    operator.call("BREW", "/v1/events", None).await.refused(405, "method_not_allowed");
    let head = operator.call("HEAD", "/v1/tenants", None).await.is(200);
    assert!(head.body.is_empty());
    assert!(head.header("content-length").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_where_none_are_taken() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    operator.call("GET", "/v1/tenants", Some(&json!({}))).await.is(200);
    let long = json!({"x": "y".repeat(20_000)});
    operator.call("GET", "/v1/tenants", Some(&long)).await.refused(413, "too_large");
}
