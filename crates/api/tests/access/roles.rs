//! A user's role decides what the user may do, operation by operation.

use bytes::Bytes;
use gancho_access::{NewUser, Operator, Principal, Role};
use gancho_api::{InProcessApi, route::Route, router::ROUTES};
use gancho_domain::AddressBlock;
use gancho_vault::Secret;
use http::{Method, Request};
use serde_json::Value;

use crate::{
    requests::{body, name, path, unknown},
    stage::Stage,
};

const PASSWORD: &str = "correct horse battery";

/// The only changes that support may make.
const SUPPORT: [(&str, &str); 23] = [
    ("POST", "/events/{event_id}/cancel"),
    ("POST", "/webhooks/{id}/test"),
    ("POST", "/webhooks/test"),
    ("POST", "/webhooks/{id}/pause"),
    ("POST", "/webhooks/{id}/resume"),
    ("POST", "/deliveries/{delivery_id}/retry"),
    ("POST", "/deliveries/{delivery_id}/cancel"),
    ("POST", "/webhooks/{id}/deliveries/{delivery_id}/retry"),
    ("POST", "/deliveries/{delivery_id}/check-signature"),
    ("POST", "/rejected-events/{event_id}/retry"),
    ("POST", "/replays"),
    ("POST", "/replays/{replay_id}/cancel"),
    ("POST", "/dlq/{letter_id}/replay"),
    ("POST", "/dlq/replay"),
    ("POST", "/alerts/test"),
    ("POST", "/alerts/silences"),
    ("DELETE", "/alerts/silences/{silence_id}"),
    ("POST", "/queues/{lane}/pause"),
    ("POST", "/queues/{lane}/resume"),
    ("POST", "/tenants/{tenant}/pause"),
    ("POST", "/tenants/{tenant}/resume"),
    ("POST", "/sources/{partner}/receipts/{receipt_id}/retry"),
    ("POST", "/sources/{partner}/receipts/retry"),
];

/// What only operators may read.
const HIDDEN: [&str; 4] = ["/webhooks/{id}/secret", "/users", "/users/{user}", "/audit"];

fn is_allowed(role: Role, route: &Route) -> bool {
    let is_own_password = route.path == "/me/password";
    let is_reading = route.method == Method::GET && !HIDDEN.contains(&route.path);
    match role {
        Role::Operator => true,
        Role::Support => {
            let is_listed = SUPPORT.contains(&(route.method.as_str(), route.path));
            is_reading || is_own_password || is_listed
        }
        Role::ReadOnly => is_reading || is_own_password,
    }
}

async fn log_in(api: &InProcessApi, role: Role) -> Operator {
    let new =
        NewUser { name: format!("{role}-user"), role, password: Secret::new(PASSWORD.to_owned()) };
    let user = api.api().access.users.create(new).await.unwrap();
    let from: AddressBlock = std::net::IpAddr::from([192, 0, 2, 7]).into();
    let password = Secret::new(PASSWORD.to_owned());
    api.log_in_user(from, &user.name, password).await.unwrap().1
}

/// Calls a route. Returns the status and the code of the refusal; empty if there is none.
async fn call(api: &InProcessApi, principal: &Principal, route: &Route) -> (u16, String) {
    let path = path(route, |_, noun| unknown(noun));
    let body = body(route).map_or_else(Bytes::new, |body| body.to_string().into());
    let request = Request::builder()
        .method(route.method.clone())
        .uri(path)
        .header("content-type", "application/json");
    let response = api.stream(principal.clone(), request.body(body).unwrap()).await;
    let status = response.status();
    if !status.is_client_error() {
        // A live tail has no end.
        return (status.as_u16(), String::new());
    }
    let answer = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    (status.as_u16(), answer["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_on_every_operation() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    let api = InProcessApi::new(&stage.api);
    let tenant = stage.api.access.tenants.find("m2").await.unwrap().unwrap();
    for role in Role::ALL {
        let user = log_in(&api, role).await;
        let acting = Principal::Tenant(user.act_for(tenant.clone()));
        for principal in [Principal::Operator(user), acting] {
            for route in ROUTES {
                let (status, code) = call(&api, &principal, route).await;
                assert_ne!(status, 401, "{}", name(route));
                let is_refused = (status, code.as_str()) == (403, "missing_role");
                assert_eq!(!is_refused, is_allowed(role, route), "{role} {} {code}", name(route));
                // No other check refuses a user.
                assert!(is_refused || status != 403, "{role} {} {code}", name(route));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_changes_the_own_password_and_no_other() {
    let stage = Stage::new().await;
    let api = InProcessApi::new(&stage.api);
    let user = Principal::Operator(log_in(&api, Role::ReadOnly).await);
    let send = async |method: &str, path: &str, body: &str| {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let request = request.body(Bytes::from(body.to_owned())).unwrap();
        api.call(user.clone(), request).await
    };
    let other = r#"{"password": "another horse battery"}"#;
    assert_eq!(send("PATCH", "/v1/users/read_only-user", other).await.status(), 403);
    let wrong = r#"{"current_password": "a guess", "password": "another horse battery"}"#;
    let refused = send("POST", "/v1/me/password", wrong).await;
    assert_eq!(refused.status(), 422);
    let refused = String::from_utf8_lossy(refused.body()).into_owned();
    assert!(refused.contains("/current_password") && !refused.contains("a guess"), "{refused}");
    let right =
        format!(r#"{{"current_password": "{PASSWORD}", "password": "another horse battery"}}"#);
    assert_eq!(send("POST", "/v1/me/password", &right).await.status(), 204);
    let from: AddressBlock = std::net::IpAddr::from([192, 0, 2, 7]).into();
    let log_in = async |password: &str| {
        api.log_in_user(from, "read_only-user", Secret::new(password.to_owned())).await.is_ok()
    };
    assert!(!log_in(PASSWORD).await);
    assert!(log_in("another horse battery").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_at_one_account_are_slowed_down_from_wherever_they_come() {
    let stage = Stage::new().await;
    let api = InProcessApi::new(&stage.api);
    log_in(&api, Role::Operator).await;
    let known: AddressBlock = std::net::IpAddr::from([192, 0, 2, 7]).into();
    let guess = async |number: u8, name: &str| {
        let from: AddressBlock = std::net::IpAddr::from([198, 51, 100, number]).into();
        api.log_in_user(from, name, Secret::new("a guess".to_owned())).await.err().unwrap()
    };
    let is_throttled = |error: &gancho_api::in_process::LoginError| {
        matches!(error, gancho_api::in_process::LoginError::Throttled(_))
    };
    let name = "operator-user";
    let all: Vec<_> =
        futures_util::future::join_all((0..60).map(|number| guess(number, name))).await;
    assert!(!all.iter().all(is_throttled));
    let more: Vec<_> =
        futures_util::future::join_all((60..200).map(|number| guess(number, name))).await;
    assert!(more.iter().any(is_throttled), "each comes from another address");
    // A user who logged in from an address before still can.
    let owner = api.log_in_user(known, name, Secret::new(PASSWORD.to_owned())).await;
    assert!(owner.is_ok());
}
