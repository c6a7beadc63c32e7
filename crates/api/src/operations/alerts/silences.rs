//! Silences: `GET` and `POST /v1/alerts/silences`, `DELETE /v1/alerts/silences/{silence_id}`.

use std::time::Duration;

use gancho_alerts::{NewSilence, Rule, SilenceId};
use http::Method;

use super::{TAG, service, view::SilenceView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route, Takes},
};

const MAX_LENGTH: Duration = Duration::from_hours(90 * 24);

request! {
    struct SilenceBody {
        /// Rule to silence. Default: every rule.
        nullable rule: Rule as choice(Rule::NAMES),
        /// Subject to silence, as in the `subject` of an alert. Default: every subject.
        nullable subject: String as text(1, 200),
        /// How long the silence lasts, e.g. `2h`; at most 90 days.
        required duration: Duration as span(),
        /// Why the alerts are silenced, for other people to read.
        nullable comment: String as text(0, 500),
    }
}

pub const LIST: Route = Route {
    path: "/alerts/silences",
    operation_id: "listAlertSilences",
    needs: Needs::Operator,
    gives: Gives::ok::<List<SilenceView>>("All silences in force."),
    refuses: &[&codes::ALERTS_OFF],
    tag: TAG,
    summary: "List silences",
    run: |call| Box::pin(list(call)),
    ..Route::DEFAULT
};

pub const CREATE: Route = Route {
    method: Method::POST,
    path: "/alerts/silences",
    operation_id: "createAlertSilence",
    needs: Needs::Operator,
    takes: Takes::Body(SilenceBody::FIELDS),
    gives: Gives::created::<SilenceView>("The silence."),
    refuses: &[&codes::ALERTS_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Silence alerts",
    about: "Silenced alerts are evaluated and recorded, but not sent.",
    run: |call| Box::pin(create(call)),
    ..Route::DEFAULT
};

pub const DELETE: Route = Route {
    method: Method::DELETE,
    path: "/alerts/silences/{silence_id}",
    operation_id: "deleteAlertSilence",
    needs: Needs::Operator,
    gives: Gives::no_content("The silence has ended."),
    refuses: &[&codes::ALERTS_OFF],
    tag: TAG,
    summary: "End a silence",
    run: |call| Box::pin(delete(call)),
    ..Route::DEFAULT
};

async fn list(call: Call) -> Result<Answer, Problem> {
    let silences = service(&call.api)?.silences().await?;
    let data = silences.into_iter().map(SilenceView::from).collect();
    Answer::ok(&List { data, next_cursor: None })
}

async fn create(call: Call) -> Result<Answer, Problem> {
    let body: SilenceBody = call.parse_body()?;
    if body.duration.is_zero() || body.duration > MAX_LENGTH {
        let text = "`duration` must be longer than 0s and at most 90 days";
        return Err(Problem::field("/duration", text));
    }
    let by = call.operator()?.user().unwrap_or("operator").to_owned();
    let new = NewSilence {
        rule: body.rule,
        subject: body.subject,
        until: call.api.clock.now() + body.duration,
        comment: body.comment.unwrap_or_default(),
        by,
    };
    match service(&call.api)?.silence(new).await? {
        Some(silence) => Answer::created(&SilenceView::from(silence)),
        None => Err(Problem::field("/rule", "there are too many silences; end some of them first")),
    }
}

async fn delete(call: Call) -> Result<Answer, Problem> {
    let id: SilenceId = call.id("silence_id")?;
    if service(&call.api)?.remove_silence(id).await? {
        Ok(Answer::no_content())
    } else {
        Err(Problem::not_found(ResourceKind::Silence))
    }
}
