//! Connects the dashboard to the API in this process.

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use gancho_access::{
    AccessError, BeginSessionError, NewPortalSession, OpenPortalError, Operator, OperatorSession,
    PortalLinkError, PortalSession, Principal, SessionCookie,
};
use gancho_api::{Api, InProcessApi, in_process};
use gancho_dashboard::{
    Backend, Login, LoginError, LoginLinks, PortalError, PortalSettings, ProfileDefaults, Setup,
    backend::RequestGuard, brand::Brand,
};
use gancho_domain::{AddressBlock, Tenant};
use gancho_store::StoreError;
use gancho_vault::Secret;
use http::{Request, Response, request::Parts};

use crate::{
    api_backend::ApiBackend,
    settings::{Settings, portal::read_logo},
};

/// How long a page waits for the store to identify its user.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the pages of the dashboard.
pub fn router(api: &Api, settings: &Settings, login_links: Arc<LoginLinks>) -> axum::Router {
    gancho_dashboard::router(Setup {
        backend: Arc::new(ApiBackend(InProcessApi::new(api))),
        clock: api.clock.clone(),
        public_url: api.settings.public_url.clone(),
        portal: portal(settings),
        login_links,
        presets: &gancho_inbound::preset::Preset::NAMES,
        profiles: profiles(api),
        plans: api.plans.names().map(ToOwned::to_owned).collect(),
        draft_secret: api.access.sessions.draft_secret(),
    })
}

fn profiles(api: &Api) -> Vec<ProfileDefaults> {
    let names = api.registry.profile_names().into_iter();
    let profiles = names.filter_map(|name| api.registry.profile(name));
    let defaults = profiles.map(|profile| ProfileDefaults {
        name: profile.name.clone(),
        timeout: profile.timeout,
        schedule: profile.schedule.clone(),
    });
    defaults.collect()
}

fn portal(settings: &Settings) -> PortalSettings {
    // A file that changed since the settings were checked is left out.
    let logo = settings.portal_logo.as_deref().and_then(|path| read_logo(path).ok());
    PortalSettings {
        brand: Brand {
            name: settings.portal_name.trim().to_owned(),
            color: settings.portal_color.map(|color| color.0),
            logo,
        },
        frame_origins: settings
            .portal_frame_origins
            .iter()
            .map(|origin| origin.as_str().to_owned())
            .collect(),
    }
}

#[async_trait]
impl Backend for ApiBackend {
    async fn log_in(&self, parts: &Parts, token: &str) -> Result<Login, LoginError> {
        let _waiting = InProcessApi::wait(parts);
        match self.0.log_in(address(parts), token).await {
            Ok(Principal::Operator(_)) => Ok(Login::Operator),
            // A key of a tenant is a valid credential, but not for the dashboard.
            Ok(Principal::Tenant(_)) => Err(LoginError::InvalidToken),
            Err(error) => Err(login_error(&error)),
        }
    }

    async fn open_portal(
        &self,
        parts: &Parts,
        token: &str,
    ) -> Result<NewPortalSession, PortalError> {
        let _waiting = InProcessApi::wait(parts);
        match self.0.open_portal(address(parts), token).await {
            Ok(session) => Ok(session),
            Err(in_process::PortalError::Throttled(error)) => {
                Err(PortalError::Throttled(error.retry_after))
            }
            Err(in_process::PortalError::Open(error)) => Err(match error {
                OpenPortalError::Link(PortalLinkError::Expired) => PortalError::Expired,
                OpenPortalError::Link(PortalLinkError::Invalid) => PortalError::Invalid,
                OpenPortalError::Store(_) => PortalError::Unavailable,
            }),
        }
    }

    async fn is_portal_session_open(&self, session: &PortalSession) -> bool {
        self.0.api().access.is_portal_session_open(session).await
    }

    async fn portal_session(&self, cookie: &str) -> Result<Option<PortalSession>, AccessError> {
        self.0.api().access.portal_session(cookie).await
    }

    async fn log_in_user(
        &self,
        parts: &Parts,
        name: &str,
        password: &str,
    ) -> Result<Login, LoginError> {
        let _waiting = InProcessApi::wait(parts);
        let password = Secret::new(password.to_owned());
        let found = self.0.log_in_user(address(parts), name, password).await;
        let (user, _) = found.map_err(|error| login_error(&error))?;
        Ok(Login::User(user))
    }

    async fn record_login(&self, operator: &Operator, from: AddressBlock) {
        self.0.record_login(operator, from).await;
    }

    async fn begin_session(&self, login: &Login) -> Result<String, BeginSessionError> {
        let user = match login {
            Login::Operator => None,
            Login::User(user) => Some(user),
        };
        with_timeout(self.0.api().access.begin_session(user), Into::into).await
    }

    async fn session(&self, cookie: SessionCookie) -> Result<Option<OperatorSession>, AccessError> {
        with_timeout(async { Ok(self.0.api().access.session(cookie).await?) }, AccessError::from)
            .await
    }

    fn session_cookie(&self, cookie: &str) -> Option<SessionCookie> {
        self.0.api().access.session_cookie(cookie)
    }

    async fn is_session_open(&self, session: &OperatorSession) -> bool {
        self.0.api().access.is_session_open(session).await
    }

    async fn end_session(&self, session: &OperatorSession) -> Result<(), AccessError> {
        Ok(self.0.api().access.end_session(session).await?)
    }

    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError> {
        Ok(self.0.api().access.tenants.find(name).await?)
    }

    async fn read_form(
        &self,
        sender: Option<&Principal>,
        parts: &Parts,
        body: Body,
        max: usize,
    ) -> Result<(Bytes, RequestGuard), Response<Bytes>> {
        let (bytes, held) = self.0.read_body(sender, parts, body, max).await?;
        Ok((bytes, Arc::new(held)))
    }

    async fn begin_request(&self, principal: &Principal) -> Result<RequestGuard, Response<Bytes>> {
        Ok(Arc::new(self.0.begin_request(principal).await?))
    }

    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        self.0.call(principal, request).await
    }

    async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body> {
        self.0.stream(principal, request).await
    }
}

/// Returns the address that the limits of guesses apply to.
fn address(parts: &Parts) -> AddressBlock {
    let known = parts.extensions.get::<AddressBlock>().copied();
    known.unwrap_or_else(|| IpAddr::from([0, 0, 0, 0]).into())
}

/// Limits the time of the work: a store that does not answer at all is unavailable.
async fn with_timeout<T, E>(
    work: impl Future<Output = Result<T, E>>,
    unavailable: impl FnOnce(StoreError) -> E,
) -> Result<T, E> {
    let done = tokio::time::timeout(STORE_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(unavailable(StoreError::Unavailable("no response".to_owned()))))
}

fn login_error(error: &in_process::LoginError) -> LoginError {
    match error {
        in_process::LoginError::Throttled(error) => LoginError::Throttled(error.retry_after),
        in_process::LoginError::Access(AccessError::Store(_)) => LoginError::Unavailable,
        in_process::LoginError::Access(_) => LoginError::InvalidToken,
    }
}
