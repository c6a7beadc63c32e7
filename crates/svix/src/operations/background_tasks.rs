//! Background tasks, which are replays.

use gancho_access::Principal;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    page::{List, ListOut, Paging},
    svix_error::SvixError,
    visit::{Reply, Visit, segment},
};

pub const RECOVER: &str = "endpoint.recover";
pub const REPLAY: &str = "endpoint.replay";
pub const BULK_REPLAY: &str = "endpoint.bulk-replay";

#[derive(Debug, Deserialize)]
pub struct ReplayRow {
    id: String,
    tenant_id: Option<String>,
    state: String,
    of: String,
    to: Option<String>,
    total: u64,
    done: u64,
    skipped: u64,
    failed: u64,
    error: Option<String>,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
}

impl ReplayRow {
    fn status(&self) -> &'static str {
        match self.state.as_str() {
            "pending" | "running" => "running",
            "done" => "finished",
            _ => "failed",
        }
    }

    /// Returns the kind of task. A replay does not store which call of Svix started it, only what it sends.
    fn kind(&self) -> &'static str {
        if self.of == "events" { REPLAY } else { RECOVER }
    }

    /// Sets the endpoint, because a replay of deliveries does not store it.
    pub fn of_endpoint(self, id: String) -> Self {
        Self { to: Some(id), ..self }
    }

    pub fn task(&self, kind: Option<&'static str>) -> Value {
        // A replay is found by its tenant and its id, so the id of a task contains both.
        let tenant = self.tenant_id.as_deref().unwrap_or_default();
        let at = self.finished_at.as_ref().or(self.started_at.as_ref());
        json!({
            "id": format!("{}-{tenant}", self.id),
            "status": self.status(),
            "task": kind.unwrap_or_else(|| self.kind()),
            "updatedAt": at.unwrap_or(&self.created_at),
            "data": {
                "appId": self.tenant_id,
                "endpointId": self.to,
                "messagesTotal": self.total,
                "messagesSent": self.done,
                "messagesSkipped": self.skipped,
                "messagesFailed": self.failed,
                "error": self.error,
            },
        })
    }
}

pub async fn list(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    query.only_order("descending");
    let (status, kind) = (query.text("status"), query.text("task"));
    query.finish()?;
    if matches!(visit.caller, Principal::Operator(_)) {
        let why = "tasks belong to an application: list them with a key of its tenant, or get one by its id";
        return Err(SvixError::unsupported(why));
    }
    let call = visit.call_as(visit.caller.clone(), Method::GET, "/v1/replays");
    let found: List<ReplayRow> = call.query(&paging.parameters()).run().await?;
    let wanted = found.data.iter().filter(|row| {
        status.as_deref().is_none_or(|status| status == row.status())
            && kind.as_deref().is_none_or(|kind| kind == row.kind())
    });
    Reply::ok(&ListOut::new(wanted.map(|row| row.task(None)).collect(), found.next_cursor))
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let not_found = || SvixError::not_found("background task");
    let (replay, tenant) = visit.param("task_id").rsplit_once('-').ok_or_else(not_found)?;
    let app = visit.find_app(tenant).await?.ok_or_else(not_found)?;
    let path = format!("/v1/replays/{}", segment(replay));
    let found: ReplayRow = visit.call(&app, Method::GET, path).run().await?;
    Reply::ok(&found.task(None))
}
