//! Search: finds things by id or by name, over all tenants for the operator. The work of a search is bounded, and its
//! answer says whether everything was searched.

mod by_id;
mod by_name;
pub mod find;
pub mod view;

pub(crate) const TAG: &str = "Search";
