//! Renders a user, without the password.

use gancho_access::User;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct UserView {
    pub name: String,
    /// `operator`, `support` or `read_only`.
    #[schema(value_type = words::UserRole)]
    pub role: &'static str,
    pub created_at: Timestamp,
    pub password_changed_at: Timestamp,
}

impl From<&User> for UserView {
    fn from(user: &User) -> Self {
        Self {
            name: user.name.clone(),
            role: user.role.name(),
            created_at: Timestamp(user.created_at),
            password_changed_at: Timestamp(user.password_changed_at),
        }
    }
}
