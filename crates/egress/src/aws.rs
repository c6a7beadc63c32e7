//! AWS Signature Version 4, for requests whose path needs no encoding, and the text in Amazon's XML errors.

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

/// Omits the secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.key_id)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    /// The path. It must contain only characters that need no encoding.
    pub path: &'a str,
    /// The query without the `?`: encoded, and in the order of the names.
    pub query: &'a str,
    /// The host as in the `Host` header.
    pub host: &'a str,
    pub content_type: Option<&'a str>,
    pub body: &'a [u8],
    /// Also send the digest of the body as a header, which S3 requires and compares with the body.
    pub with_digest: bool,
}

/// Returns the authentication headers.
pub fn sign(
    request: &Request<'_>,
    credentials: &Credentials,
    region: &str,
    service: &str,
    now: Time,
) -> Vec<(&'static str, String)> {
    let at = stamp(now);
    let day = &at[..8];
    let digest = hex(request.body);
    let mut headers = vec![("host", request.host.to_owned())];
    if request.with_digest {
        headers.push(("x-amz-content-sha256", digest.clone()));
    }
    headers.push(("x-amz-date", at.clone()));
    if let Some(content_type) = request.content_type {
        headers.insert(0, ("content-type", content_type.to_owned()));
    }
    if let Some(token) = &credentials.token {
        headers.push(("x-amz-security-token", token.to_string()));
    }
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines = headers.iter().map(|(name, value)| [name, ":", value, "\n"].concat());
    let lines: String = lines.collect();
    let Request { method, path, query, .. } = request;
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{digest}");
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

/// Returns the text of the first element with this name in one of Amazon's errors, which are XML without
/// attributes.
pub fn xml_element(body: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest(&SHA256, bytes).as_ref())
}

/// Returns the time as `20150830T123600Z`.
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
            query: "",
            host: "example.amazonaws.com",
            content_type: None,
            body: b"",
            with_digest: false,
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

    /// The signature of the same request by botocore, Amazon's own library.
    #[test]
    fn botocores_vectors() {
        let request = Request {
            method: "POST",
            path: "/v2/email/outbound-emails",
            query: "",
            host: "email.us-east-1.amazonaws.com",
            content_type: Some("application/json"),
            body: b"{\"a\":1}",
            with_digest: false,
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

    /// The signatures of requests to S3 by botocore.
    #[test]
    fn botocores_vectors_for_s3() {
        let put = Request {
            method: "PUT",
            path: "/bucket/a/webhooks/m2/2026-01-31/dlv_1.json",
            query: "",
            host: "s3.us-east-1.amazonaws.com",
            content_type: Some("application/json"),
            body: b"{\"a\":1}",
            with_digest: true,
        };
        assert_eq!(
            signature(&put, "s3", None),
            "d1a770758158e0f4b2d2d3fa53663327344f514b8ba2f6b1df9eb48249240bf9"
        );
        assert_eq!(
            signature(&put, "s3", Some("a-token")),
            "5b6005d58aad63cf054bdc1e031299536c115fa1bc9efa0b45bf1d6722381a38"
        );
        let list = Request {
            method: "GET",
            path: "/bucket",
            query: "list-type=2&max-keys=1",
            content_type: None,
            body: b"",
            ..put
        };
        assert_eq!(
            signature(&list, "s3", None),
            "bef26cf5eab1ff550ba4ff277d062a327f7b9153611cf0aa1bac5939124bd57f"
        );
    }
}
