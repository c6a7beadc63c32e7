//! Renders a user, without the password.

use gancho_access::User;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Timestamp;

#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    pub name: String,
    /// `operator`, `support` or `read_only`.
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
