//! Users: people who log in to the dashboard. Managed by operators; each may change the own password.

pub mod change;
pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod own_password;
pub mod view;

use gancho_access::{UserError, password::PasswordError};

use crate::{codes, input::field::ResourceKind, problem::Problem};

pub(crate) const TAG: &str = "Users";

impl From<UserError> for Problem {
    fn from(error: UserError) -> Self {
        match error {
            UserError::NotFound => Self::not_found(ResourceKind::User),
            UserError::Taken => Self::new(&codes::TAKEN, error.to_string()),
            UserError::TooMany | UserError::Busy => Self::new(&codes::CONFLICT, error.to_string()),
            UserError::InvalidName => Self::field("/name", error.to_string()),
            UserError::WeakPassword(_) => Self::field("/password", error.to_string()),
            UserError::WrongPassword => Self::field("/current_password", error.to_string()),
            UserError::Password(PasswordError::Busy) => {
                Self::new(&codes::UNAVAILABLE, error.to_string())
            }
            UserError::Password(PasswordError::Failed) => Self::internal(error),
            UserError::Store(error) => error.into(),
        }
    }
}
