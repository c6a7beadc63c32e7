//! Attachments. They are submitted and stored as base64, and decoded once to validate them and once to send
//! them.

use data_encoding::{BASE64, BASE64_MIME_PERMISSIVE};
use gancho_domain::FieldError;
use serde::{Deserialize, Serialize};

use crate::draft::AttachmentDraft;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub filename: String,
    pub content_type: String,
    /// Base64, without line breaks.
    pub content: String,
    /// The content id by which the HTML refers to it, as `cid:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
}

const MAX_FILENAME_LENGTH: usize = 200;
const MAX_COUNT: usize = 50;
const UNKNOWN: &str = "application/octet-stream";

impl Attachment {
    /// Returns the decoded content. `None` if it is not base64, which validation excludes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        BASE64.decode(self.content.as_bytes()).ok()
    }
}

/// Returns all attachments, or all errors.
pub fn check(
    drafts: Vec<AttachmentDraft>,
    max_bytes: usize,
    errors: &mut Vec<FieldError>,
) -> Vec<Attachment> {
    if drafts.len() > MAX_COUNT {
        errors.push(FieldError::new(
            "too_many",
            "/attachments",
            format!("the maximum is {MAX_COUNT} attachments"),
        ));
        return Vec::new();
    }
    let mut all = Vec::with_capacity(drafts.len());
    let mut bytes = 0;
    for (place, draft) in drafts.into_iter().enumerate() {
        let (attachment, size) = check_one(place, draft, errors);
        bytes += size;
        all.push(attachment);
    }
    if bytes > max_bytes {
        let why = format!(
            "the attachments have {bytes} bytes together, the maximum is {max_bytes}: send a link instead"
        );
        errors.push(FieldError::new("too_large", "/attachments", why));
    }
    all
}

fn check_one(
    place: usize,
    draft: AttachmentDraft,
    errors: &mut Vec<FieldError>,
) -> (Attachment, usize) {
    let mut refuse = |field: &str, why: String| {
        errors.push(FieldError::new("attachment", format!("/attachments/{place}/{field}"), why));
    };
    if let Err(why) = check_filename(&draft.filename) {
        refuse("filename", why);
    }
    let content_type = draft.content_type.unwrap_or_else(|| UNKNOWN.to_owned());
    if let Err(why) = check_content_type(&content_type) {
        refuse("contentType", why);
    }
    if let Some(id) = &draft.content_id
        && !is_content_id(id)
    {
        let why = "must have 1 to 100 letters, digits, `.`, `_`, `-` and `@`";
        refuse("contentId", why.to_owned());
    }
    // Line breaks in base64 are common and ignored.
    let decoded = BASE64_MIME_PERMISSIVE.decode(draft.content.as_bytes());
    let decoded = decoded.unwrap_or_else(|error| {
        refuse("content", format!("not valid base64: {error}"));
        Vec::new()
    });
    let attachment = Attachment {
        filename: draft.filename,
        content_type,
        content: BASE64.encode(&decoded),
        content_id: draft.content_id,
    };
    (attachment, decoded.len())
}

fn check_filename(name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err("an attachment must have a filename".into());
    }
    if name.chars().any(|letter| letter.is_control() || "/\\\"".contains(letter)) {
        return Err("a filename must not contain `/`, `\\`, `\"` or control characters".into());
    }
    if name.chars().count() > MAX_FILENAME_LENGTH {
        return Err(format!("a filename must not have more than {MAX_FILENAME_LENGTH} characters"));
    }
    Ok(())
}

/// Accepts `type/subtype`, optionally with parameters.
fn check_content_type(text: &str) -> Result<(), String> {
    let wrong = || format!("`{}` is not a media type, e.g. application/pdf", text.escape_debug());
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.len() <= 200;
    if !is_plain || lettre::message::header::ContentType::parse(text).is_err() {
        return Err(wrong());
    }
    // A part that contains parts would let a caller define the structure of the message.
    let kind = text.trim_start().to_ascii_lowercase();
    if kind.starts_with("multipart/") || kind.starts_with("message/") {
        return Err("an attachment cannot have a multipart or message type".into());
    }
    Ok(())
}

fn is_content_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    (1..=100).contains(&id.len()) && id.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(filename: &str, content_type: &str, content: &str) -> AttachmentDraft {
        AttachmentDraft {
            filename: filename.into(),
            content_type: Some(content_type.into()),
            content: content.into(),
            content_id: None,
        }
    }

    fn errors(draft: AttachmentDraft, max: usize) -> Vec<String> {
        let mut errors = Vec::new();
        check(vec![draft], max, &mut errors);
        errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn what_may_be_attached() {
        let mut none = Vec::new();
        let all = check(vec![draft("a ç.pdf", "application/pdf", "aGVs\r\nbG8=\n")], 5, &mut none);
        assert_eq!(none, []);
        assert_eq!(all[0].bytes().as_deref(), Some(&b"hello"[..]));
    }

    #[test]
    fn what_may_not() {
        let cases = [
            (draft("", "text/plain", ""), "/attachments/0/filename"),
            (draft("../a", "text/plain", ""), "/attachments/0/filename"),
            (draft("a\"; x=\"", "text/plain", ""), "/attachments/0/filename"),
            (draft("a\r\nBcc: b", "text/plain", ""), "/attachments/0/filename"),
            (draft("a", "nonsense", ""), "/attachments/0/contentType"),
            (draft("a", "text/plain\r\nBcc: b", ""), "/attachments/0/contentType"),
            (draft("a", "multipart/mixed; boundary=x", ""), "/attachments/0/contentType"),
            (draft("a", "text/plain", "a"), "/attachments/0/content"),
            (draft("a", "text/plain", "!!!!"), "/attachments/0/content"),
            (draft("a", "text/plain", "aGVsbG8h"), "/attachments"),
        ];
        for (draft, pointer) in cases {
            assert_eq!(errors(draft.clone(), 5), [pointer], "{draft:?}");
        }
        let invalid = AttachmentDraft { content_id: Some("<a>".into()), ..draft("a", "a/b", "") };
        assert_eq!(errors(invalid, 5), ["/attachments/0/contentId"]);
    }
}
