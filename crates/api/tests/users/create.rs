//! Users: created, changed and deleted.

use serde_json::{Value, json};

use crate::stage::Stage;

const PASSWORD: &str = "correct horse battery";

async fn lifecycle(stage: &Stage) {
    let operator = stage.operator();
    let new = json!({"name": "Ana@Example.com", "role": "support", "password": PASSWORD});
    let made = operator.post("/v1/users", &new).await.is(201);
    assert!(!made.text().contains(PASSWORD) && !made.text().contains("argon2"), "{}", made.text());
    let made = made.json();
    assert_eq!((&made["name"], &made["role"]), (&json!("ana@example.com"), &json!("support")));
    operator.post("/v1/users", &new).await.refused(409, "taken");
    let second = json!({"name": "bo", "role": "operator", "password": PASSWORD});
    operator.post("/v1/users", &second).await.is(201);

    let listed = operator.get("/v1/users?limit=1").await.is(200);
    assert!(!listed.text().contains("argon2"));
    let listed = listed.json();
    assert_eq!(listed["data"][0]["name"], "ana@example.com");
    let cursor = listed["next_cursor"].as_str().unwrap();
    let rest = operator.get(&format!("/v1/users?limit=1&cursor={cursor}")).await.is(200).json();
    assert_eq!(rest["data"][0]["name"], "bo");
    assert_eq!(rest["next_cursor"], Value::Null);

    let path = "/v1/users/ana@example.com";
    let changed = operator.patch(path, &json!({"role": "read_only"})).await.is(200).json();
    assert_eq!(changed["role"], "read_only");
    assert_eq!(changed["password_changed_at"], made["password_changed_at"]);
    assert_eq!(operator.get(path).await.is(200).json(), changed);
    let same = operator.patch(path, &json!({})).await.is(200).json();
    assert_eq!(same, changed, "nothing changes");
    operator.patch(path, &json!({"password": "another horse battery"})).await.is(200);
    // Even the last operator, because the operator token always works.
    operator.delete("/v1/users/bo").await.is(204);
    operator.delete("/v1/users/bo").await.refused(404, "not_found");
    operator.get("/v1/users/bo").await.refused(404, "not_found");
    operator.patch("/v1/users/bo", &json!({"role": "support"})).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_made_changed_and_deleted() {
    lifecycle(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn also_on_postgres() {
    lifecycle(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_user() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    for (name, role, password, pointer) in [
        ("a b", "support", PASSWORD, "/name"),
        ("-ana", "support", PASSWORD, "/name"),
        ("ana", "admin", PASSWORD, "/role"),
        ("ana", "support", "short canary", "/password"),
        ("ana", "support", "Password1234", "/password"),
    ] {
        let is_short = password == "short canary";
        let password = if is_short { &password[..5] } else { password };
        let draft = json!({"name": name, "role": role, "password": password});
        let refused = operator.post("/v1/users", &draft).await.is(422);
        assert_eq!(refused.pointers(), [pointer], "{draft}");
        assert!(!refused.text().contains(password), "{}", refused.text());
    }
    assert_eq!(operator.get("/v1/users").await.is(200).json()["data"], json!([]));
    let missing = operator.post("/v1/me/password", &json!({})).await.is(422);
    assert_eq!(missing.pointers().len(), 2);
    let own = json!({"current_password": "x", "password": "another horse battery"});
    operator.post("/v1/me/password", &own).await.refused(409, "conflict");
}
