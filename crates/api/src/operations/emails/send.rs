//! `POST /v1/email/send`: answers 201 only after the e-mail is durably stored.

use gancho_access::Right;
use gancho_mail::{AttachmentDraft, EmailDraft};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{Field, FieldErrors, Kind, Values, body},
    operations::events::{new_event::header_key, publish::with_replay_header},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const ADDRESS: Kind = Kind::Text { min: 1, max: 600 };
const CONTENT: Kind = Kind::Prose { max: 2 * 1024 * 1024 };
const ID: Kind = Kind::Text { min: 1, max: 256 };

const ATTACHMENT: &[Field] = &[
    Field::new("filename", Kind::Text { min: 1, max: 200 }, "File name.")
        .required(),
    Field::new("content", Kind::Prose { max: 16 * 1024 * 1024 }, "Content of the file, in base64.")
        .required(),
    Field::new(
        "contentType",
        Kind::Text { min: 1, max: 200 },
        "Media type. Default: `application/octet-stream`.",
    )
    .nullable(),
    Field::new(
        "contentId",
        Kind::Text { min: 1, max: 100 },
        "Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment.",
    )
    .nullable(),
];

const FIELDS: &[Field] = &[
    Field::new("from", ADDRESS, "Sender: `shop@example.com` or `Shop <shop@example.com>`.").required(),
    Field::new("to", ADDRESS, "Recipient. An e-mail has exactly one; send several e-mails to reach several recipients.")
        .required(),
    Field::new("subject", Kind::Text { min: 0, max: 900 }, "Subject line.").required(),
    Field::new("html", CONTENT, "HTML body. At least one of `html` and `text` is required.").nullable(),
    Field::new("text", CONTENT, "Plain-text body.").nullable(),
    Field::new("replyTo", ADDRESS, "Address for replies.").nullable(),
    Field::new(
        "headers",
        Kind::TextMap { max: 50, max_length: 1_000 },
        "Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected.",
    )
    .nullable(),
    Field::new(
        "attachments",
        Kind::Objects { fields: ATTACHMENT, min: 0, max: 50 },
        "Attachments, at most 10 MiB in total.",
    )
    .nullable(),
    Field::new("externalId", ID, "Your own id for the e-mail. Included in every event about it.").nullable(),
    Field::new(
        "idempotencyKey",
        ID,
        "Idempotency key: the same key within 24 hours sends one e-mail. Can also be sent as the `Idempotency-Key` header.",
    )
    .nullable(),
];

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedEmail {
    pub outbox_id: String,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/email/send",
    needs: Needs::Tenant(Right::Publish),
    takes: Takes::Large(FIELDS),
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
    let draft = draft(&call.values()?, header_key(&call.headers)?)?;
    let outbox = &super::mail(&call.api)?.outbox;
    let submitted = outbox.submit(principal.scope(), principal.tenant(), draft).await?;
    let answer = Answer::created(&AcceptedEmail { outbox_id: submitted.id.to_string() })?;
    Ok(with_replay_header(answer, submitted.is_repeat))
}

fn draft(values: &Values<'_>, header_key: Option<&str>) -> Result<EmailDraft, Problem> {
    let key = match (header_key, values.text("idempotencyKey")) {
        (Some(header), Some(field)) if header != field => {
            return Err(Problem::field(
                "/idempotencyKey",
                "the header `Idempotency-Key` and the field `idempotencyKey` differ; send one of them",
            ));
        }
        (header, field) => header.or(field).map(str::to_owned),
    };
    Ok(EmailDraft {
        from: values.string("from"),
        to: values.string("to"),
        subject: values.string("subject"),
        html: values.string("html"),
        text: values.string("text"),
        reply_to: values.string("replyTo"),
        headers: values.text_map("headers").unwrap_or_default().into_iter().collect(),
        attachments: attachments(values)?,
        external_id: values.string("externalId"),
        idempotency_key: key,
    })
}

fn attachments(values: &Values<'_>) -> Result<Vec<AttachmentDraft>, Problem> {
    let mut errors = FieldErrors::default();
    let mut all = Vec::new();
    for (place, item) in values.items("attachments").unwrap_or_default().iter().enumerate() {
        let pointer = format!("/attachments/{place}");
        if !item.starts_with('{') {
            errors
                .invalid(pointer, "an attachment must be an object with `filename` and `content`");
            continue;
        }
        let file = body::object(ATTACHMENT, item, &pointer, &mut errors)?;
        all.push(AttachmentDraft {
            filename: file.string("filename").unwrap_or_default(),
            content: file.string("content").unwrap_or_default(),
            content_type: file.string("contentType"),
            content_id: file.string("contentId"),
        });
    }
    if errors.0.is_empty() { Ok(all) } else { Err(errors.into()) }
}
