//! Decides where a browser goes from a page that cannot be shown, and where it returns to.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, header, request::Parts, uri::PathAndQuery};

use crate::{base::Base, page, params::Link};

/// Redirects to the login, and from there back to the page, or to the page of the form. The login says so if
/// there was a session.
pub fn to_login(parts: &Parts, had_session: bool) -> Response {
    let page = parts.uri.path_and_query().map_or("", |page| page.as_str());
    let is_page = parts.method == Method::GET;
    let next = match is_page {
        true if Base::Dashboard.has(page) => page,
        true => "",
        false => form_page(&parts.headers, Base::Dashboard).unwrap_or_default(),
    };
    let ended = match (had_session, is_page) {
        (false, _) => "",
        (true, true) => "page",
        (true, false) => "form",
    };
    let login = Link::new("/ui/login").with("next", next).with("ended", ended);
    let mut response = page::see_other(&login.to_string());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the page to load again after an error: this one, or the one that a form was on.
pub fn again(parts: &Parts) -> Option<String> {
    let base = Base::of(parts.uri.path());
    let page = if parts.method == Method::GET {
        parts.uri.path_and_query().map(PathAndQuery::as_str)
    } else {
        form_page(&parts.headers, base)
    };
    page.map(ToOwned::to_owned)
}

/// Returns the page that a form was on, if the browser says so and it is one of this dashboard.
fn form_page(headers: &HeaderMap, base: Base) -> Option<&str> {
    let referer = headers.get(header::REFERER)?.to_str().ok()?;
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let (_, rest) = referer.split_once("://")?;
    let page = rest.strip_prefix(host)?;
    base.has(page).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_dashboard_are_returned_to() {
        for (referer, page) in [
            ("http://gw.example/ui/endpoints/new?tenant=a", Some("/ui/endpoints/new?tenant=a")),
            ("https://gw.example/ui/", Some("/ui/")),
            ("https://gw.example.evil/ui/", None),
            ("https://evil/ui/", None),
            ("https://evil/?x=://gw.example/ui/", None),
            ("https://gw.example/portal/", None),
            ("https://gw.example//evil", None),
            ("about:blank", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("gw.example"));
            headers.insert(header::REFERER, HeaderValue::from_static(referer));
            assert_eq!(form_page(&headers, Base::Dashboard), page, "{referer}");
        }
    }
}
