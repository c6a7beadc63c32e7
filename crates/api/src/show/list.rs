//! One page of a list.
// The derive of the schema names the parameter in a way that the lint dislikes.
#![allow(unused_qualifications)]

use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct List<T: ToSchema> {
    pub data: Vec<T>,
    /// Where the next page begins; null on the last one.
    pub next_cursor: Option<String>,
}
