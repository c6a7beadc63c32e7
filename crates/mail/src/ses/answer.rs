//! Parses the response of SES: a message id, or an error.

use gancho_egress::{Answer, aws::xml_element};
use serde::Deserialize;

use crate::transport::{Acceptance, TransportError};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SesAcceptance {
    message_id: String,
}

#[derive(Deserialize, Default)]
struct SesRefusal {
    #[serde(default, rename = "__type", alias = "code", alias = "Code")]
    error: Option<String>,
    #[serde(default, alias = "Message")]
    message: Option<String>,
}

pub(super) fn read(answer: &Answer) -> Result<Acceptance, TransportError> {
    if answer.status == 200 {
        let Ok(taken) = serde_json::from_slice::<SesAcceptance>(&answer.body) else {
            // Whether the e-mail was accepted is unknown: a server that responds like this is not SES.
            let text = "SES responded with 200 without a MessageId".to_owned();
            return Err(TransportError::NoResponse { text });
        };
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        return Ok(Acceptance { message_id: taken.message_id, status: 200, text });
    }
    let refused: SesRefusal = serde_json::from_slice(&answer.body).unwrap_or_default();
    let body = String::from_utf8_lossy(&answer.body);
    let error = header(&answer.headers, "x-amzn-errortype")
        .or(refused.error)
        // Some errors are XML, from proxies in front of the API.
        .or_else(|| xml_element(&body, "Code"))
        .unwrap_or_else(|| format!("HTTP {}", answer.status));
    let text = refused.message.or_else(|| xml_element(&body, "Message")).unwrap_or_default();
    Err(TransportError::Ses { status: answer.status, error: word(&error), text })
}

fn header(lines: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(lines);
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

/// Returns the error's name: `com.amazonaws.ses#MessageRejected:http://…` is `MessageRejected`.
fn word(error: &str) -> String {
    let error = error.rsplit('#').next().unwrap_or(error);
    let error = error.split(':').next().unwrap_or(error);
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || " _-.".contains(*letter);
    error.chars().filter(fits).take(64).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn said(
        status: u16,
        headers: &'static str,
        body: &'static str,
    ) -> Result<Acceptance, TransportError> {
        read(&Answer {
            status,
            headers: Bytes::from_static(headers.as_bytes()),
            body: Bytes::from_static(body.as_bytes()),
            is_whole: true,
            retry_after: None,
        })
    }

    #[test]
    fn every_form_of_an_answer() {
        let taken = said(200, "", "{\"MessageId\": \"0102-abc\"}").expect("it was taken");
        assert_eq!(taken.message_id, "0102-abc");
        assert!(matches!(said(200, "", "{}"), Err(TransportError::NoResponse { .. })));
        let ses = |status, error: &str, text: &str| {
            Err(TransportError::Ses { status, error: error.into(), text: text.into() })
        };
        let json = "{\"message\": \"Email address is not verified.\"}";
        let header = "x-amzn-ErrorType: MessageRejected:http://internal.amazon.com/\n";
        assert_eq!(
            said(400, header, json),
            ses(400, "MessageRejected", "Email address is not verified.")
        );
        let typed =
            "{\"__type\": \"com.amazonaws.ses#TooManyRequestsException\", \"Message\": \"slow\"}";
        assert_eq!(said(429, "", typed), ses(429, "TooManyRequestsException", "slow"));
        let xml = "<E><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></E>";
        assert_eq!(said(400, "", xml), ses(400, "Throttling", "Rate exceeded"));
        assert_eq!(said(503, "", "<html>"), ses(503, "HTTP 503", ""));
    }
}
