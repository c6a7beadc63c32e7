//! The actions of the keys in `dev`. The feed shows their results.

use serde_json::json;

use super::{
    screen,
    stage::{PARTNER, Stage},
};
use crate::{
    receiver::Mode,
    remote::{Remote, RemoteError},
};

/// Runs the action of a key. Returns false if the key has none.
pub async fn answer(stage: &Stage, key: char) -> anyhow::Result<bool> {
    match key {
        'p' => publish(stage).await?,
        'f' => {
            stage.receiver.control().set(Mode::Fail, Some(1));
            publish(stage).await?;
        }
        'w' => {
            let body = json!({ "partner": PARTNER });
            print_refusal(
                Remote::open_to_all(stage.ingest).post("/webhooks/_simulate", &body).await,
            );
        }
        'e' => print_refusal(send_email(stage).await),
        'd' => set(stage, Mode::Fail),
        's' => set(stage, Mode::Slow),
        'o' => set(stage, Mode::Ok),
        'i' => screen::figures(stage),
        'l' => screen::login_link(stage.new_login_link().await.as_deref()),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Publishes a sample event.
pub async fn publish(stage: &Stage) -> anyhow::Result<()> {
    let number = stage.next_number();
    let data = json!({ "user_id": format!("u_{number}"), "email": "ana@example.com" });
    stage.publish("user.created", &data).await
}

async fn send_email(stage: &Stage) -> Result<serde_json::Value, RemoteError> {
    let email = json!({
        "from": "shop@example.com",
        "to": "ana@example.com",
        "subject": format!("Order {} is on its way", stage.next_number()),
        "text": "Hello Ana, your order has been shipped.",
    });
    let tenant = Remote::at(stage.servers.address, stage.api_key.clone());
    tenant.post("/v1/email/send", &email).await
}

fn set(stage: &Stage, mode: Mode) {
    stage.receiver.control().set(mode, None);
    screen::mode(mode);
}

/// Prints a refusal. The session continues.
fn print_refusal(answer: Result<serde_json::Value, RemoteError>) {
    if let Err(error) = answer {
        screen::refused(&error);
    }
}
