//! Why the service refused a request, in words for the operator.

use gancho_egress::{Answer, RequestError, aws::xml_element};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum S3Error {
    #[error(
        "cannot reach {host}: {reason}. hint: check archive_endpoint, archive_region and the network; it is tried again"
    )]
    Unreachable { host: String, reason: String },
    #[error("{host} responded with {status}{}: {text}. hint: {}", spaced(code), hint(*status, code))]
    Refused { host: String, status: u16, code: String, text: String },
    #[error(
        "{key} is not in the bucket after it was written. hint: check what else deletes there, and the rules of the bucket; it is tried again"
    )]
    Missing { key: String },
    #[error(
        "{key} has {found} bytes in the bucket instead of {written}. hint: check what else writes there; it is tried again"
    )]
    Unconfirmed { key: String, written: u64, found: u64 },
}

impl S3Error {
    pub(super) fn unreachable(host: &str, error: &RequestError) -> Self {
        Self::Unreachable { host: host.to_owned(), reason: error.failure.reason().to_owned() }
    }

    /// Reads the error from a response other than the expected one. Errors are XML, except those of `HEAD`,
    /// which have no body.
    pub(super) fn refused(host: &str, answer: &Answer) -> Self {
        let body = String::from_utf8_lossy(&answer.body);
        let part = |name| plain(&xml_element(&body, name).unwrap_or_default());
        let text = match part("Message") {
            text if text.is_empty() => "no reason was given".to_owned(),
            text => text,
        };
        Self::Refused { host: host.to_owned(), status: answer.status, code: part("Code"), text }
    }
}

fn spaced(code: &str) -> String {
    if code.is_empty() { String::new() } else { format!(" {code}") }
}

/// Returns one line of bounded length, without the full stop.
fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).take(200).collect();
    text.trim().trim_end_matches('.').to_owned()
}

fn hint(status: u16, code: &str) -> &'static str {
    match (status, code) {
        (_, "NoSuchBucket") => "create the bucket, or correct archive_url",
        (_, "RequestTimeTooSkewed") => "correct the clock of this machine",
        (
            _,
            "AuthorizationHeaderMalformed"
            | "PermanentRedirect"
            | "IllegalLocationConstraintException",
        )
        | (301 | 307, _) => "set archive_region to the region of the bucket",
        (401 | 403, _) => {
            "check the access key, and that it may list the bucket and read, write and delete its objects"
        }
        (404, _) => "check archive_url and archive_endpoint",
        (429 | 500.., _) => "the service is overloaded or out of order; it is tried again",
        _ => "check archive_url, archive_endpoint and archive_region",
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn an_error_says_what_to_do() {
        let said = |status, body: &'static str| {
            let body = Bytes::from_static(body.as_bytes());
            let headers = Bytes::new();
            let answer = Answer { status, headers, body, is_whole: true, retry_after: None };
            S3Error::refused("minio:9000", &answer).to_string()
        };
        let xml = "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>The specified \
                   bucket does not exist.</Message><BucketName>x</BucketName></Error>";
        assert_eq!(
            said(404, xml),
            "minio:9000 responded with 404 NoSuchBucket: The specified bucket does not exist. hint: create the \
             bucket, or correct archive_url"
        );
        assert!(said(403, "").contains("403: no reason was given. hint: check the access key"));
        assert!(said(503, "<html>").contains("it is tried again"));
        assert!(said(301, "").contains("archive_region"));
    }
}
