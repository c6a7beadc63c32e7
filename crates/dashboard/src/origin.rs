//! Checks that a form was sent by a page of the dashboard, for each change, in addition to the token in the
//! form.

use http::{HeaderMap, Uri, header};

/// Whether a request comes from a page of the dashboard. Browsers say so in `Sec-Fetch-Site`, except to
/// plain-HTTP hosts on a network, and in `Origin`. `Origin: null` can come from any site, so it counts as
/// foreign.
pub fn is_own(headers: &HeaderMap, uri: &Uri) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        // Not a browser: browsers send at least one of the two with every form.
        return true;
    };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.authority().map(http::uri::Authority::as_str));
    let origin_host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    origin_host.is_some() && origin_host == host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("host", "gw.example".parse().unwrap());
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        is_own(&headers, &Uri::from_static("/ui/login"))
    }

    #[test]
    fn other_sites_are_refused() {
        for foreign in [
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "cross-site"), ("origin", "https://gw.example")],
            &[("origin", "null")],
            &[("origin", "https://evil.example")],
            &[("origin", "https://gw.example.evil.example")],
            &[("origin", "ftp://gw.example")],
        ] {
            assert!(!check(foreign), "{foreign:?}");
        }
        for own in [
            &[][..],
            &[("sec-fetch-site", "same-origin"), ("origin", "null")],
            &[("origin", "https://gw.example")],
        ] {
            assert!(check(own), "{own:?}");
        }
    }
}
