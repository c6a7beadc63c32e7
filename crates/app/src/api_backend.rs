//! The API in this process, for the crates that are clients of it: the dashboard and the Svix-compatible API.

use gancho_api::InProcessApi;

pub struct ApiBackend(pub InProcessApi);
