//! Attempts, by endpoint and by message.

use std::collections::{BTreeMap, HashMap};

use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, StatusCode};
use serde_json::json;

use super::{
    attempt_view::{Attempt, AttemptOut, Delivery, detail, read_attempt_id},
    endpoint_view::{self, Webhook},
    message_view::{MessageOut, event, no_content},
    messages::{CONCURRENCY, MessageFilter},
};
use crate::{
    page::{List, ListOut, Paging},
    query::Query,
    svix_error::SvixError,
    visit::{AppContext, Reply, Visit, segment},
};

/// The requested attempts.
struct AttemptFilter {
    status: Option<u32>,
    class: Option<u32>,
    messages: MessageFilter,
}

impl AttemptFilter {
    fn read(query: &mut Query) -> Self {
        // The finer statuses are those of attempts in flight, which the gateway does not list.
        query.flag("expanded_statuses");
        Self {
            status: query.number("status"),
            class: query.number("status_code_class"),
            messages: MessageFilter::read(query),
        }
    }

    fn wants(&self, attempt: &Attempt) -> bool {
        let class = u32::from(attempt.response_status.unwrap_or(0)) / 100 * 100;
        self.status.is_none_or(|status| status == u32::from(attempt.status()))
            && self.class.is_none_or(|wanted| wanted == class)
    }
}

/// Returns a page of deliveries with at most the requested number of attempts, or one delivery.
async fn deliveries(
    visit: &Visit,
    app: &AppContext,
    paging: &Paging,
    filter: &[(&'static str, String)],
) -> Result<List<Delivery>, SvixError> {
    let call = |limit: u32| {
        let paging = Paging { limit, ..paging.clone() };
        let mut parameters = paging.parameters();
        parameters.extend_from_slice(filter);
        visit.call(app, Method::GET, "/v1/deliveries").query(&parameters).run::<List<Delivery>>()
    };
    let found = call(paging.limit).await?;
    let (mut attempts, mut fitting) = (0, 0);
    for delivery in &found.data {
        attempts += delivery.attempts;
        if fitting > 0 && attempts > paging.limit {
            break;
        }
        fitting += 1;
    }
    if fitting == found.data.len() {
        return Ok(found);
    }
    // A shorter page, so that its cursor is at the end of the attempts.
    call(u32::try_from(fitting).unwrap_or(1).max(1)).await
}

pub async fn list_by_endpoint(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    let filter = AttemptFilter::read(&mut query);
    let with_content = query.flag("with_content").unwrap_or(true);
    let with_msg = query.flag("with_msg").unwrap_or(false);
    query.finish()?;
    let app = visit.app().await?;
    let webhook = visit.endpoint(&app).await?;
    let mut parameters = filter.messages.parameters();
    parameters.push(("webhook_id", webhook.id.clone()));
    let found = deliveries(&visit, &app, &paging, &parameters).await?;
    let urls = HashMap::from([(webhook.id, webhook.url)]);
    let mut data = attempts(&visit, &app, found.data, &filter, &urls).await?;
    if with_msg {
        add_messages(&visit, &app, &mut data, with_content).await?;
    }
    hide_content(&mut data, with_content);
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

pub async fn list_by_message(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    let filter = AttemptFilter::read(&mut query);
    let with_content = query.flag("with_content").unwrap_or(true);
    let endpoint = query.text("endpoint_id");
    query.finish()?;
    let app = visit.app().await?;
    let id = visit.message_id(&app).await?;
    // A message that does not exist has no list.
    event(&visit, &app, &id).await?;
    let mut parameters = filter.messages.parameters();
    parameters.push(("event_id", id));
    if let Some(name) = endpoint {
        let found = endpoint_view::find(&visit, &app, &name).await?;
        let webhook = found.ok_or_else(|| SvixError::not_found("endpoint"))?;
        parameters.push(("webhook_id", webhook.id));
    }
    let found = deliveries(&visit, &app, &paging, &parameters).await?;
    let urls = urls_of(&visit, &app, &found.data).await?;
    let mut data = attempts(&visit, &app, found.data, &filter, &urls).await?;
    hide_content(&mut data, with_content);
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

fn hide_content(attempts: &mut [AttemptOut], with_content: bool) {
    if !with_content {
        for attempt in attempts {
            attempt.response.clear();
        }
    }
}

async fn attempts(
    visit: &Visit,
    app: &AppContext,
    deliveries: Vec<Delivery>,
    filter: &AttemptFilter,
    urls: &HashMap<String, String>,
) -> Result<Vec<AttemptOut>, SvixError> {
    let tried = deliveries.into_iter().filter(|one| one.attempts > 0);
    let wanted = tried.filter(|one| filter.messages.wants(&one.event_type));
    let details = wanted.map(|delivery| async move {
        let detail = detail(visit, app, &delivery.id).await?;
        Ok::<_, SvixError>((delivery, detail))
    });
    let found: Vec<_> = stream::iter(details).buffered(CONCURRENCY).try_collect().await?;
    let mut all = Vec::new();
    for (delivery, detail) in found {
        let url = urls.get(&delivery.webhook_id).map_or("", String::as_str);
        let newest_first = detail.attempt_log.into_iter().rev();
        let wanted = newest_first.filter(|attempt| filter.wants(attempt));
        all.extend(wanted.map(|attempt| {
            attempt.into_out(&delivery.id, &delivery.event_id, &delivery.webhook_id, url)
        }));
    }
    Ok(all)
}

/// Returns the URLs of the endpoints of deliveries; a deleted one has none.
pub async fn urls_of(
    visit: &Visit,
    app: &AppContext,
    deliveries: &[Delivery],
) -> Result<HashMap<String, String>, SvixError> {
    let webhooks = webhooks_of(visit, app, deliveries).await?;
    Ok(webhooks.into_iter().map(|(id, webhook)| (id, webhook.url)).collect())
}

/// Returns the endpoints of deliveries that still exist.
pub async fn webhooks_of(
    visit: &Visit,
    app: &AppContext,
    deliveries: &[Delivery],
) -> Result<BTreeMap<String, Webhook>, SvixError> {
    let ids: std::collections::BTreeSet<_> =
        deliveries.iter().map(|delivery| delivery.webhook_id.clone()).collect();
    let asked = ids.into_iter().map(|id| async move {
        let path = format!("/v1/webhooks/{}", segment(&id));
        match visit.call(app, Method::GET, path).run::<Webhook>().await {
            Ok(webhook) => Ok(Some((id, webhook))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    });
    let found: Vec<_> = stream::iter(asked).buffered(CONCURRENCY).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn add_messages(
    visit: &Visit,
    app: &AppContext,
    attempts: &mut [AttemptOut],
    with_content: bool,
) -> Result<(), SvixError> {
    let mut messages = HashMap::<String, MessageOut>::new();
    for attempt in attempts {
        if !messages.contains_key(&attempt.msg_id) {
            let found = event(visit, app, &attempt.msg_id).await?;
            let payload = if with_content { found.data } else { no_content() };
            messages.insert(attempt.msg_id.clone(), MessageOut::new(found.row, payload));
        }
        attempt.msg = messages.get(&attempt.msg_id).cloned();
    }
    Ok(())
}

/// Finds the attempt in the path, of the message in the path.
async fn find(
    visit: &Visit,
    app: &AppContext,
) -> Result<(String, String, String, Attempt), SvixError> {
    let not_found = || SvixError::not_found("attempt");
    let message = visit.message_id(app).await?;
    let (delivery, number) = read_attempt_id(visit.param("attempt_id")).ok_or_else(not_found)?;
    let found = detail(visit, app, delivery).await?;
    let (Some(webhook), Some(event)) = (found.webhook_id, found.event_id) else {
        return Err(not_found());
    };
    let attempt = found.attempt_log.into_iter().find(|attempt| attempt.attempt == number);
    match attempt {
        Some(attempt) if event == message => Ok((delivery.to_owned(), event, webhook, attempt)),
        _ => Err(not_found()),
    }
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    query.flag("expanded_statuses");
    query.finish()?;
    let app = visit.app().await?;
    let (delivery, message, webhook, attempt) = find(&visit, &app).await?;
    let found = endpoint_view::find(&visit, &app, &webhook).await?;
    let url = found.map(|webhook| webhook.url).unwrap_or_default();
    Reply::ok(&attempt.into_out(&delivery, &message, &webhook, &url))
}

pub async fn get_headers(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let (.., attempt) = find(&visit, &app).await?;
    let received: Vec<_> = attempt.response_headers.into_iter().collect();
    Reply::ok(&json!({
        "sentHeaders": attempt.request_headers,
        "responseHeaders": received,
        "sensitive": [],
    }))
}

/// Sends a message to an endpoint again, or for the first time.
pub async fn resend(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let message = visit.message_id(&app).await?;
    let webhook = visit.endpoint(&app).await?;
    // A message that does not exist is not sent.
    event(&visit, &app, &message).await?;
    let query = [("event_id", message.as_str()), ("limit", "1")];
    let path = format!("/v1/webhooks/{}/deliveries", segment(&webhook.id));
    let found: List<Delivery> = visit.call(&app, Method::GET, path).query(&query).run().await?;
    if let Some(delivery) = found.data.first() {
        let path = format!("/v1/deliveries/{}/retry", segment(&delivery.id));
        visit.call(&app, Method::POST, path).done().await?;
    } else {
        let body = json!({"of": "events", "to": webhook.id, "filter": {"event_ids": [message]}});
        visit.call(&app, Method::POST, "/v1/replays").json(&body)?.done().await?;
    }
    Reply::of(StatusCode::ACCEPTED, &json!({}))
}
