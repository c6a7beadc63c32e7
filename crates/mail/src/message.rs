//! Renders an e-mail (RFC 5322) to the same bytes at every attempt: the same Message-ID, date and
//! boundaries, so that a recipient can detect a duplicate.
//!
//! Everything is ASCII: names and subjects are encoded words, texts are quoted-printable, attachments are
//! base64, and a line with a single dot is written as `=2E`. So a text cannot contain the end of the
//! message, a boundary or a bare CR or LF, and no server has to rewrite it.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use gancho_domain::{EmailId, Time};
use lettre::{
    Address, Message,
    message::{
        Attachment as Part, Body, Mailbox as Box2822, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue},
    },
};

use crate::{Email, Mailbox, attachment::Attachment};

/// Identifies the e-mail in feedback.
pub const OUTBOX_HEADER: &str = "X-Outbox-Id";
/// Identifies the tenant in feedback.
pub const TENANT_HEADER: &str = "X-Tenant-Id";

/// The id of the e-mail, and when it was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageMetadata {
    pub id: EmailId,
    pub tenant: gancho_domain::TenantId,
    pub accepted_at: Time,
}

/// Returns the Message-ID without angle brackets.
pub fn message_id(id: EmailId, domain: &str) -> String {
    format!("{id}@{domain}")
}

/// Renders the e-mail. The error says why it cannot be rendered, which validation should have found.
pub fn write(email: &Email, stamp: MessageMetadata, domain: &str) -> Result<Bytes, String> {
    let mut builder = Message::builder()
        .date(system_time(stamp.accepted_at))
        .message_id(Some(format!("<{}>", message_id(stamp.id, domain))))
        .from(mailbox(&email.from)?)
        .to(mailbox(&email.to)?)
        .subject(email.subject.as_str());
    if let Some(reply_to) = &email.reply_to {
        builder = builder.reply_to(mailbox(reply_to)?);
    }
    let own = [(OUTBOX_HEADER, stamp.id.to_string()), (TENANT_HEADER, stamp.tenant.to_string())];
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let given = email.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.chain(given) {
        let header = HeaderName::new_from_ascii(name.to_owned())
            .map_err(|error| format!("the header `{name}`: {error}"))?;
        builder = builder.raw_header(HeaderValue::new(header, value.to_owned()));
    }
    let message = match content(email, stamp.id)? {
        Content::Single(part) => builder.singlepart(part),
        Content::Multi(part) => builder.multipart(part),
    };
    let bytes = message.map_err(|error| error.to_string())?.formatted();
    if !bytes.is_ascii() {
        return Err("it could not be encoded in ASCII".into());
    }
    Ok(bytes.into())
}

enum Content {
    Single(SinglePart),
    Multi(MultiPart),
}

impl Content {
    fn into_multi(self, multi: MultiPart) -> MultiPart {
        match self {
            Self::Single(part) => multi.singlepart(part),
            Self::Multi(part) => multi.multipart(part),
        }
    }
}

/// Builds mixed( related( alternative( text, html ), inline files ), files ), with only the layers that it
/// needs.
fn content(email: &Email, id: EmailId) -> Result<Content, String> {
    let text = email.text.as_deref().map(|text| written(text, ContentType::TEXT_PLAIN));
    let html = email.html.as_deref().map(|html| written(html, ContentType::TEXT_HTML));
    let mut content = match (text.transpose()?, html.transpose()?) {
        (Some(text), Some(html)) => Content::Multi(
            MultiPart::alternative().boundary(boundary(id, 'a')).singlepart(text).singlepart(html),
        ),
        (Some(one), None) | (None, Some(one)) => Content::Single(one),
        (None, None) => Content::Single(written("", ContentType::TEXT_PLAIN)?),
    };
    let (inline, files): (Vec<_>, Vec<_>) =
        email.attachments.iter().partition(|file| file.content_id.is_some());
    for (files, multi, layer) in
        [(inline, MultiPart::related(), 'r'), (files, MultiPart::mixed(), 'm')]
    {
        if files.is_empty() {
            continue;
        }
        let mut multi = content.into_multi(multi.boundary(boundary(id, layer)).build());
        for file in files {
            multi = multi.singlepart(attached(file)?);
        }
        content = Content::Multi(multi);
    }
    Ok(content)
}

/// Returns the boundary of a layer. No content can contain it, because quoted-printable writes `=` as `=3D`,
/// and base64 has no `_`.
fn boundary(id: EmailId, layer: char) -> String {
    format!("=_{layer}_{id}")
}

fn written(text: &str, content_type: ContentType) -> Result<SinglePart, String> {
    // Normalizes line endings: some servers treat a bare CR or LF as a line break.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let encoding = ContentTransferEncoding::QuotedPrintable;
    let body = Body::new_with_encoding(text, encoding)
        .map_err(|_| "its text could not be encoded".to_owned())?;
    let body = Body::dangerous_pre_encoded(without_dots(body.into_vec()), encoding);
    Ok(SinglePart::builder().header(content_type).body(body))
}

/// Encodes lines with a single dot. SMTP escapes them as well, but only if all servers agree on what a line
/// is.
fn without_dots(encoded: Vec<u8>) -> Vec<u8> {
    let is_dot = |line: &&[u8]| matches!(line.strip_suffix(b"\r\n").unwrap_or(line), b".");
    if !encoded.split_inclusive(|byte| *byte == b'\n').any(|line| is_dot(&line)) {
        return encoded;
    }
    let mut safe = Vec::with_capacity(encoded.len() + 64);
    for line in encoded.split_inclusive(|byte| *byte == b'\n') {
        if is_dot(&line) {
            safe.extend_from_slice(b"=2E");
            safe.extend_from_slice(&line[1..]);
        } else {
            safe.extend_from_slice(line);
        }
    }
    safe
}

fn attached(file: &Attachment) -> Result<SinglePart, String> {
    let bytes = file.bytes().ok_or("a stored attachment is unreadable")?;
    let content_type = ContentType::parse(&file.content_type).map_err(|error| error.to_string())?;
    let body = Body::new_with_encoding(bytes, ContentTransferEncoding::Base64)
        .map_err(|_| "an attachment could not be encoded".to_owned())?;
    let part = match &file.content_id {
        Some(id) => Part::new_inline_with_name(id.clone(), file.filename.clone()),
        None => Part::new(file.filename.clone()),
    };
    Ok(part.body(body, content_type))
}

fn mailbox(mailbox: &Mailbox) -> Result<Box2822, String> {
    let address =
        Address::new(mailbox.local(), mailbox.domain()).map_err(|error| error.to_string())?;
    Ok(Box2822::new(mailbox.name().map(str::to_owned), address))
}

fn system_time(time: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(time.secs().max(0) as u64)
}

#[cfg(test)]
mod tests {
    use gancho_domain::TenantId;

    use super::*;

    const STAMP: MessageMetadata = MessageMetadata {
        id: EmailId::from_bits(7),
        tenant: TenantId::from_bits(8),
        accepted_at: Time::from_secs(1_706_012_345),
    };

    fn email() -> Email {
        Email {
            company_id: "m2".into(),
            from: "\"Loja: José, Lda.\" <shop@example.com>".parse().unwrap(),
            to: "Ana <ana@example.com>".parse().unwrap(),
            reply_to: Some("help@example.com".parse().unwrap()),
            subject: "Olá, a fatura".into(),
            text: Some("Olá\r\n.\r\nQUIT\r.\n\n--=_a_out_00000000000000000000000007--".into()),
            html: None,
            headers: vec![("List-Unsubscribe".into(), "<https://example.com/u?é>".into())],
            attachments: Vec::new(),
        }
    }

    fn text(email: &Email) -> String {
        String::from_utf8(write(email, STAMP, "example.com").unwrap().to_vec()).unwrap()
    }

    /// Checks that no line is longer than the standard allows or broken in another way, and that none is `.`.
    fn check_lines(text: &str) {
        assert_eq!(text.replace("\r\n", "").matches(['\r', '\n']).count(), 0);
        for line in text.split("\r\n") {
            assert!(line.len() <= 998, "{line}");
            assert_ne!(line, ".");
        }
    }

    #[test]
    fn the_same_every_time() {
        let once = text(&email());
        assert_eq!(once, text(&email()));
        check_lines(&once);
        let expected = [
            "Message-ID: <out_00000000000000000000000007@example.com>\r\n",
            "Date: Tue, 23 Jan 2024 12:19:05 +0000\r\n",
            "To: Ana <ana@example.com>\r\n",
            "Reply-To: help@example.com\r\n",
            "X-Outbox-Id: out_00000000000000000000000007\r\n",
            "X-Tenant-Id: ten_00000000000000000000000008\r\n",
            "Content-Transfer-Encoding: quoted-printable\r\n",
            "\r\nOl=C3=A1\r\n=2E\r\nQUIT\r\n",
        ];
        for line in expected {
            assert!(once.contains(line), "{line} in {once}");
        }
        assert_eq!(once.matches("\r\nFrom: ").count() + once.matches("\r\nTo: ").count(), 2);
    }

    #[test]
    fn all_layers() {
        let file = |name: &str, content_id: Option<&str>| Attachment {
            filename: name.into(),
            content_type: "application/pdf".into(),
            content: "aGVsbG8=".into(),
            content_id: content_id.map(Into::into),
        };
        let mut whole = email();
        whole.html = Some("<img src=\"cid:logo\">".into());
        whole.attachments = vec![file("fatura ç.pdf", None), file("logo.png", Some("logo"))];
        let text = text(&whole);
        check_lines(&text);
        let layers = ["multipart/mixed", "multipart/related", "multipart/alternative", "text/html"];
        let places: Vec<_> = layers.iter().map(|layer| text.find(layer).expect(layer)).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(text.contains("\r\naGVsbG8=\r\n") && text.contains("Content-ID: <logo>"));
        assert_eq!(text.matches("--=_a_out_00000000000000000000000007--\r\n").count(), 1);
    }

    #[test]
    fn long_and_foreign_words_stay_within_a_line() {
        for subject in ["a".repeat(900), "ção ".repeat(200), "é".repeat(900)] {
            check_lines(&text(&Email { subject, ..email() }));
        }
    }
}
