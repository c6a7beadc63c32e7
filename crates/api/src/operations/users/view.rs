//! Renders a user, without the password.

use gancho_access::User;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// A person who logs in to the dashboard.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub struct UserView {
    /// Name that the user logs in with. Unique; never changes.
    pub name: String,
    /// What the user may do.
    #[schema(value_type = words::UserRole)]
    pub role: &'static str,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the password was last set.
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
