//! The dashboard: pages for people, rendered on the server.
//!
//! It is a client of the API in the same process: [`backend`] is all that it knows of the gateway, and pages
//! read and change things only through the operations of the API.
//!
//! In reading order: [`dashboard`] is the state that pages share, `router` has the URLs and [`pages`] the
//! table of pages; [`handlers`] wraps each page. A request becomes a [`visit`] (a session, started at the
//! login or by one of [`login_links`], a tenant, a language) or a [`submission`] (a form, read by `form_body`
//! after `origin` and the token are checked). The same pages are in the [`portal`], for a tenant's users:
//! `portal_routes` has its URLs, [`portal_session`] exchanges links for sessions, [`base`] says whether a
//! page is in the dashboard or the portal, [`visitor`] is the user, and [`brand`] the look of the portal,
//! with [`color`]. A page is a file in `pages` and its template; [`page`] sends it. `shell` has the data of
//! the frame around it, and [`frame`] renders that. [`texts`], [`sentence`], [`catalog`], [`language`] and
//! [`display_time`] write in the reader's language; [`once`] shows a new secret once, [`drafts`] stores a form
//! while someone signs in again, and [`flashes`] are messages for the next page, all [`sealed`]; `way_back`
//! decides where a browser goes and returns to. [`typed_json`] preserves JSON in forms as it was typed;
//! [`statistics`] become drawings in [`charts`], `tenant_shares` a table; [`escape`] and [`json`] make data
//! from outside harmless. [`problem`] has the errors of the API, [`labels`] the names of fields in them,
//! [`search`] what the API finds. `event_stream` reads the API's live tails; [`endpoint_names`] are cached
//! for them, in a `timed_cache`. `features`, `params`, `cookies`, `theme`, `icons`, `assets` and `status_mark` are
//! the small parts.
//!
//! It never reads the store, and never shows text from outside without escaping it.

pub mod assets;
pub mod backend;
pub mod base;
pub mod brand;
pub mod catalog;
mod changes;
pub mod charts;
pub mod color;
pub mod cookies;
pub mod dashboard;
pub mod display_time;
pub mod drafts;
pub mod endpoint_names;
pub mod escape;
pub mod event_stream;
pub mod failure;
pub mod features;
pub mod flashes;
pub mod form_body;
pub mod frame;
pub mod handlers;
pub mod icons;
pub mod json;
pub mod labels;
pub mod language;
pub mod login_links;
pub mod once;
pub mod origin;
pub mod page;
pub mod pages;
pub mod params;
pub mod portal;
pub mod portal_frame;
mod portal_routes;
pub mod portal_session;
pub mod problem;
pub mod profiles;
mod router;
pub mod sealed;
pub mod search;
pub mod sentence;
pub mod shell;
pub mod statistics;
pub mod status_mark;
pub mod submission;
mod tenant_shares;
pub mod texts;
pub mod theme;
mod timed_cache;
pub mod typed_json;
pub mod visit;
pub mod visitor;
mod way_back;

pub use backend::{Backend, Login, LoginError, PortalError};
pub use dashboard::Setup;
pub use login_links::LoginLinks;
pub use portal::PortalSettings;
pub use profiles::ProfileDefaults;
pub use router::router;
