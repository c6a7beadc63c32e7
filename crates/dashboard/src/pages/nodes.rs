//! `/ui/nodes`: which processes are running, and are they alive?

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use super::list::List;
use crate::{
    display_time::DisplayTime, escape::Text, handlers::PageResult, page, params::Link,
    sentence::Sentence, shell::Shell, status_mark::StatusMark, texts::Texts, visit::Visit,
};

const PATH: &str = "/nodes";

#[derive(Deserialize)]
struct Node {
    id: i64,
    name: Text,
    state: String,
    is_self: bool,
    roles: Vec<Text>,
    version: Option<Text>,
    joined_at: DisplayTime,
    last_seen_at: DisplayTime,
    held_deliveries: u64,
    differing_settings: Vec<Text>,
}

impl Node {
    fn mark(&self) -> StatusMark {
        match self.state.as_str() {
            "alive" => StatusMark::Delivered,
            "silent" => StatusMark::Warning,
            _ => StatusMark::Failed,
        }
    }

    fn word(&self, t: &Texts) -> Sentence {
        match self.state.as_str() {
            "alive" => t.say("nodes.alive"),
            "silent" => t.say("nodes.silent"),
            _ => t.say("nodes.dead"),
        }
    }

    fn is_alive(&self) -> bool {
        self.state == "alive"
    }
}

#[derive(Template)]
#[template(path = "nodes.html")]
struct NodesPage {
    t: Texts,
    s: Shell,
    rows: Vec<Node>,
}

impl NodesPage {
    /// Returns whether everything works: some node delivers, and none is missing.
    fn lead(&self) -> Sentence {
        let alive = self.rows.iter().filter(|node| node.is_alive());
        let delivers = |node: &&Node| {
            let is_worker = |role: &Text| role.as_str() == "worker";
            node.roles.is_empty() || node.roles.iter().any(is_worker)
        };
        if !alive.clone().any(|node| delivers(&node)) {
            return self.t.say("nodes.no_worker");
        }
        self.t.count("nodes.lead", alive.count() as u64)
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let List { data: rows, .. } = visit.get_as_operator(Link::new("/v1/nodes")).await?;
    let s = Shell::new(&visit, PATH, t.say("nav.nodes")).await;
    Ok(page::show(StatusCode::OK, &NodesPage { t, s, rows }))
}
