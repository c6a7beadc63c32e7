//! Replays the selected dead letters of a page, to their own endpoints or to another.

use serde_json::{Value, json};

use super::{PATH, filter::Filter, purge::selected};
use crate::{
    flashes::FlashKind,
    handlers::PageResult,
    params::{Link, segment},
    sentence::Html,
    submission::Submission,
};

pub async fn replay(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let t = visit.t;
    let back = Filter::read(&visit.params).link(&visit, PATH);
    let ids = selected(&form);
    if ids.is_empty() {
        visit.leave(FlashKind::Error, t.say("dead.none_selected"));
        return Ok(crate::page::see_other(&back.to_string()));
    }
    let to = form.get("to");
    let (mut sent, mut refused) = (0, None);
    for id in &ids {
        let link = Link::new(format!("/v1/dlq/{}/replay", segment(id)));
        let body = to.map_or_else(|| json!({}), |to| json!({"to": to}));
        match visit.post::<Value>(link, body).await {
            Ok(_) => sent += 1,
            // Someone else was faster.
            Err(problem) if problem.is_not_found() && to.is_none() => {}
            Err(problem) if problem.is_input() || problem.is_not_found() => refused = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    if let Some(problem) = refused {
        visit.leave(FlashKind::Error, Html::text(&problem.detail));
        return Ok(crate::page::see_other(&back.to_string()));
    }
    Ok(visit.done(&back, t.count("dead.sent", sent)))
}
