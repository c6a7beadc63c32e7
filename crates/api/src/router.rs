//! Routes requests to the operations. Every path works with and without the prefix `/v1`.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{RawPathParams, Request},
    routing::any,
};

pub use crate::operations::ROUTES;
use crate::{
    answer::into_axum,
    docs,
    operations::{deliveries, sources},
    probes,
    route::{PathParts, Route},
    serve::{self, RouteHandle},
    state::Api,
};

/// Returns the API and its documentation, merged with `extra`.
pub fn router(api: &Api, extra: Router) -> Router {
    let router = api_router(api, by_path()).merge(docs::router(api));
    with_probes(api, router.merge(extra))
}

/// Returns the router of a node without the API: its probes, and the operations that each node serves itself.
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

/// Returns only the routes of the API, for callers in this process.
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
