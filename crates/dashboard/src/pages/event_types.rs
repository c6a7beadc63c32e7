//! `/ui/event-types`: which types can one subscribe to?

use askama::Template;
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::list::List;
use crate::{
    escape::Text, handlers::PageResult, json, page, params::Link, sentence::Html, shell::Shell,
    texts::Texts, visit::Visit,
};

pub const PATH: &str = "/event-types";

#[derive(Deserialize)]
struct EventType {
    name: Text,
    description: Text,
    example: Box<RawValue>,
    schema: Option<Box<RawValue>>,
    catalog: Text,
    is_archived: bool,
}

#[derive(Template)]
#[template(path = "event_types.html")]
struct EventTypesPage {
    t: Texts,
    s: Shell,
    rows: Vec<EventType>,
    chosen: Option<usize>,
}

impl EventTypesPage {
    fn chosen_type(&self) -> Option<&EventType> {
        self.rows.get(self.chosen?)
    }

    fn is_chosen(&self, row: &EventType) -> bool {
        self.chosen_type().is_some_and(|shown| shown.name == row.name)
    }
}

impl EventType {
    fn example(&self) -> Html {
        json::pretty(&self.example)
    }

    fn schema(&self) -> Option<Html> {
        self.schema.as_deref().map(json::pretty)
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let List { data: rows, .. } =
        visit.get::<List<EventType>>(Link::new("/v1/webhooks/events")).await?;
    let name = visit.params.get("type").map(Text::from);
    let named = name.and_then(|name| rows.iter().position(|row| row.name == name));
    let template = EventTypesPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.event_types")).await,
        chosen: named.or(if rows.is_empty() { None } else { Some(0) }),
        rows,
    };
    Ok(page::show(StatusCode::OK, &template))
}
