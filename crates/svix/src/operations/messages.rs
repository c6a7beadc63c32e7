//! Messages, which are events.

use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, json};

use super::{
    endpoint_view::search,
    message_view::{EventRow, MessageOut, event, no_content},
};
use crate::{
    page::{List, ListOut, Paging},
    query::Query,
    svix_error::{Names, SvixError},
    visit::{AppContext, Reply, Visit, segment},
};

/// Maximum concurrent calls of the API for a page.
pub const CONCURRENCY: usize = 8;

/// The filters that lists of messages and attempts share.
pub struct MessageFilter {
    pub event_types: Vec<String>,
    before: Option<String>,
    after: Option<String>,
}

impl MessageFilter {
    pub fn read(query: &mut Query) -> Self {
        query.refuse("channel", "channels are not supported");
        query.refuse("tag", "tags are not supported");
        let (before, after) = (query.time("before"), query.time("after"));
        Self { event_types: query.list("event_types"), before, after }
    }

    /// Returns the parameters for the same list of the API, which takes one event type.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if let [one] = &self.event_types[..] {
            all.push(("event_type", one.clone()));
        }
        all.extend(self.after.clone().map(|time| ("since", time)));
        all.extend(self.before.clone().map(|time| ("until", time)));
        all
    }

    pub fn wants(&self, event_type: &str) -> bool {
        self.event_types.is_empty() || self.event_types.iter().any(|one| one == event_type)
    }
}

pub async fn list(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    let filter = MessageFilter::read(&mut query);
    let with_content = query.flag("with_content").unwrap_or(true);
    query.finish()?;
    let app = visit.app().await?;
    let mut parameters = paging.parameters();
    parameters.extend(filter.parameters());
    let call = visit.call(&app, Method::GET, "/v1/events").query(&parameters);
    let found: List<EventRow> = call.run().await?;
    let rows = found.data.into_iter().filter(|row| filter.wants(&row.r#type)).collect();
    let data = with_payloads(&visit, &app, rows, with_content).await?;
    Reply::ok(&ListOut::new(data, found.next_cursor))
}

async fn with_payloads(
    visit: &Visit,
    app: &AppContext,
    rows: Vec<EventRow>,
    with_content: bool,
) -> Result<Vec<MessageOut>, SvixError> {
    if !with_content {
        return Ok(rows.into_iter().map(|row| MessageOut::new(row, no_content())).collect());
    }
    let messages = rows.into_iter().map(|row| async move {
        let whole = event(visit, app, &row.id).await?;
        Ok(MessageOut::new(whole.row, whole.data))
    });
    stream::iter(messages).buffered(CONCURRENCY).try_collect().await
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let with_content = query.flag("with_content").unwrap_or(true);
    query.finish()?;
    let app = visit.app().await?;
    let found = event(&visit, &app, &visit.message_id(&app).await?).await?;
    let payload = if with_content { found.data } else { no_content() };
    Reply::ok(&MessageOut::new(found.row, payload))
}

pub async fn get_raw(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let found = event(&visit, &app, &visit.message_id(&app).await?).await?;
    Reply::ok(&json!({"payload": found.data.get()}))
}

/// Whether a message of this type would go to any endpoint.
pub async fn precheck(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let event_type: Option<String> = fields.require("eventType");
    fields.refuse("channels", "channels are not supported");
    fields.finish()?;
    let app = visit.app().await?;
    let event_type = event_type.unwrap_or_default();
    let wants = |pattern: &String| {
        pattern.parse().is_ok_and(|pattern: gancho_domain::Pattern| pattern.matches(&event_type))
    };
    let found =
        search(&visit, &app, |webhook| webhook.is_active && webhook.events.iter().any(wants));
    Reply::ok(&json!({"active": found.await?.is_some()}))
}

/// Sends the example of an event type to an endpoint.
pub async fn send_example(visit: Visit) -> Result<Reply, SvixError> {
    const NAMES: Names = &[("event_type", "eventType")];
    #[derive(Deserialize)]
    struct Outcome {
        event_id: String,
    }
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let event_type: Option<String> = fields.require("eventType");
    fields.refuse("payload", "the example of the event type is sent: publish a message instead");
    if fields.take::<u32>("exampleIndex").is_some_and(|index| index > 0) {
        fields.invalid("exampleIndex", "an event type has one example");
    }
    fields.finish()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    let mut body = Map::new();
    body.insert("event_type".to_owned(), json!(event_type));
    let path = format!("/v1/webhooks/{}/test", segment(&id));
    let call = visit.call(&app, Method::POST, path).names(NAMES).json(&body)?;
    let outcome: Outcome = call.run().await?;
    let sent = event(&visit, &app, &outcome.event_id).await?;
    Reply::of(StatusCode::ACCEPTED, &MessageOut::new(sent.row, sent.data))
}
