//! Moves a tenant from one cell to another while it is in use.
//!
//! [`tables`] says what moves. The tenant's rows are copied in parts, while a [`guard`] in the old cell
//! records changes, and one in the new cell keeps all others away from the copied rows. Changes are
//! [copied](copy) until few are left. Then the tenant is closed: the guard of the old cell allows no more
//! writes, and the last changes are copied, as well as the [`rest`]. In one transaction, the [`journal`] in
//! the home cell records that the tenant lives in the new cell. After that, the rows in the old cell are
//! removed.
//!
//! **Never both.** Before that transaction the tenant can be written in the old cell only, and after it in
//! the new one only. Every transaction of a move locks the row of its guard, and only the last run of a move
//! passes it: a run that was taken for dead can neither overwrite nor remove anything.

mod copy;
mod guard;
mod journal;
mod rest;
mod tables;

pub use copy::CopiedRows;
pub(crate) use journal::{DONE, TAKEN_BACK};
pub use journal::{MoveRow, MoveStep};
pub use tables::{MOVED_TABLES, MovedTable};
