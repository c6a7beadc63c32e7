//! AWS Signature Version 4 for one kind of request: a body, no query, a plain path.

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac,
};
use data_encoding::HEXLOWER;
use gancho_domain::Time;
use zeroize::Zeroizing;

#[derive(Clone)]
pub struct Credentials {
    pub key_id: String,
    pub secret: Zeroizing<String>,
    /// The session token of temporary credentials.
    pub token: Option<Zeroizing<String>>,
}

/// Without the secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.key_id)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    /// Contains only characters that need no encoding.
    pub path: &'a str,
    /// As in the `Host` header.
    pub host: &'a str,
    pub content_type: Option<&'a str>,
    pub body: &'a [u8],
}

/// The authentication headers.
pub fn sign(
    request: &Request<'_>,
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: Time,
) -> Vec<(&'static str, String)> {
    let at = stamp(now);
    let day = &at[..8];
    let mut headers = vec![("host", request.host.to_owned()), ("x-amz-date", at.clone())];
    if let Some(content_type) = request.content_type {
        headers.insert(0, ("content-type", content_type.to_owned()));
    }
    if let Some(token) = &credentials.token {
        headers.push(("x-amz-security-token", token.to_string()));
    }
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines = headers.iter().map(|(name, value)| [name, ":", value, "\n"].concat());
    let lines: String = lines.collect();
    let canonical =
        format!("{}\n{}\n\n{lines}\n{names}\n{}", request.method, request.path, hex(request.body));
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hex(canonical.as_bytes()));
    let first = Zeroizing::new(format!("AWS4{}", credentials.secret.as_str()));
    let key = [day, region, service, "aws4_request"]
        .into_iter()
        .fold(hmac::Key::new(hmac::HMAC_SHA256, first.as_bytes()), |key, part| {
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref())
        });
    let signature = HEXLOWER.encode(hmac::sign(&key, to_sign.as_bytes()).as_ref());
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        credentials.key_id
    );
    // The request already has host and content type.
    headers.retain(|(name, _)| name.starts_with("x-amz-"));
    headers.push(("authorization", authorization));
    headers
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

/// `20150830T123600Z`.
fn stamp(now: Time) -> String {
    let text = Time::from_secs(now.secs().max(0)).to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    let plain: String = seconds.chars().filter(|letter| !"-:".contains(*letter)).collect();
    format!("{plain}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(token: Option<&str>) -> Credentials {
        Credentials {
            key_id: "AKIDEXAMPLE".into(),
            secret: Zeroizing::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into()),
            token: token.map(|token| Zeroizing::new(token.into())),
        }
    }

    fn signature(request: &Request<'_>, service: &str, token: Option<&str>) -> String {
        // 2015-08-30T12:36:00Z
        let now = Time::from_secs(1_440_938_160);
        let headers = sign(request, &credentials(token), "us-east-1", service, now);
        let (_, value) = headers.last().expect("there is one");
        value.rsplit_once("Signature=").expect("it is signed").1.to_owned()
    }

    /// `get-vanilla` and `post-vanilla` of Amazon's own test suite.
    #[test]
    fn amazons_vectors() {
        let vanilla = |method| Request {
            method,
            path: "/",
            host: "example.amazonaws.com",
            content_type: None,
            body: b"",
        };
        assert_eq!(
            signature(&vanilla("GET"), "service", None),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        assert_eq!(
            signature(&vanilla("POST"), "service", None),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
    }

    /// What botocore, Amazon's own library, makes of the same request.
    #[test]
    fn botocores_vectors() {
        let request = Request {
            method: "POST",
            path: "/v2/email/outbound-emails",
            host: "email.us-east-1.amazonaws.com",
            content_type: Some("application/json"),
            body: b"{\"a\":1}",
        };
        assert_eq!(
            signature(&request, "ses", None),
            "b48ff115b086c4be24c0ac0d653f96545531446fa8904fa7d739e5a1a61e34c9"
        );
        assert_eq!(
            signature(&request, "ses", Some("a-token")),
            "7dbfd4a676342edfbc3f510fb809e8b7859a5dc7b5235025c531be51f277a444"
        );
    }
}
