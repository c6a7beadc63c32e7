//! Answers messages other than notifications: confirms a subscription by fetching the URL that SNS sent, and
//! only logs the end of one. Stores neither.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Rate, Time};

use super::{Sns, VerifiedSnsMessage, message::MessageType, refused, verification_unavailable};
use crate::{
    Partner,
    outcome::{Reason, ReceiveError, Reply},
};

/// SNS itself waits 15 s for the response.
const DEADLINE: Duration = Duration::from_secs(10);
const MAX_LENGTH: usize = 4 * 1024;
/// Maximum confirmations, because anyone who saw one could send it again and again.
const MAX_COUNT: Rate = Rate { count: 20, per: Duration::from_mins(1) };
const DONE: Reply = Reply { content_type: "text/plain; charset=utf-8", body: Bytes::new() };

impl Sns {
    /// Answers a message; `None` if it is a notification.
    pub(crate) async fn answer(
        &self,
        message: &VerifiedSnsMessage,
        partner: &Partner,
        now: Time,
    ) -> Option<Result<Reply, ReceiveError>> {
        match message.kind {
            MessageType::Notification => None,
            MessageType::SubscriptionConfirmation => {
                Some(self.confirm(message, partner, now).await)
            }
            MessageType::UnsubscribeConfirmation => {
                tracing::warn!(%partner, topic = message.topic, "SNS subscription ended");
                Some(Ok(DONE))
            }
        }
    }

    /// Confirms a subscription. If it fails, the response makes SNS retry.
    async fn confirm(
        &self,
        message: &VerifiedSnsMessage,
        partner: &Partner,
        now: Time,
    ) -> Result<Reply, ReceiveError> {
        let topic = &message.topic;
        let url = message.subscribe_url.as_deref().unwrap_or_default();
        let url = self
            .hosts
            .confirmation(url)
            .map_err(|why| refused(Reason::Confirmation, format!("SubscribeURL: {why}")))?;
        if !self.may_confirm(now) {
            let why = "too many subscriptions confirmed in the last minute";
            return Err(verification_unavailable(Reason::Confirmation, why));
        }
        let why = match self.client.get(&url, DEADLINE, MAX_LENGTH).await.answer {
            Ok(answer) if (200..300).contains(&answer.status) => {
                tracing::info!(%partner, topic, "SNS subscription confirmed");
                return Ok(DONE);
            }
            Ok(answer) => format!("SNS responded with {}", answer.status),
            Err(none) => none.failure.reason().to_owned(),
        };
        tracing::warn!(%partner, topic, reason = why, "could not confirm an SNS subscription");
        Err(verification_unavailable(
            Reason::Confirmation,
            format!("could not confirm the subscription: {why}"),
        ))
    }

    fn may_confirm(&self, now: Time) -> bool {
        let mut used = self.confirmations.lock();
        let is_free = used.free_at(MAX_COUNT, now) <= now;
        if is_free {
            used.take(MAX_COUNT, now);
        }
        is_free
    }
}
