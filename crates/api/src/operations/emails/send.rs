//! `POST /v1/email/send`: when it answers 201, the e-mail is on stable storage.

use gancho_access::Right;
use gancho_mail::{AttachmentDraft, EmailDraft};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{Faults, Field, Kind, Values, body},
    operations::events::{new_event::header_key, publish::marked},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const ADDRESS: Kind = Kind::Text { least: 1, most: 600 };
const CONTENT: Kind = Kind::Prose { most: 2 * 1024 * 1024 };
const ID: Kind = Kind::Text { least: 1, most: 256 };

const ATTACHMENT: &[Field] = &[
    Field::new("filename", Kind::Text { least: 1, most: 200 }, "File name.")
        .required(),
    Field::new("content", Kind::Prose { most: 16 * 1024 * 1024 }, "Content of the file, in base64.")
        .required(),
    Field::new(
        "contentType",
        Kind::Text { least: 1, most: 200 },
        "Media type. Default: `application/octet-stream`.",
    )
    .nullable(),
    Field::new(
        "contentId",
        Kind::Text { least: 1, most: 100 },
        "Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment.",
    )
    .nullable(),
];

const FIELDS: &[Field] = &[
    Field::new("from", ADDRESS, "Sender: `shop@example.com` or `Shop <shop@example.com>`.").required(),
    Field::new("to", ADDRESS, "Recipient. An e-mail has exactly one; send several e-mails to reach several recipients.")
        .required(),
    Field::new("subject", Kind::Text { least: 0, most: 900 }, "Subject line.").required(),
    Field::new("html", CONTENT, "HTML body. At least one of `html` and `text` is required.").nullable(),
    Field::new("text", CONTENT, "Plain-text body.").nullable(),
    Field::new("replyTo", ADDRESS, "Address for replies.").nullable(),
    Field::new(
        "headers",
        Kind::TextMap { most: 50, longest: 1_000 },
        "Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected.",
    )
    .nullable(),
    Field::new(
        "attachments",
        Kind::Objects { fields: ATTACHMENT, least: 0, most: 50 },
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
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let acting = call.tenant()?;
    let draft = draft(&call.values()?, header_key(&call.headers)?)?;
    let outbox = &super::desk(&call.api)?.outbox;
    let submitted = outbox.submit(acting.scope(), acting.tenant(), draft).await?;
    let answer = Answer::created(&AcceptedEmail { outbox_id: submitted.id.to_string() })?;
    Ok(marked(answer, submitted.is_repeat))
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
    let mut faults = Faults::default();
    let mut all = Vec::new();
    for (place, item) in values.items("attachments").unwrap_or_default().iter().enumerate() {
        let pointer = format!("/attachments/{place}");
        if !item.starts_with('{') {
            faults
                .invalid(pointer, "an attachment must be an object with `filename` and `content`");
            continue;
        }
        let file = body::object(ATTACHMENT, item, &pointer, &mut faults)?;
        all.push(AttachmentDraft {
            filename: file.string("filename").unwrap_or_default(),
            content: file.string("content").unwrap_or_default(),
            content_type: file.string("contentType"),
            content_id: file.string("contentId"),
        });
    }
    if faults.0.is_empty() { Ok(all) } else { Err(faults.into()) }
}
