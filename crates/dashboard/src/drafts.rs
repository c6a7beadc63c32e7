//! A form that arrives after the end of its session: the browser stores the typed text, encrypted and without
//! secrets, until its owner has signed in again, and the page of the form shows it.

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, header, request::Parts};

use crate::{
    base::Base,
    cookies,
    dashboard::Dashboard,
    form_body::{self, MAX_STRANGER_BYTES},
    origin,
    params::Params,
    sealed::{DRAFT_TTL, MAX_SEALED},
};

/// Fields that are never stored, because they are or may contain secrets.
const SECRETS: [&str; 6] = ["csrf", "secret", "token", "password", "verify_token", "headers"];
const PLACE: &str = "draft";

/// Adds the typed text to the response that leads to the login.
pub async fn keep(
    dashboard: &Dashboard,
    parts: &Parts,
    body: Body,
    mut answer: Response,
) -> Response {
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let is_kept = Base::of(parts.uri.path()) == Base::Dashboard
        && answer.status().is_redirection()
        && dashboard.session_cookie(&parts.headers).is_some()
        && origin::is_own(&parts.headers, &parts.uri);
    if !is_kept {
        return answer;
    }
    if length.is_none_or(|length| length > MAX_STRANGER_BYTES as u64) {
        return say_lost(answer);
    }
    if let Ok(read) = form_body::read(dashboard, None, parts, body).await
        && let Some(cookie) = seal(dashboard, parts.uri.path(), &read.form)
    {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
        return answer;
    }
    say_lost(answer)
}

/// Makes the login page say that the form was too long to store.
fn say_lost(mut answer: Response) -> Response {
    let location = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
    let location = location.map(|to| to.replace("ended=form", "ended=lost"));
    if let Some(Ok(location)) = location.map(|to| HeaderValue::from_str(&to)) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

fn seal(dashboard: &Dashboard, path: &str, form: &Params) -> Option<HeaderValue> {
    let text = format!("{path}\n{}", form.without(&SECRETS));
    let until = dashboard.clock.now() + DRAFT_TTL;
    let sealed = dashboard.draft_key.as_ref()?.seal(PLACE, until, &text)?;
    let is_secure = dashboard.is_secure();
    (sealed.len() <= MAX_SEALED)
        .then(|| cookies::write(cookies::DRAFT, &sealed, DRAFT_TTL.as_secs(), is_secure))?
}

/// Returns what was typed into the form of this page.
pub fn of_page(dashboard: &Dashboard, headers: &HeaderMap, path: &str) -> Option<Params> {
    let sealed = cookies::read(headers, cookies::DRAFT)?;
    let text = dashboard.draft_key.as_ref()?.open(PLACE, dashboard.clock.now(), sealed)?;
    let (of, fields) = text.split_once('\n')?;
    (of == path).then(|| Params::parse(fields))
}

pub fn forget(dashboard: &Dashboard) -> Option<HeaderValue> {
    cookies::write(cookies::DRAFT, "", 0, dashboard.is_secure())
}
