//! The dashboard as a whole: its state, and the table of its pages.

use std::{future::Future, sync::Arc};

use axum::{
    Router,
    extract::Request,
    middleware::map_response_with_state,
    response::{Redirect, Response},
    routing::{MethodRouter, get, post},
};
use gancho_access::SessionCookie;
use gancho_domain::Clock;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::{
    assets,
    backend::Backend,
    cookies, drafts,
    endpoint_names::EndpointNames,
    features::KnownFeatures,
    login_links::LoginLinks,
    page::{self, HEADERS},
    pages::{self, TenantFigures, error},
    portal::{self, Portal, PortalSettings},
    problem::Problem,
    profiles::ProfileDefaults,
    sealed::SealKey,
    submission::Submission,
    visit::Visit,
};

pub struct Setup {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    /// The public URL of the gateway, without a trailing slash.
    pub public_url: String,
    pub portal: PortalSettings,
    pub login_links: Arc<LoginLinks>,
    /// The presets of sources that need no more than their name.
    pub presets: &'static [&'static str],
    /// The profiles that endpoints can have, by name.
    pub profiles: Vec<ProfileDefaults>,
    /// The names of the plans that tenants can have.
    pub plans: Vec<String>,
    /// At least 256 bits that all nodes share, to seal forms that wait for a login.
    pub draft_secret: String,
}

pub struct Dashboard {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub portal: Portal,
    pub login_links: Arc<LoginLinks>,
    pub endpoint_names: EndpointNames,
    pub features: KnownFeatures,
    pub tenant_figures: TenantFigures,
    pub presets: &'static [&'static str],
    pub profiles: Vec<ProfileDefaults>,
    pub plans: Vec<String>,
    /// Seals forms that wait for a login.
    pub draft_key: Option<SealKey>,
    pub public_url: String,
}

impl Dashboard {
    /// Whether browsers reach it by HTTPS, and cookies must not be sent without.
    pub fn is_secure(&self) -> bool {
        self.public_url.starts_with("https://")
    }

    /// The cookie of a session that this gateway has made, be the session over or not.
    pub fn session_cookie(&self, headers: &HeaderMap) -> Option<SessionCookie> {
        let mut cookies = cookies::read_all(headers, cookies::session(self.is_secure())).take(8);
        cookies.find_map(|cookie| self.backend.session_cookie(cookie))
    }
}

pub type PageResult = Result<Response, Problem>;

/// All pages, below `/ui` and `/portal`.
pub fn router(setup: Setup) -> Router {
    let Setup { backend, clock, public_url, portal, login_links, .. } = setup;
    let Setup { presets, profiles, plans, draft_secret, .. } = setup;
    let portal = Portal::new(portal);
    let endpoint_names = EndpointNames::default();
    let dashboard = Arc::new(Dashboard {
        backend,
        clock,
        portal,
        login_links,
        endpoint_names,
        features: KnownFeatures::default(),
        tenant_figures: TenantFigures::default(),
        presets,
        profiles,
        plans,
        draft_key: SealKey::derive("drafts", &draft_secret),
        public_url,
    });
    let pages = pages::router()
        .route("/ui/{*path}", page(miss))
        .method_not_allowed_fallback(refuse_method)
        .layer(map_response_with_state(dashboard.clone(), with_headers));
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/ui/") }))
        .route("/ui", get(to_start))
        .route("/admin/queues", get(|| async { Redirect::permanent("/ui/queues") }))
        .merge(assets::router())
        .merge(pages)
        .merge(portal::router(&dashboard))
        .with_state(dashboard)
}

/// An address that only takes a form was opened as a page, or the other way round.
pub(crate) async fn refuse_method(visit: Visit) -> Response {
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "");
    error::show(&visit, &problem)
}

/// An address without a page. One that ends with a slash may be the page without it.
pub(crate) async fn miss(visit: Visit) -> PageResult {
    match visit.path.strip_suffix('/') {
        Some(path) if visit.base.has(path) => {
            let query = visit.params.without(&[]);
            let mark = if query.is_empty() { "" } else { "?" };
            Ok(page::see_other(&format!("{path}{mark}{query}")))
        }
        _ => Err(Problem::no_page()),
    }
}

async fn to_start(request: Request) -> Redirect {
    match request.uri().query() {
        Some(query) => Redirect::permanent(&format!("/ui/?{query}")),
        None => Redirect::permanent("/ui/"),
    }
}

/// A page that reads. Its errors are shown as a page.
pub fn page<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Visit) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    get(move |visit: Visit| async move {
        let mut response = match run(visit.clone()).await {
            Ok(response) => response,
            Err(problem) => error::show(&visit, &problem),
        };
        if visit.draft.is_some() {
            let forget = drafts::forget(&visit.dashboard);
            response.headers_mut().extend(forget.map(|cookie| (header::SET_COOKIE, cookie)));
        }
        visit.with_flash(response)
    })
}

/// A page with a form that sets something up, for those who may.
pub fn setup_page<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Visit) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    page(move |visit: Visit| {
        let run = run.clone();
        async move {
            visit.check_may_configure()?;
            run(visit).await
        }
    })
}

/// A form that changes something.
pub fn form<F, R>(run: F) -> MethodRouter<Arc<Dashboard>>
where
    F: Fn(Submission) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = PageResult> + Send,
{
    post(move |submission: Submission| async move {
        let visit = submission.visit.clone();
        let response = run(submission).await;
        visit.with_flash(response.unwrap_or_else(|problem| error::show(&visit, &problem)))
    })
}

pub(crate) async fn with_headers(
    axum::extract::State(dashboard): axum::extract::State<Arc<Dashboard>>,
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(value);
    }
    if dashboard.is_secure() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    response
}
