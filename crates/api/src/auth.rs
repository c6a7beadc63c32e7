//! Who is asking, and what they may do. The only place of this crate that makes a [`TenantScope`].
//!
//! Three kinds of credentials, told apart by how they begin: the operator's [`admin`] token, a
//! tenant's [`api_key`] (`gk_…`, whose text is [`key_text`]'s business) and a [`portal`] token
//! (`gp_…`). A credential that is unknown, wrong, revoked or expired is answered in the same words
//! and takes as long; an address that sends many of them is slowed down by [`throttle`].

mod admin;
pub mod api_key;
pub mod key_text;
pub mod portal;
mod throttle;

use std::{fmt, str::FromStr, sync::Arc};

use gancho_domain::{Tenant, TenantId, TenantScope};
use http::{HeaderMap, HeaderName, HeaderValue, header};

pub use self::{
    admin::{AdminToken, WeakToken},
    api_key::{ApiKey, KeyDesk, KeyId},
    portal::PortalDesk,
    throttle::Throttle,
};
use crate::{caller::Caller, codes, problem::Problem, route::Needs, state::Api};

/// What a key may be used for. None includes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    Publish,
    Read,
    Manage,
}

impl Right {
    pub const ALL: [Self; 3] = [Self::Publish, Self::Read, Self::Manage];
    pub const NAMES: &'static [&'static str] = &["publish", "read", "manage"];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Right {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|right| right.name() == name);
        found.ok_or_else(|| "a scope is `publish`, `read` or `manage`".to_owned())
    }
}

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights(u8);

impl Rights {
    pub const ALL: Self = Self(0b111);

    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | 1 << right as u8)
    }

    pub const fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    pub fn names(self) -> Vec<&'static str> {
        Right::ALL.into_iter().filter(|right| self.has(*right)).map(Right::name).collect()
    }

    const fn bits(self) -> u8 {
        self.0
    }

    const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        rights.into_iter().fold(Self::default(), Self::with)
    }
}

/// Who makes a call, once it is proved.
#[derive(Debug, Clone)]
pub enum Who {
    Operator(Operator),
    Tenant(Acting),
}

/// Proof that the operator is asking. Only this module can make one.
#[derive(Debug, Clone)]
pub struct Operator(());

/// Someone acting for a tenant. Only this module can make one.
#[derive(Debug, Clone)]
pub struct Acting {
    scope: TenantScope,
    tenant: Arc<Tenant>,
    rights: Rights,
    /// Where it is the operator who acts.
    operator: Option<Operator>,
}

impl Operator {
    /// The operator may act for anyone.
    pub fn act_for(&self, tenant: Arc<Tenant>) -> Acting {
        let scope = TenantScope::granted(tenant.id);
        Acting { scope, tenant, rights: Rights::ALL, operator: Some(self.clone()) }
    }

    /// The operator may look at anyone's, also at what was received for a source.
    #[allow(clippy::unused_self, reason = "the proof that the operator is asking")]
    pub fn scope_of(&self, tenant: TenantId) -> TenantScope {
        TenantScope::granted(tenant)
    }
}

impl Acting {
    pub fn scope(&self) -> TenantScope {
        self.scope
    }

    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }
}

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_TENANT: HeaderName = HeaderName::from_static("x-tenant");

/// Says who is asking, and that they may make a call with these needs.
pub async fn authorize(
    api: &Api,
    headers: &HeaderMap,
    caller: Option<&Caller>,
    needs: Needs,
) -> Result<Who, Problem> {
    let token = token(headers)?;
    let who = match caller {
        Some(caller) => {
            api.throttle.admit(caller.address.block, token).await?;
            let who = authenticate(api, token, headers).await.inspect_err(|problem| {
                if *problem.code() == codes::INVALID_CREDENTIALS {
                    api.meter.login_failed();
                    api.throttle.fail(caller.address.block);
                }
            })?;
            api.throttle.succeed(caller.address.block, token);
            caller.standing.prove();
            who
        }
        None => authenticate(api, token, headers).await?,
    };
    match (&who, needs) {
        (Who::Operator(_), Needs::Operator | Needs::Anyone(_)) => Ok(who),
        (Who::Operator(_), Needs::Tenant(_)) => Err(Problem::new(
            &codes::TENANT_REQUIRED,
            "this call is about one tenant: send `X-Tenant: <slug or id>` with the operator's token",
        )),
        // An operator who named a tenant can still do what is the operator's.
        (Who::Tenant(acting), Needs::Operator) => match &acting.operator {
            Some(operator) => Ok(Who::Operator(operator.clone())),
            None => Err(Problem::new(
                &codes::OPERATOR_ONLY,
                "only the operator may do this: use the operator's token",
            )),
        },
        (Who::Tenant(acting), Needs::Tenant(right) | Needs::Anyone(right)) => {
            if acting.rights.has(right) {
                return Ok(who);
            }
            Err(Problem::new(
                &codes::MISSING_SCOPE,
                format!("the key lacks the scope `{right}`: use one that has it"),
            ))
        }
    }
}

async fn authenticate(api: &Api, token: &str, headers: &HeaderMap) -> Result<Who, Problem> {
    let named = named_tenant(headers)?;
    let acting = if key_text::is_key(token) {
        api.keys.verify(&api.tenants, token).await?
    } else if portal::is_token(token) {
        api.portal.verify(&api.tenants, token).await?
    } else {
        let operator = api.admin.matches(token).then_some(Operator(())).ok_or_else(invalid)?;
        let Some(name) = named else { return Ok(Who::Operator(operator)) };
        let tenant = api.tenants.find(name).await?.ok_or_else(|| {
            Problem::new(
                &codes::UNKNOWN_TENANT,
                "`X-Tenant` names no tenant that there is: list them with `GET /v1/tenants`",
            )
        })?;
        return Ok(Who::Tenant(operator.act_for(tenant)));
    };
    // A key of the operator's own tenant, from before its slug was reserved, would show notices about all.
    let acting = acting.filter(|(tenant, _)| !tenant.is_operators());
    let (tenant, rights) = acting.ok_or_else(invalid)?;
    // A key speaks for its own tenant only, and does not tell whether another one exists.
    if named.is_some_and(|name| name != tenant.slug && name.parse() != Ok(tenant.id)) {
        return Err(Problem::new(
            &codes::OPERATOR_ONLY,
            "a tenant's key acts for its own tenant: leave `X-Tenant` out",
        ));
    }
    let scope = TenantScope::granted(tenant.id);
    Ok(Who::Tenant(Acting { scope, tenant, rights, operator: None }))
}

/// The one credential that the request carries.
fn token(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = || {
        challenge(Problem::new(
            &codes::UNAUTHENTICATED,
            "the request carries no credentials: send `X-API-Key: <key>` or `Authorization: Bearer <key>`",
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
        // Several: which one is meant is not for us to guess.
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
        _ => Err(Problem::new(&codes::BAD_REQUEST, "`X-Tenant` is given twice: give it once")),
    }
}

/// The same for whatever is wrong with a credential.
fn invalid() -> Problem {
    challenge(Problem::new(
        &codes::INVALID_CREDENTIALS,
        "the key is unknown, revoked, expired or mistyped: check that the whole of it was copied",
    ))
}

fn challenge(problem: Problem) -> Problem {
    problem.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gancho\""))
}
