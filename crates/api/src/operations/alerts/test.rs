//! `POST /v1/alerts/test`: sends a test message to every channel.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, service};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::words,
    route::{Call, Gives, Needs, PEER_TIMEOUT, Route},
};

/// Outcome of a test alert.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertTest {
    /// One entry for each configured channel; empty if no channel is configured.
    pub channels: Vec<AlertChannelTest>,
}

/// Outcome of a test alert on one channel.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlertChannelTest {
    /// Channel that the test alert was sent to.
    #[schema(value_type = words::NoticeChannel)]
    pub channel: &'static str,
    /// Whether the channel accepted the test alert.
    pub is_sent: bool,
    /// Why the test alert could not be sent; null if it was sent.
    pub error: Option<String>,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/alerts/test",
    operation_id: "testAlerts",
    needs: Needs::Operator,
    gives: Gives::ok::<AlertTest>("The outcome for each channel."),
    refuses: &[&codes::ALERTS_OFF],
    tag: TAG,
    summary: "Send a test alert",
    about: "Sends a message to `notify_url`, `notify_slack_url` and `notify_emails`, as far as they are set.",
    timeout: PEER_TIMEOUT,
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tested = service(&call.api)?.test().await;
    let channels = tested.into_iter().map(|(channel, outcome)| AlertChannelTest {
        channel,
        is_sent: outcome.is_ok(),
        error: outcome.err(),
    });
    Answer::ok(&AlertTest { channels: channels.collect() })
}
