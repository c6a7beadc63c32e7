//! `POST /v1/email/send`: answers 201 only after the e-mail is durably stored.

use std::collections::BTreeMap;

use gancho_access::Right;
use gancho_mail::{AttachmentDraft, EmailDraft};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{
        FieldErrors, Request,
        body::{self, BodyError},
        request,
    },
    operations::{
        events::{new_event::header_trace, publish::with_replay_header},
        idempotency_key,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    /// A file attached to an e-mail.
    struct AttachmentBody {
        /// Name of the file, as the recipient sees it.
        required filename: String as text(1, 200),
        /// Content of the file, in base64.
        required content: String as prose(16 * 1024 * 1024),
        /// Media type. Default: `application/octet-stream`.
        nullable content_type = "contentType": String as text(1, 200),
        /// Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an
        /// attachment.
        nullable content_id = "contentId": String as text(1, 100),
    }
}

const MAX_ADDRESS: usize = 600;
const MAX_CONTENT: usize = 2 * 1024 * 1024;

request! {
    struct EmailBody<'a> {
        /// Sender: `shop@example.com` or `Shop <shop@example.com>`.
        required from: String as text(1, MAX_ADDRESS),
        /// Recipient. An e-mail has exactly one; send several e-mails to reach several recipients.
        required to: String as text(1, MAX_ADDRESS),
        /// Subject line of the e-mail; may be empty.
        required subject: String as text(0, 900),
        /// HTML body. At least one of `html` and `text` is required.
        nullable html: String as prose(MAX_CONTENT),
        /// Plain-text body. At least one of `html` and `text` is required.
        nullable text: String as prose(MAX_CONTENT),
        /// Address that replies go to. Default: the sender.
        nullable reply_to = "replyTo": String as text(1, MAX_ADDRESS),
        /// Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected.
        nullable headers: BTreeMap<String, String> as text_map(50, 1_000),
        /// Attachments, at most 10 MiB in total.
        nullable attachments: Vec<&'a str> as objects::<AttachmentBody>(0, 50),
        /// Your own id for the e-mail. Included in every event about it.
        nullable external_id = "externalId": String as text(1, 256),
        /// Idempotency key: the same key within 24 hours sends one e-mail. Can also be sent as the `Idempotency-Key`
        /// header.
        nullable idempotency_key = "idempotencyKey": String as text(1, 256),
    }
}

/// An accepted e-mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedEmail {
    /// Id of the e-mail (`out_…`). `GET /v1/emails/{outbox_id}` returns its status.
    pub outbox_id: String,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/email/send",
    operation_id: "sendEmail",
    needs: Needs::Tenant(Right::Publish),
    takes: Takes::Large(EmailBody::FIELDS),
    takes_idempotency_key: true,
    gives: Gives::created::<AcceptedEmail>(
        "The e-mail is durably stored and will be sent. A repeated idempotency key is answered with `Idempotent-Replayed: true`.",
    ),
    refuses: &[&codes::IDEMPOTENCY_MISMATCH, &codes::STORAGE_FULL, &codes::EMAIL_OFF],
    tag: TAG,
    summary: "Send an e-mail",
    about: "The outcome is reported by the events `email.sent`, `email.retry_scheduled` and `email.failed`, and by `GET /v1/emails/{outbox_id}`. An e-mail to a suppressed address is accepted and fails immediately.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let mut draft = draft(call.parse_body()?, idempotency_key::of_header(&call.headers)?)?;
    draft.trace = header_trace(&call.headers);
    let outbox = &super::mail(&call.api)?.outbox;
    let submitted = outbox.submit(principal.scope(), principal.tenant(), draft).await?;
    let answer = Answer::created(&AcceptedEmail { outbox_id: submitted.id.to_string() })?;
    Ok(with_replay_header(answer, submitted.is_repeat))
}

fn draft(body: EmailBody<'_>, header_key: Option<&str>) -> Result<EmailDraft, Problem> {
    let mut errors = FieldErrors::default();
    let field = body.idempotency_key.as_deref();
    let key = idempotency_key::of_body(header_key, field, ("", "idempotencyKey"), &mut errors);
    let attachments = attachments(&body.attachments.unwrap_or_default(), &mut errors)?;
    if !errors.0.is_empty() {
        return Err(errors.into());
    }
    Ok(EmailDraft {
        from: Some(body.from),
        to: Some(body.to),
        subject: Some(body.subject),
        html: body.html,
        text: body.text,
        reply_to: body.reply_to,
        headers: body.headers.unwrap_or_default().into_iter().collect(),
        attachments,
        external_id: body.external_id,
        idempotency_key: key.map(Into::into),
        trace: None,
    })
}

fn attachments(items: &[&str], errors: &mut FieldErrors) -> Result<Vec<AttachmentDraft>, Problem> {
    let mut all = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let pointer = format!("/attachments/{index}");
        if !item.starts_with('{') {
            errors
                .invalid(pointer, "an attachment must be an object with `filename` and `content`");
            continue;
        }
        match body::parse_item::<AttachmentBody>(item, &pointer) {
            Ok(file) => all.push(AttachmentDraft {
                filename: file.filename,
                content: file.content,
                content_type: file.content_type,
                content_id: file.content_id,
            }),
            Err(BodyError::Invalid(of_item)) => errors.extend(of_item),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}
