//! Portal links: a short-lived way into the dashboard for the people of one tenant.

pub mod create;
