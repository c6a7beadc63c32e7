//! The location of the archive, `s3://BUCKET/PREFIX`, and its URL.
//!
//! Names are restricted to characters that need no encoding in a URL or in a signature.

use std::{fmt, str::FromStr};

use gancho_egress::aws::Credentials;
use thiserror::Error;
use url::Url;

/// A bucket, and the prefix of the names in it; written as `s3://BUCKET/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Location {
    pub bucket: String,
    /// Has no slash at either end; may be empty.
    pub prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum S3LocationError {
    #[error("an archive URL begins with s3://")]
    Scheme,
    #[error("`{0}` is not a bucket name: 3 to 63 lower-case letters, digits, dots and hyphens")]
    Bucket(String),
    #[error(
        "`{0}` is not a prefix: letters, digits and -_.=/ only, at most 400 characters, no empty part and no `..`"
    )]
    Prefix(String),
}

impl FromStr for S3Location {
    type Err = S3LocationError;

    fn from_str(text: &str) -> Result<Self, S3LocationError> {
        let rest = text.strip_prefix("s3://").ok_or(S3LocationError::Scheme)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        let begins = |byte: u8| fits(byte) && !b"-.".contains(&byte);
        let is_bucket = (3..=63).contains(&bucket.len())
            && bucket.bytes().all(fits)
            && bucket.bytes().next().is_some_and(begins)
            && bucket.bytes().last().is_some_and(begins)
            && !bucket.contains("..");
        if !is_bucket {
            return Err(S3LocationError::Bucket(bucket.to_owned()));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=".contains(&byte);
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(fits);
        if !(prefix.is_empty() || prefix.len() <= 400 && prefix.split('/').all(is_part)) {
            return Err(S3LocationError::Prefix(prefix.to_owned()));
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

impl S3Location {
    /// Returns the whole name of a document.
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }
}

#[derive(Debug, Clone)]
pub struct S3Settings {
    pub location: S3Location,
    pub region: String,
    /// The URL of a service other than Amazon's, such as R2 or MinIO.
    pub endpoint: Option<Url>,
    pub credentials: Credentials,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum S3SettingsError {
    #[error("`{0}` is not a region, e.g. eu-west-1")]
    Region(String),
    #[error("the endpoint must be an http or https URL without a path")]
    Endpoint,
}

impl S3Settings {
    /// Returns the URL of the bucket, without a slash at its end.
    pub fn url(&self) -> Result<Url, S3SettingsError> {
        let Self { location: S3Location { bucket, .. }, region, .. } = self;
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if region.is_empty() || !region.bytes().all(is_plain) {
            return Err(S3SettingsError::Region(region.clone()));
        }
        let text = if let Some(endpoint) = &self.endpoint {
            let is_bare = matches!(endpoint.path(), "" | "/")
                && endpoint.query().is_none()
                && endpoint.username().is_empty();
            if !matches!(endpoint.scheme(), "http" | "https") || !is_bare {
                return Err(S3SettingsError::Endpoint);
            }
            format!("{}/{bucket}", endpoint.as_str().trim_end_matches('/'))
        } else {
            let domain =
                if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
            // Amazon's certificate covers only one label for the bucket.
            if bucket.contains('.') {
                format!("https://s3.{region}.{domain}/{bucket}")
            } else {
                format!("https://{bucket}.s3.{region}.{domain}")
            }
        };
        Url::parse(&text).map_err(|_| S3SettingsError::Endpoint)
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    #[test]
    fn a_location_is_a_bucket_and_a_prefix() {
        for (text, bucket, prefix) in [
            ("s3://dead-letters", "dead-letters", ""),
            ("s3://dead-letters/", "dead-letters", ""),
            ("s3://a.b.c/x/y=1/", "a.b.c", "x/y=1"),
        ] {
            let read: S3Location = text.parse().unwrap();
            assert_eq!((read.bucket.as_str(), read.prefix.as_str()), (bucket, prefix));
            assert_eq!(read.to_string(), text.trim_end_matches('/'));
        }
        for invalid in [
            "",
            "dead-letters",
            "https://dead-letters",
            "s3://",
            "s3://ab",
            "s3://Dead",
            "s3://a..b",
            "s3://-ab",
            "s3://abc/x//y",
            "s3://abc/../y",
            "s3://abc/é",
            "s3://abc/a b",
            "s3://abc/a?b",
        ] {
            assert!(invalid.parse::<S3Location>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_url_depends_on_the_service() {
        let settings = |location: &str, region: &str, endpoint: Option<&str>| S3Settings {
            location: location.parse().unwrap(),
            region: region.to_owned(),
            endpoint: endpoint.map(|url| url.parse().unwrap()),
            credentials: Credentials {
                key_id: "a".into(),
                secret: Zeroizing::new("canary".into()),
                token: None,
            },
        };
        let r2 = "https://0123.r2.cloudflarestorage.com";
        for (location, region, endpoint, url) in [
            ("s3://abc/x", "eu-west-1", None, "https://abc.s3.eu-west-1.amazonaws.com/"),
            ("s3://a.bc", "eu-west-1", None, "https://s3.eu-west-1.amazonaws.com/a.bc"),
            ("s3://abc", "cn-north-1", None, "https://abc.s3.cn-north-1.amazonaws.com.cn/"),
            ("s3://abc", "auto", Some(r2), "https://0123.r2.cloudflarestorage.com/abc"),
            ("s3://abc", "us-east-1", Some("http://minio:9000/"), "http://minio:9000/abc"),
        ] {
            assert_eq!(settings(location, region, endpoint).url().unwrap().as_str(), url);
        }
        let refused = |region, endpoint| settings("s3://abc", region, endpoint).url().unwrap_err();
        assert_eq!(refused("EU West", None), S3SettingsError::Region("EU West".into()));
        for endpoint in ["http://h/path", "http://h/?a=b", "http://u:p@h/", "ftp://h/"] {
            assert_eq!(refused("auto", Some(endpoint)), S3SettingsError::Endpoint);
        }
        assert!(!format!("{:?}", settings("s3://abc", "auto", None)).contains("canary"));
    }
}
