//! The headers of an attempt: the tenant's custom headers and the gateway's own, which override them, so that
//! each name occurs once and no header of the gateway can be forged.

use bytes::Bytes;
use gancho_egress::{add_signed, header_record, header_value, hops};
use gancho_wire::{AttemptMetadata, sign};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::registry::Target;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub(crate) struct PreparedRequest {
    pub headers: HeaderMap,
    /// `name: value` lines for the attempt log, with the tenant's values masked.
    pub record: Bytes,
}

pub(crate) fn prepare(
    target: &Target,
    sending: &AttemptMetadata<'_>,
    traceparent: &str,
    hops: Option<HeaderValue>,
    body: &[u8],
) -> Result<PreparedRequest, String> {
    let mut headers = target.signed_headers(sending, body)?;
    headers.insert(TRACEPARENT, header_value(traceparent)?);
    if let Some(hops) = hops {
        headers.insert(hops::HEADER, hops);
    }
    let record = header_record(&headers);
    Ok(PreparedRequest { headers, record })
}

impl Target {
    /// Returns the headers of a signed request to this endpoint.
    pub fn signed_headers(
        &self,
        sending: &AttemptMetadata<'_>,
        body: &[u8],
    ) -> Result<HeaderMap, String> {
        let keys = self.keys(sending.at);
        let signed = sign(&self.profile, sending, body, keys).map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::with_capacity(self.headers.len() + signed.len() + 4);
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, header_value(&self.profile.user_agent)?);
        add_signed(&mut headers, signed)?;
        Ok(headers)
    }
}
