//! Content that is shown once: a secret or a key that was just created. The response to the form is a
//! redirect, so that reloading the page does not create another one. The secret waits for that page in a
//! cookie of its path, encrypted with a key of the session, and is removed when it is shown. No URL and no
//! log contains it, and any node can show it.

use axum::response::Response;
use http::header;
use serde_json::Value;

use crate::{
    cookies, page,
    params::Link,
    problem::Problem,
    sealed::{MAX_SEALED, ONCE_TTL, SealKey},
    visit::Visit,
};

const PURPOSE: &str = "gancho dashboard: shown once";

impl Visit {
    /// Redirects to the page that shows these values once.
    pub fn show_once(&self, page: &Link, values: &Value) -> Result<Response, Problem> {
        let until = self.t.now + ONCE_TTL;
        let sealed = self
            .once_key()
            .and_then(|key| key.seal(page.path(), until, &values.to_string()))
            .filter(|sealed| sealed.len() <= MAX_SEALED)
            .ok_or_else(|| Problem::internal("a secret could not be sealed"))?;
        let mut response = page::see_other(&page.to_string());
        self.write_once(&mut response, page.path(), &sealed);
        Ok(response)
    }

    /// Returns the values that the previous form left for this page. The response must [`Visit::forget_once`]
    /// them.
    pub fn once(&self) -> Option<Value> {
        let opened = self.once_key()?.open(&self.path, self.t.now, self.once_cookie.as_deref()?)?;
        serde_json::from_str(&opened).ok()
    }

    pub fn forget_once(&self, mut response: Response) -> Response {
        if self.once_cookie.is_some() {
            self.write_once(&mut response, &self.path, "");
        }
        response
    }

    fn once_key(&self) -> Option<SealKey> {
        SealKey::derive(PURPOSE, self.visitor.csrf())
    }

    fn write_once(&self, response: &mut Response, path: &str, value: &str) {
        let is_secure = self.dashboard.is_secure();
        let max_age = ONCE_TTL.as_secs();
        let cookie = cookies::write_at(self.base, path, cookies::ONCE, value, max_age, is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    }
}
