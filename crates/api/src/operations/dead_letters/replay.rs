//! `POST /v1/dlq/{letter_id}/replay` and `POST /v1/dlq/replay`: sends dead letters again. An entry is
//! removed when its delivery succeeds.

use gancho_access::Right;
use gancho_domain::{EndpointId, Lane};
use gancho_outbound::replay::{NewReplay, ReplayFilter, ReplayItems};
use gancho_store::{DeadFilter, DeadLetter};
use http::Method;

use super::{
    TAG,
    filter::{self, DeadLetterFilter},
    find,
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    operations::{
        replays::{create::ReplayOptions, view::ReplayJob},
        sources,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct ReplayDeadLettersBody {
        flatten filter: DeadLetterFilter,
        flatten options: ReplayOptions,
        /// Id of another webhook of the same tenant to send to, instead of the original one. Only dead letters of the
        /// lane `webhook` go there, and each is removed once its new delivery is stored.
        optional to: String as id(ResourceKind::Webhook),
    }
}

request! {
    struct ReplayDeadLetterBody {
        /// Id of another webhook of the same tenant to send to, instead of the original one. The dead letter is removed
        /// once the new delivery is stored.
        optional to: String as id(ResourceKind::Webhook),
    }
}

const NOT_SENDABLE: &str = "the webhook of this dead letter was deleted or is disabled; enable it, or send the dead letter \
                            to another webhook with `to`";

const NO_SOURCE: &str = "the source of this dead letter was deleted, and nothing is left to send it to; export it, or delete it";

const UNUSABLE_SOURCE: &str = "the source of this dead letter is not usable on this node, whose log says why; correct it, and replay then";

pub const ONE: Route = Route {
    method: Method::POST,
    path: "/dlq/{letter_id}/replay",
    operation_id: "replayDeadLetter",
    needs: Needs::Anyone(Right::Manage),
    takes: Takes::Maybe(ReplayDeadLetterBody::FIELDS),
    gives: Gives::accepted::<DeadLetterRow>(
        "The delivery is due again. The dead letter is removed once it is delivered.",
    ),
    refuses: &[&codes::STORAGE_FULL, &codes::CONFLICT, &codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Replay a dead letter",
    about: "Attempts the delivery again, with a new retry schedule. With `to`, sends the event to another webhook of the tenant instead. Answers 409 if there is nothing to send it to.",
    run: |call| Box::pin(one(call)),
    ..Route::DEFAULT
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/dlq/replay",
    operation_id: "replayDeadLetters",
    needs: Needs::Anyone(Right::Manage),
    query: DeadLetterFilter::FIELDS,
    takes: Takes::Maybe(ReplayDeadLettersBody::FIELDS),
    gives: Gives::accepted::<ReplayJob>(
        "The replay job; follow its progress at `GET /v1/replays/{id}`.",
    ),
    refuses: &[&codes::STORAGE_FULL, &codes::NOT_FOUND, &codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Replay dead letters",
    about: "Starts a background job that sends the dead letters that match the filters again, oldest first, at the given rate. With `to`, they go to another webhook of their tenant. Filters can be given in the URL or in the body.",
    run: |call| Box::pin(many(call)),
    ..Route::DEFAULT
};

async fn one(call: Call) -> Result<Answer, Problem> {
    let body: ReplayDeadLetterBody = call.parse_body()?;
    let (filter, letter) = find(&call).await?;
    let row = DeadLetterRows::new(&call.api).row(letter.clone()).await?;
    if letter.lane == Lane::Dispatch && row.target_url.is_none() {
        let sources = &sources::inbound(&call)?.inbound.sources;
        let is_unusable = sources.all().await?.has_unusable();
        let why = if is_unusable { UNUSABLE_SOURCE } else { NO_SOURCE };
        return Err(Problem::new(&codes::CONFLICT, why));
    }
    if let Some(to) = body.to.as_deref() {
        redirect(&call, &letter, webhook_id(to)?).await?;
    } else {
        let filter = DeadFilter { only_sendable: true, ..filter };
        let now = call.api.clock.now();
        let replayed = call.api.store.replay_dead(filter.clone(), 1, None, now).await?;
        // One that is being replayed already is sendable as well.
        if replayed.retried.is_empty() && call.api.store.dead_stats(filter).await?.total == 0 {
            return Err(Problem::new(&codes::CONFLICT, NOT_SENDABLE));
        }
    }
    Answer::accepted(&row)
}

async fn redirect(call: &Call, letter: &DeadLetter, to: EndpointId) -> Result<(), Problem> {
    use gancho_outbound::replay::RedirectOutcome;
    match call.api.replays.redirect(letter, to).await? {
        RedirectOutcome::Sent => Ok(()),
        RedirectOutcome::UnknownEndpoint => Err(Problem::not_found(ResourceKind::Webhook)),
        RedirectOutcome::Disabled => {
            Err(Problem::new(&codes::CONFLICT, "the webhook in `to` is disabled; enable it first"))
        }
        RedirectOutcome::NotPossible => Err(Problem::new(
            &codes::CONFLICT,
            "only dead letters of the lane `webhook` that are not being replayed can go to another webhook",
        )),
    }
}

fn webhook_id(text: &str) -> Result<EndpointId, Problem> {
    text.parse().map_err(|_| Problem::not_found(ResourceKind::Webhook))
}

async fn many(call: Call) -> Result<Answer, Problem> {
    let body: ReplayDeadLettersBody = call.parse_body()?;
    let filter = filter::from_either(&call, body.filter).await?;
    let owner = call.owner();
    let new = NewReplay {
        filter: ReplayFilter {
            of: ReplayItems::DeadLetters,
            lane: filter.lane,
            code: filter.code,
            // A tenant's own replay is limited to the tenant by its owner.
            tenant: filter.tenant.filter(|_| owner.tenant().is_none()),
            since: filter.since,
            until: filter.until,
            ..ReplayFilter::default()
        },
        to: body.to.as_deref().map(webhook_id).transpose()?,
        rate: body.options.rate,
        dry_run: body.options.dry_run.unwrap_or(false),
    };
    let replay = call.api.replays.create(owner, new).await?;
    ReplayJob::from(replay).accepted()
}
