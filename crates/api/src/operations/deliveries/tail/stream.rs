//! The body of a tail. It ends when the caller goes away, when its credential is no longer valid, and when the gateway
//! stops.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, stream};
use gancho_engine::{DeliveryChange, Tail, TailBatch};
use tokio::time::{Instant, sleep_until};

use super::{
    super::{view::Delivery, waiting_for::WaitContext},
    event::{DeliveryEvent, EventText},
};
use crate::{auth::Credential, caller_slots::CallerSlot, codes, state::Api};

/// Time between two pieces of the body, so that a flood costs a bounded number of wake-ups.
const PACE: Duration = Duration::from_millis(50);
/// Maximum events in a piece.
const MAX_BATCH: usize = 256;
/// How often the credential is checked.
const CHECK: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub struct TailStream {
    api: Api,
    tail: Tail,
    /// Held as long as the stream.
    _slot: CallerSlot,
    /// `None` for a caller in this process, who checks by itself.
    credential: Option<Credential>,
    /// The operator watches all tenants.
    names_tenants: bool,
    sent_at: Instant,
    check_at: Instant,
    step: Step,
}

enum Step {
    Open,
    Follow,
    End,
}

enum Wake {
    Stopping,
    Batch(TailBatch),
    Check,
}

impl TailStream {
    pub fn new(
        api: Api,
        tail: Tail,
        slot: CallerSlot,
        credential: Option<Credential>,
        names_tenants: bool,
    ) -> Self {
        let now = Instant::now();
        Self {
            api,
            tail,
            _slot: slot,
            credential,
            names_tenants,
            sent_at: now,
            check_at: now + CHECK,
            step: Step::Open,
        }
    }

    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut this| async move {
            let text = this.next().await?;
            Some((Ok(text.into_bytes()), this))
        })
    }

    async fn next(&mut self) -> Option<EventText> {
        match self.step {
            Step::Open => {
                self.step = Step::Follow;
                return Some(EventText::opening());
            }
            Step::Follow => {}
            Step::End => return None,
        }
        loop {
            let text = match self.wake().await {
                Wake::Stopping => Some(self.end(&codes::UNAVAILABLE)),
                Wake::Batch(batch) => Some(self.render(batch).await),
                Wake::Check => self.check().await,
            };
            if text.is_some() {
                self.sent_at = Instant::now();
                return text;
            }
        }
    }

    async fn wake(&self) -> Wake {
        let closing = self.api.tails.closing();
        let next = async {
            sleep_until(self.sent_at + PACE).await;
            self.tail.next(MAX_BATCH).await
        };
        tokio::select! {
            biased;
            () = closing.cancelled() => Wake::Stopping,
            // Before the batch: a flood must not keep a revoked key watching.
            () = sleep_until(self.check_at) => Wake::Check,
            batch = next => Wake::Batch(batch),
        }
    }

    async fn check(&mut self) -> Option<EventText> {
        self.check_at = Instant::now() + CHECK;
        if let Some(credential) = &self.credential
            && !credential.is_valid(&self.api).await
        {
            return Some(self.end(&codes::INVALID_CREDENTIALS));
        }
        (self.sent_at.elapsed() + CHECK > KEEP_ALIVE).then(EventText::keep_alive)
    }

    fn end(&mut self, code: &codes::Code) -> EventText {
        self.step = Step::End;
        EventText::end(code)
    }

    async fn render(&mut self, batch: TailBatch) -> EventText {
        let context = WaitContext::new(&self.api);
        let mut text = EventText::default();
        if batch.missed > 0 {
            text.missed(batch.missed);
        }
        for change in batch.changes {
            let delivery = self.delivery(&context, &change).await;
            text.delivery(&DeliveryEvent::new(&change, delivery));
        }
        text
    }

    async fn delivery(&self, context: &WaitContext, change: &Arc<DeliveryChange>) -> Delivery {
        let waiting_for = context.on(&self.api, change.tenant, &change.row);
        let delivery = Delivery::from(change.row.clone()).waiting(waiting_for);
        if !self.names_tenants {
            return delivery;
        }
        let tenant = self.api.access.tenants.get(change.tenant).await;
        match tenant.ok().flatten() {
            Some(tenant) => delivery.of_tenant(&tenant),
            None => delivery,
        }
    }
}
