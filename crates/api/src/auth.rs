//! Authenticates HTTP requests: reads the credential and `X-Tenant` from the headers, calls
//! [`gancho_access`], and turns its errors into problems.

use gancho_access::{AccessError, KeyError, Needs, Principal, Role, ThrottleError, key_text};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{caller::Caller, codes, input::field::ResourceKind, problem::Problem, state::Api};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_TENANT: HeaderName = HeaderName::from_static("x-tenant");

/// Authenticates the caller, and checks that it has the required access.
pub async fn authorize(
    api: &Api,
    headers: &HeaderMap,
    caller: Option<&Caller>,
    needs: Needs,
) -> Result<Principal, Problem> {
    let principal = identify(api, headers, caller).await?;
    Ok(principal.check(needs, Role::ReadOnly)?)
}

/// Authenticates the caller. Guesses are throttled and counted. Meanwhile its connection can be closed to make
/// room for others: nothing was done yet.
///
/// A well-formed API key has 256 random bits and cannot be guessed, so it is never throttled: however many
/// strangers fail from the same network, a valid key is not refused.
pub async fn identify(
    api: &Api,
    headers: &HeaderMap,
    caller: Option<&Caller>,
) -> Result<Principal, Problem> {
    let token = token(headers)?;
    match caller {
        Some(caller) => {
            let _identifying = caller.connection.read();
            let address = caller.address.block;
            let is_guessable = key_text::parse(token).is_none();
            if is_guessable {
                api.throttle.admit(address, token).await?;
            }
            let principal = authenticate(api, token, headers).await.inspect_err(|problem| {
                if *problem.code() == codes::INVALID_CREDENTIALS {
                    api.meter.login_failed();
                    if is_guessable {
                        api.throttle.fail(address);
                    } else {
                        api.throttle.report(address);
                    }
                }
            })?;
            if is_guessable {
                api.throttle.succeed(address, token);
            }
            caller.connection.mark_authenticated();
            Ok(principal)
        }
        None => authenticate(api, token, headers).await,
    }
}

async fn authenticate(api: &Api, token: &str, headers: &HeaderMap) -> Result<Principal, Problem> {
    let named = named_tenant(headers)?;
    Ok(api.access.authenticate(token, named).await?)
}

/// The credential of a request with a long response, to be checked again during the response.
pub struct Credential {
    token: String,
    named: Option<String>,
    needs: Needs,
}

impl Credential {
    /// Returns the credential; `None` for a caller in this process, which sends none.
    pub fn of(headers: &HeaderMap, needs: Needs) -> Option<Self> {
        let token = token(headers).ok()?.to_owned();
        let named = named_tenant(headers).ok().flatten().map(ToOwned::to_owned);
        Some(Self { token, named, needs })
    }

    /// Whether it still gives the required access. While the store is unavailable, it does.
    pub async fn is_valid(&self, api: &Api) -> bool {
        match api.access.authenticate(&self.token, self.named.as_deref()).await {
            Ok(principal) => principal.check(self.needs, Role::ReadOnly).is_ok(),
            Err(AccessError::Store(_)) => true,
            Err(_) => false,
        }
    }
}

/// Returns the only credential of the request.
fn token(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = || {
        challenge(Problem::new(
            &codes::UNAUTHENTICATED,
            "the request carries no credentials; send `X-API-Key: <key>` or `Authorization: Bearer <key>`",
        ))
    };
    let mut keys = headers.get_all(&X_API_KEY).iter();
    let mut bearers = headers.get_all(&header::AUTHORIZATION).iter();
    let value = match (keys.next(), keys.next(), bearers.next(), bearers.next()) {
        (Some(key), None, None, None) => key.to_str().map_err(|_| invalid())?,
        (None, None, Some(bearer), None) => {
            let text = bearer.to_str().map_err(|_| invalid())?;
            let (scheme, token) = text.split_once(' ').ok_or_else(missing)?;
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err(missing());
            }
            token
        }
        (None, _, None, _) => return Err(missing()),
        // Several credentials: do not guess which one is meant.
        _ => return Err(invalid()),
    };
    let value = value.trim();
    if value.is_empty() { Err(missing()) } else { Ok(value) }
}

fn named_tenant(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut names = headers.get_all(&X_TENANT).iter();
    match (names.next(), names.next()) {
        (None, _) => Ok(None),
        (Some(name), None) => Ok(name.to_str().ok().map(str::trim).or(Some(""))),
        _ => Err(Problem::new(
            &codes::BAD_REQUEST,
            "`X-Tenant` is sent more than once; send it once",
        )),
    }
}

fn invalid() -> Problem {
    AccessError::InvalidCredentials.into()
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        let code = match error {
            AccessError::InvalidCredentials => {
                return challenge(Self::new(&codes::INVALID_CREDENTIALS, error.to_string()));
            }
            AccessError::UnknownTenant => {
                let detail = "the tenant named by `X-Tenant` does not exist; list tenants with `GET /v1/tenants`";
                return Self::new(&codes::UNKNOWN_TENANT, detail);
            }
            AccessError::OtherTenant => {
                let detail = "an API key or portal token works for its own tenant only; leave out `X-Tenant`";
                return Self::new(&codes::OPERATOR_ONLY, detail);
            }
            AccessError::TenantRequired => {
                let detail = "this operation works on one tenant; send `X-Tenant: <slug or id>` with the operator token";
                return Self::new(&codes::TENANT_REQUIRED, detail);
            }
            AccessError::OperatorOnly => &codes::OPERATOR_ONLY,
            AccessError::PersonRequired => &codes::NOT_FOR_API_KEYS,
            AccessError::MissingRight(_) => &codes::MISSING_SCOPE,
            AccessError::MissingRole(_) => &codes::MISSING_ROLE,
            AccessError::Store(error) => return error.into(),
        };
        Self::new(code, error.to_string())
    }
}

impl From<ThrottleError> for Problem {
    fn from(error: ThrottleError) -> Self {
        let seconds = error.retry_after.as_secs() + 1;
        let detail =
            format!("too many invalid API keys or tokens from this address; retry in {seconds} s");
        Self::new(&codes::TOO_MANY_FAILURES, detail)
            .with(header::RETRY_AFTER, HeaderValue::from(seconds))
    }
}

fn challenge(problem: Problem) -> Problem {
    problem.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gancho\""))
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NotFound => Self::not_found(ResourceKind::ApiKey),
            KeyError::Busy | KeyError::TooMany => Self::new(&codes::CONFLICT, error.to_string()),
            KeyError::NoRandom => Self::internal(error),
            KeyError::Store(error) => error.into(),
        }
    }
}
