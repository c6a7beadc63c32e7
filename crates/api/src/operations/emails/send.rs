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
    Field::new("filename", Kind::Text { least: 1, most: 200 }, "How the file is called.")
        .required(),
    Field::new("content", Kind::Prose { most: 16 * 1024 * 1024 }, "The file, as base64.")
        .required(),
    Field::new(
        "contentType",
        Kind::Text { least: 1, most: 200 },
        "Its media type; `application/octet-stream` where it is left out.",
    )
    .nullable(),
    Field::new(
        "contentId",
        Kind::Text { least: 1, most: 100 },
        "Where given, the HTML can show it as `cid:…`, and it is not listed as a file.",
    )
    .nullable(),
];

const FIELDS: &[Field] = &[
    Field::new("from", ADDRESS, "`shop@example.com` or `Shop <shop@example.com>`.").required(),
    Field::new("to", ADDRESS, "The one recipient: an e-mail to several is several e-mails.")
        .required(),
    Field::new("subject", Kind::Text { least: 0, most: 900 }, "The subject.").required(),
    Field::new("html", CONTENT, "The HTML; `html`, `text` or both must be given.").nullable(),
    Field::new("text", CONTENT, "The plain text.").nullable(),
    Field::new("replyTo", ADDRESS, "Where answers go.").nullable(),
    Field::new(
        "headers",
        Kind::TextMap { most: 50, longest: 1_000 },
        "Headers of your own, such as `List-Unsubscribe`. Those that the gateway writes are refused.",
    )
    .nullable(),
    Field::new(
        "attachments",
        Kind::Objects { fields: ATTACHMENT, least: 0, most: 50 },
        "Files, at most 10 MiB together.",
    )
    .nullable(),
    Field::new("externalId", ID, "Your own id for it, told in every event about it.").nullable(),
    Field::new(
        "idempotencyKey",
        ID,
        "The same key within 24 hours is the same e-mail. May be given as the header `Idempotency-Key` instead.",
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
        "It is on stable storage and will be sent. `Idempotent-Replayed: true` marks the answer to a repeated key.",
    ),
    refuses: &[&codes::IDEMPOTENCY_MISMATCH, &codes::STORAGE_FULL, &codes::EMAIL_OFF],
    tag: TAG,
    summary: "Send an e-mail",
    about: "What becomes of it is told by the events `email.sent`, `email.retry_scheduled` and `email.failed`, and by `GET /v1/emails/{outbox_id}`. An e-mail to a suppressed address is accepted and fails at once.",
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
                "the header `Idempotency-Key` and the field differ: give one, or the same twice",
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
            faults.invalid(pointer, "an attachment is an object with `filename` and `content`");
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
