//! Tenants from environment variables: `WEBHOOK_URL_<COMPANY>` and `WEBHOOK_SECRET_<COMPANY>`, each with
//! one endpoint in the profile `email-gateway`.

use gancho_domain::Tenant;
use gancho_egress::Policy;
use gancho_wire::{Profile, SigningKey};

use super::{
    environment::Environment,
    error::{Origin, SettingError, ValueError},
    keys::Settings,
    secret::Secret,
};

pub const URL: &str = "WEBHOOK_URL_";
pub const SECRET: &str = "WEBHOOK_SECRET_";
const MAX_SLUG_LENGTH: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Company {
    /// The tenant's slug: the variable's name in lower case.
    pub slug: String,
    pub url: String,
    /// Without one, a secret is generated.
    pub secret: Option<Secret>,
}

/// Checks the URLs with the rules for endpoints, so that an error shows at startup and not at the first
/// delivery.
pub fn read(
    environment: &Environment,
    settings: Option<&Settings>,
    problems: &mut Vec<SettingError>,
) -> Vec<Company> {
    let policy = settings.and_then(|settings| super::address_policy::of(settings).ok());
    let mut companies = Vec::new();
    for (name, url) in environment.beginning(URL) {
        let secret = environment.get(&format!("{SECRET}{name}"));
        let all = [
            (URL, name_error(name)),
            (URL, url_error(url, policy.as_ref())),
            (SECRET, secret.and_then(secret_error)),
        ];
        let before = problems.len();
        for (prefix, wrong) in all {
            let variable = format!("{prefix}{name}");
            problems.extend(wrong.map(|wrong| at(wrong, &variable)));
        }
        if let (Some(url), true) = (url, problems.len() == before) {
            companies.push(Company {
                slug: name.to_ascii_lowercase(),
                url: url.to_owned(),
                secret: secret.map(Secret::new),
            });
        }
    }
    for (name, _) in environment.beginning(SECRET) {
        let variable = format!("{URL}{name}");
        if !environment.beginning(URL).any(|(other, _)| other == name) {
            let wrong = ValueError::new(
                "a secret is set without its URL",
                format!("set {variable} as well, or remove this variable"),
            );
            problems.push(at(wrong, &format!("{SECRET}{name}")));
        }
    }
    companies
}

fn at(wrong: ValueError, variable: &str) -> SettingError {
    wrong.at(variable, Origin::Variable(variable.to_owned()))
}

fn name_error(name: &str) -> Option<ValueError> {
    if name.eq_ignore_ascii_case(Tenant::OPERATOR) {
        let hint = "set notify_url to receive the operator's notices, or choose another name";
        return Some(ValueError::new("this tenant name is reserved for the operator", hint));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_fit = !name.is_empty()
        && name.len() <= MAX_SLUG_LENGTH
        && name.bytes().all(fits)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    (!is_fit).then(|| {
        ValueError::new(
            "not a valid tenant name",
            "use 1 to 63 letters, digits and `_`, as in WEBHOOK_URL_M2",
        )
    })
}

fn url_error(url: Option<&str>, policy: Option<&Policy>) -> Option<ValueError> {
    let Some(url) = url else {
        return Some(ValueError::new("the value is not valid UTF-8", ""));
    };
    let refused = policy?.parse(url).err()?;
    Some(ValueError::new(refused.what(), refused.hint()))
}

fn secret_error(secret: &str) -> Option<ValueError> {
    let error = SigningKey::for_profile(&Profile::email_gateway(), secret).err()?;
    Some(ValueError::new(error.to_string(), error.hint()))
}
