//! The calls of Svix, each translated into operations of the gateway's own API.

pub mod applications;
pub mod attempt_view;
pub mod attempts;
pub mod background_tasks;
pub mod endpoint_headers;
pub mod endpoint_secrets;
pub mod endpoint_view;
pub mod endpoints;
pub mod event_type_view;
pub mod event_types;
pub mod message_create;
pub mod message_endpoints;
pub mod message_view;
pub mod messages;
pub mod portal;
pub mod recovery;
pub mod statistics;
