//! The portal: its look, and where it may be embedded.

use bytes::Bytes;
use http::HeaderValue;

use crate::{
    brand::{self, Brand},
    page,
};

/// The look of the portal, and where it may be embedded.
#[derive(Debug, Clone, Default)]
pub struct PortalSettings {
    pub brand: Brand,
    /// Origins whose pages may have the portal in a frame, e.g. `https://app.example.com`.
    pub frame_origins: Vec<String>,
}

/// What the pages of the portal share.
pub struct Portal {
    pub brand: Brand,
    pub frame_origins: String,
    pub(crate) policy: HeaderValue,
    pub(crate) stylesheet: Option<(String, Bytes)>,
}

impl Portal {
    pub fn new(settings: PortalSettings) -> Self {
        let PortalSettings { brand, frame_origins } = settings;
        let policy = HeaderValue::from_str(&page::portal_policy(&frame_origins));
        let stylesheet = brand.stylesheet().map(Bytes::from);
        Self {
            policy: policy.unwrap_or(HeaderValue::from_static(page::POLICY)),
            frame_origins: frame_origins.join(" "),
            stylesheet: stylesheet.map(|css| (brand::version(&css), css)),
            brand,
        }
    }

    /// Returns the URL of the stylesheet with the color of the brand.
    pub fn stylesheet(&self) -> Option<String> {
        let (version, _) = self.stylesheet.as_ref()?;
        Some(format!("/portal/theme.css?v={version}"))
    }

    pub fn logo(&self) -> Option<String> {
        let logo = self.brand.logo.as_ref()?;
        Some(format!("/portal/logo?v={}", brand::version(&logo.content)))
    }
}
