//! The table of routes. Every path works with and without the prefix `/v1`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{RawPathParams, Request},
    routing::any,
};

use crate::{
    answer::into_axum,
    docs,
    operations::{
        alerts, api_keys, audit, captured_emails, cells, dead_letters, deliveries,
        egress_addresses, emails, encryption_keys, erasures, event_types, events, ledger, nodes,
        portal_links, queues, rejected_events, replays, sources, stats, suppressions, tenants,
        usage, users, webhooks,
    },
    probes,
    route::Route,
    serve::{self, PathParts, RouteHandle},
    state::Api,
};

pub const ROUTES: &[&Route] = &[
    &events::publish::ROUTE,
    &events::batch::ROUTE,
    &events::list::ROUTE,
    &events::get::ROUTE,
    &events::cancel::ROUTE,
    &erasures::create::ROUTE,
    &rejected_events::list::ROUTE,
    &rejected_events::retry::ROUTE,
    &rejected_events::delete::ROUTE,
    &webhooks::create::ROUTE,
    &webhooks::list::ROUTE,
    &webhooks::get::ROUTE,
    &webhooks::replace::ROUTE,
    &webhooks::change::ROUTE,
    &webhooks::delete::ROUTE,
    &webhooks::secret::ROUTE,
    &webhooks::rotate_secret::ROUTE,
    &webhooks::test::ROUTE,
    &webhooks::test::BY_BODY,
    &webhooks::pause::PAUSE,
    &webhooks::pause::RESUME,
    &egress_addresses::list::ROUTE,
    &event_types::list::ROUTE,
    &event_types::create::ROUTE,
    &event_types::get::ROUTE,
    &event_types::replace::ROUTE,
    &event_types::delete::ROUTE,
    &deliveries::list::ROUTE,
    &deliveries::list::OF_WEBHOOK,
    &deliveries::tail::ROUTE,
    &deliveries::get::ROUTE,
    &deliveries::get::OF_WEBHOOK,
    &deliveries::retry::ROUTE,
    &deliveries::check_signature::ROUTE,
    &deliveries::retry::OF_WEBHOOK,
    &emails::send::ROUTE,
    &emails::list::ROUTE,
    &emails::get::ROUTE,
    &suppressions::list::ROUTE,
    &suppressions::add::ROUTE,
    &suppressions::import::ROUTE,
    &suppressions::remove::ROUTE,
    &replays::create::ROUTE,
    &replays::list::ROUTE,
    &replays::get::ROUTE,
    &replays::cancel::ROUTE,
    &dead_letters::list::ROUTE,
    &dead_letters::stats::ROUTE,
    &dead_letters::export::ROUTE,
    &dead_letters::import::ROUTE,
    &dead_letters::get::ROUTE,
    &dead_letters::replay::ONE,
    &dead_letters::replay::ROUTE,
    &dead_letters::purge::ONE,
    &dead_letters::purge::ROUTE,
    &stats::get::ROUTE,
    &stats::webhook::ROUTE,
    &stats::webhooks::ROUTE,
    &queues::list::ROUTE,
    &queues::pause::PAUSE,
    &queues::pause::RESUME,
    &nodes::list::ROUTE,
    &cells::list::ROUTE,
    &cells::add::ROUTE,
    &cells::change::ROUTE,
    &tenants::create::ROUTE,
    &tenants::list::ROUTE,
    &tenants::get::ROUTE,
    &tenants::change::ROUTE,
    &tenants::delete::ROUTE,
    &tenants::pause::PAUSE,
    &tenants::pause::RESUME,
    &api_keys::create::ROUTE,
    &api_keys::list::ROUTE,
    &api_keys::revoke::ROUTE,
    &api_keys::own::LIST,
    &api_keys::own::CREATE,
    &api_keys::own::REVOKE,
    &portal_links::create::ROUTE,
    &portal_links::revoke::ROUTE,
    &usage::get::ROUTE,
    &encryption_keys::list::ROUTE,
    &encryption_keys::rotate::ROUTE,
    &sources::create::ROUTE,
    &sources::list::ROUTE,
    &sources::get::ROUTE,
    &sources::change::ROUTE,
    &sources::delete::ROUTE,
    &sources::keys::LIST,
    &sources::keys::PUT,
    &sources::keys::DELETE,
    &sources::import::ROUTE,
    &sources::receipts::LIST,
    &sources::receipts::GET,
    &sources::proof::ROUTE,
    &sources::retry::ONE,
    &sources::retry::MANY,
    &sources::rejections::OF_SOURCE,
    &sources::rejections::OF_UNKNOWN_PARTNERS,
    &sources::reload::ROUTE,
    &ledger::get::ROUTE,
    &ledger::checkpoint::ROUTE,
    &captured_emails::list::ROUTE,
    &captured_emails::get::ROUTE,
    &users::create::ROUTE,
    &users::list::ROUTE,
    &users::get::ROUTE,
    &users::change::ROUTE,
    &users::delete::ROUTE,
    &users::own_password::ROUTE,
    &audit::list::ROUTE,
    &tenants::notice_emails::GET,
    &tenants::notice_emails::PUT,
    &tenants::metadata::GET,
    &tenants::metadata::PUT,
    &alerts::list::ROUTE,
    &alerts::history::ROUTE,
    &alerts::test::ROUTE,
    &alerts::silences::LIST,
    &alerts::silences::CREATE,
    &alerts::silences::DELETE,
];

/// The API and its documentation, merged with `extra`.
pub fn router(api: &Api, extra: Router) -> Router {
    let router = api_router(api, by_path()).merge(docs::router(api));
    with_probes(api, router.merge(extra))
}

/// The router of a node without the API: its probes, and the operations that each node serves itself.
pub fn node_router(api: &Api) -> Router {
    let own = |path: &&str| NODE_ROUTES.iter().any(|route| route.path == *path);
    let paths = by_path().into_iter().filter(|(path, _)| own(path)).collect();
    with_probes(api, api_router(api, paths))
}

const NODE_ROUTES: [&Route; 4] = [
    &deliveries::tail::ROUTE,
    &sources::rejections::OF_SOURCE,
    &sources::rejections::OF_UNKNOWN_PARTNERS,
    &sources::reload::ROUTE,
];

/// The routes of the API alone, for callers in this process.
pub(crate) fn operations_router(api: &Api) -> Router {
    let fallback = api.clone();
    api_router(api, by_path()).fallback(move |request: Request| async move {
        into_axum(serve::no_route(&fallback, request))
    })
}

fn api_router(api: &Api, paths: BTreeMap<&'static str, Vec<&'static Route>>) -> Router {
    let mut router = Router::new();
    for (path, routes) in paths {
        let here: Arc<[RouteHandle]> =
            routes.into_iter().map(|route| RouteHandle::new(api, route)).collect();
        for form in [format!("/v1{path}"), path.to_owned()] {
            let (api, here) = (api.clone(), here.clone());
            let answer = any(move |params: Option<Parts>, request: Request| async move {
                let path = params.map(|Parts(parts)| parts);
                into_axum(serve::serve(&api, &here, path, request).await)
            });
            router = router.route(&form, answer);
        }
    }
    router
}

fn with_probes(api: &Api, router: Router) -> Router {
    let fallback = api.clone();
    router.merge(probes::router(api)).fallback(move |request: Request| async move {
        into_axum(serve::no_route(&fallback, request))
    })
}

fn by_path() -> BTreeMap<&'static str, Vec<&'static Route>> {
    let mut paths = BTreeMap::<_, Vec<_>>::new();
    for route in ROUTES {
        paths.entry(route.path).or_default().push(*route);
    }
    paths
}

/// Path parameters; `None` if they are not UTF-8.
struct Parts(PathParts);

impl<S: Send + Sync> axum::extract::OptionalFromRequestParts<S> for Parts {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        state: &S,
    ) -> Result<Option<Self>, Self::Rejection> {
        use axum::extract::FromRequestParts;
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        Ok(params.map(|params| {
            Self(params.iter().map(|(name, value)| (name.into(), value.into())).collect())
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_route_is_listed_twice() {
        let all: BTreeSet<_> = ROUTES.iter().map(|r| (r.path, r.method.as_str())).collect();
        assert_eq!(all.len(), ROUTES.len());
    }

    #[test]
    fn every_route_says_what_it_is_for() {
        for route in ROUTES {
            assert!(!route.summary.is_empty() && !route.tag.is_empty(), "{}", route.path);
            assert!(!route.summary.ends_with('.'), "{}", route.path);
        }
    }
}
