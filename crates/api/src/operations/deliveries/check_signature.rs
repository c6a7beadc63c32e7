//! `POST /v1/deliveries/{delivery_id}/check-signature`: compares what a receiver got with what was sent. The secret
//! stays here.

mod pasted_headers;
mod report;

use gancho_access::Right;
use gancho_domain::Lane;
use gancho_wire::{SignedParts, check_signature};
use http::Method;

use self::{
    pasted_headers::{PastedHeaders, SentAttempt},
    report::SignatureReport,
};
use super::{TAG, find, get::rendered_body};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const MAX_HEADERS: usize = 64 << 10;
const MAX_BODY: usize = 512 << 10;

request! {
    struct CheckSignatureBody {
        /// The headers of the request as the receiver got them, one `name: value` per line; or the value of the
        /// signature header alone.
        required headers: String as prose(MAX_HEADERS),
        /// The body of the request as the receiver got it. Default: as it was sent.
        optional body: String as prose(MAX_BODY),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/deliveries/{delivery_id}/check-signature",
    operation_id: "checkDeliverySignature",
    needs: Needs::Anyone(Right::Read),
    takes: Takes::Body(CheckSignatureBody::FIELDS),
    gives: Gives::ok::<SignatureReport>("Whether the signature is valid, and which part differs."),
    refuses: &[&codes::NOT_FOUND, &codes::CONFLICT],
    tag: TAG,
    summary: "Check a received signature",
    about: "Finds out why a receiver rejects a delivery: paste the headers and the body that it got. The answer names the parts that differ from what was sent: `id`, `timestamp`, `body` or `secret`. The secret is not shown. The age of the timestamp is not judged.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let input: CheckSignatureBody = call.parse_body()?;
    let (scope, view) = find(&call).await?;
    if view.row.lane != Lane::Webhook {
        let detail = "only deliveries to webhooks have a signature that can be checked here";
        return Err(Problem::new(&codes::CONFLICT, detail));
    }
    let targets = call.api.registry.of(scope.tenant()).await?;
    let target = targets.get(view.row.target);
    let target = target.ok_or_else(|| Problem::not_found(ResourceKind::Webhook))?;
    let profile = &*target.profile;
    let event_id = view.parcel.id.to_string();
    let sent_body = rendered_body(profile.envelope, &view);
    let attempts: Vec<SentAttempt> =
        view.attempts.iter().map(|attempt| SentAttempt::read(profile, attempt)).collect();
    let received = PastedHeaders::read(profile, &input.headers);
    let newest = attempts.last();
    let parts = SignedParts {
        id: received.id.unwrap_or(&event_id),
        timestamp: received
            .timestamp
            .or(newest.map(|attempt| attempt.timestamp.as_str()))
            .unwrap_or_default(),
        body: input.body.as_deref().map_or(&sent_body, str::as_bytes),
    };
    let sent: Vec<SignedParts<'_>> = attempts
        .iter()
        .rev()
        .map(|attempt| SignedParts {
            id: &event_id,
            timestamp: &attempt.timestamp,
            body: &sent_body,
        })
        .collect();
    let keys = target.keys(call.api.clock.now());
    let check = check_signature(profile, keys, received.signature, parts, &sent);
    let was_recorded = attempts.iter().any(|attempt| attempt.signature == received.signature);
    let report = SignatureReport::new(profile, &check, &received, parts, &sent, was_recorded);
    Answer::ok(&report)
}
