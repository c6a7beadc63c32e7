//! Moving a tenant from one cell to another while it is in use.
//!
//! [`tables`] says what moves. The tenant's rows are copied in parts, while a [`guard`] in the old cell notes what changes, and
//! one in the new cell keeps everyone else from them; changes are [copied](copy) until few are left. Then the tenant is closed: the
//! guard of the old cell lets nobody write any more, those few are copied, and [`rest`]. The [`journal`] in the home cell
//! says that the tenant lives in the new cell, in one transaction; what is in the old one is removed.
//!
//! **Never both.** Before that transaction the tenant can be written in the old cell alone, and after it in the new one alone.
//! Every transaction of a move holds the row of its guard, and only the last run of a move passes it: one that was thought
//! dead, and was not, can neither overwrite nor remove anything.

mod copy;
mod guard;
mod journal;
mod rest;
mod tables;

pub use copy::CopiedRows;
pub use journal::{MoveRow, MoveStep};
pub use tables::{MOVED_TABLES, MovedTable};
