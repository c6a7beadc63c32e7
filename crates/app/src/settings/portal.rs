//! Settings of the portal that need a closer look: the color of the brand, and the sites that may embed it.

use gancho_dashboard::{
    brand::{self, Logo, LogoError, MAX_LOGO_BYTES},
    color::Color,
};
use url::{Host, Url};

use super::{
    error::ValueError,
    raw_value::RawValue,
    value::{Setting, one, quoted},
};

/// A color on which white text can be read, and which can be read on white.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrandColor(pub Color);

impl Setting for BrandColor {
    const FORM: &'static str = "a color, e.g. `#0b6b57`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let text = one(written)?;
        let color: Color = text.parse().map_err(|()| {
            ValueError::new(format!("`{text}` is not a color"), "for example, #0b6b57")
        })?;
        brand::check(color).map_err(|error| {
            let what = format!(
                "`{color}` is too light: its contrast to light pages is {:.1}, and text needs 4.5 (WCAG AA)",
                error.contrast
            );
            ValueError::new(what, format!("the nearest color that works is {}", error.nearest))
        })?;
        Ok(Self(color))
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// A site whose pages may have the portal in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameOrigin(String);

impl FrameOrigin {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for FrameOrigin {
    const FORM: &'static str = "an origin, e.g. `https://app.example.com`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let text = one(written)?;
        let refuse = |what: &str| {
            ValueError::new(format!("`{text}` {what}"), "for example, https://app.example.com")
        };
        let url = Url::parse(text).map_err(|_| refuse("is not an origin"))?;
        let origin = url.origin().ascii_serialization();
        if text.contains('*') {
            return Err(refuse("has a wildcard; list each origin"));
        }
        if text.trim_end_matches('/') != origin {
            return Err(refuse("is not an origin: scheme, host and port alone"));
        }
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => Ok(Self(origin)),
            "http" if is_loopback => Ok(Self(origin)),
            _ => Err(refuse("is not https; http is for localhost alone")),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The logo in a file.
pub fn read_logo(path: &std::path::Path) -> Result<Logo, ValueError> {
    let content = std::fs::read(path).map_err(|error| {
        ValueError::new(format!("cannot read the file: {error}"), "name an SVG or PNG file")
    })?;
    Logo::read(content).map_err(|error| match error {
        LogoError::TooLarge => {
            let what = format!("the file is larger than {} KiB", MAX_LOGO_BYTES / 1024);
            ValueError::new(what, "use a smaller image; it is shown 28 pixels high")
        }
        LogoError::UnknownFormat => {
            ValueError::new("the file is neither SVG nor PNG", "convert it to one of them")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Setting>(text: &str) -> Result<T, ValueError> {
        T::read(&RawValue::One(text.to_owned()))
    }

    #[test]
    fn a_color_that_cannot_be_read_is_refused_with_one_that_can() {
        assert_eq!(read::<BrandColor>("#0B6B57").unwrap().show(), "\"#0b6b57\"");
        let refused = read::<BrandColor>("#ffcc00").unwrap_err();
        assert!(
            refused.what.contains("contrast") && refused.what.contains("4.5"),
            "{}",
            refused.what
        );
        let nearest = refused.hint.rsplit(' ').next().unwrap();
        assert!(read::<BrandColor>(nearest).is_ok(), "{nearest}");
        assert!(read::<BrandColor>("green").unwrap_err().what.contains("is not a color"));
    }

    #[test]
    fn only_origins_may_embed() {
        for (text, origin) in [
            ("https://app.example.com", "https://app.example.com"),
            ("https://app.example.com:8443/", "https://app.example.com:8443"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://127.0.0.1:5173", "http://127.0.0.1:5173"),
            ("http://[::1]:5173", "http://[::1]:5173"),
        ] {
            assert_eq!(read::<FrameOrigin>(text).unwrap().as_str(), origin);
        }
        for text in [
            "app.example.com",
            "http://app.example.com",
            "https://app.example.com/path",
            "https://user@app.example.com",
            "https://*.example.com",
            "https://a.example; script-src *",
            "*",
            "'self'",
            "data:",
        ] {
            assert!(read::<FrameOrigin>(text).is_err(), "{text}");
        }
    }
}
