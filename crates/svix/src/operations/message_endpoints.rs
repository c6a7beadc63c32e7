//! The messages that were sent to an endpoint, and the endpoints that a message was sent to.

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Serialize;

use super::{
    attempt_view::{Delivery, FAIL, SUCCESS, status_text},
    attempts::webhooks_of,
    endpoint_view::EndpointOut,
    message_view::{EventRow, MessageOut, event, no_content},
    messages::{CONCURRENCY, MessageFilter},
};
use crate::{
    page::{List, ListOut, Paging},
    svix_error::SvixError,
    visit::{Reply, Visit},
};

/// The state of a delivery.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusOut {
    status: u8,
    status_text: &'static str,
    next_attempt: Option<String>,
}

#[derive(Debug, Serialize)]
struct EndpointMessageOut {
    #[serde(flatten)]
    standing: StatusOut,
    #[serde(flatten)]
    message: MessageOut,
}

#[derive(Debug, Serialize)]
struct MessageEndpointOut {
    #[serde(flatten)]
    standing: StatusOut,
    #[serde(flatten)]
    endpoint: EndpointOut,
}

impl From<&Delivery> for StatusOut {
    fn from(delivery: &Delivery) -> Self {
        let status = delivery.svix_status();
        let next_attempt = delivery.next_retry_at.clone();
        Self { status, status_text: status_text(status), next_attempt }
    }
}

pub async fn messages(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    let filter = MessageFilter::read(&mut query);
    let status = query.number("status");
    let with_content = query.flag("with_content").unwrap_or(true);
    query.flag("expanded_statuses");
    query.finish()?;
    let app = visit.app().await?;
    let mut parameters = paging.parameters();
    parameters.extend(filter.parameters());
    parameters.push(("webhook_id", visit.endpoint(&app).await?.id));
    match status.and_then(|status| u8::try_from(status).ok()) {
        Some(SUCCESS) => parameters.push(("status", "delivered".to_owned())),
        Some(FAIL) => parameters.push(("status", "failed".to_owned())),
        _ => {}
    }
    let call = visit.call(&app, Method::GET, "/v1/deliveries").query(&parameters);
    let found: List<Delivery> = call.run().await?;
    let wanted = found.data.into_iter().filter(|delivery| {
        filter.wants(&delivery.event_type)
            && status.is_none_or(|status| status == u32::from(delivery.svix_status()))
    });
    let (visit, app) = (&visit, &app);
    let shown = wanted.map(|delivery| async move {
        let standing = StatusOut::from(&delivery);
        let message = if with_content {
            let whole = event(visit, app, &delivery.event_id).await?;
            MessageOut::new(whole.row, whole.data)
        } else {
            let row = EventRow {
                id: delivery.event_id,
                r#type: delivery.event_type,
                external_id: delivery.external_id,
                created_at: delivery.created_at,
            };
            MessageOut::new(row, no_content())
        };
        Ok::<_, SvixError>(EndpointMessageOut { standing, message })
    });
    let data: Vec<_> = stream::iter(shown).buffered(CONCURRENCY).try_collect().await?;
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

pub async fn destinations(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    query.finish()?;
    let app = visit.app().await?;
    let id = visit.message_id(&app).await?;
    event(&visit, &app, &id).await?;
    let mut parameters = paging.parameters();
    parameters.push(("event_id", id));
    let call = visit.call(&app, Method::GET, "/v1/deliveries").query(&parameters);
    let found: List<Delivery> = call.run().await?;
    let webhooks = webhooks_of(&visit, &app, &found.data).await?;
    // A deleted endpoint is not listed.
    let shown = found.data.iter().filter_map(|delivery| {
        let endpoint = EndpointOut::from(webhooks.get(&delivery.webhook_id)?.clone());
        Some(MessageEndpointOut { standing: StatusOut::from(delivery), endpoint })
    });
    Reply::ok(&ListOut::new(shown.collect(), found.next_cursor))
}
