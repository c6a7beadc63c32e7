//! Pagination: from the cursor and limit of a request to the response with the next cursor.

use gancho_domain::{Id, TenantId, id::IdKind};
use gancho_store::PageRequest;
use serde::Serialize;

use crate::{
    answer::Answer,
    cursor::CursorScope,
    input::query::{DEFAULT_ROWS, Paging},
    problem::Problem,
    render::List,
    route::Call,
};

pub struct Page<'a> {
    call: &'a Call,
    scope: CursorScope,
    position: Option<Vec<u8>>,
    max: usize,
}

impl<'a> Page<'a> {
    /// Starts a page. `tenant` is the owner of the list; `None` if the operator lists all tenants.
    pub fn of(call: &'a Call, tenant: Option<TenantId>, paging: &Paging) -> Result<Self, Problem> {
        Self::below(call, tenant, None, paging)
    }

    /// Starts a page of a list below an object in the path.
    pub fn below(
        call: &'a Call,
        tenant: Option<TenantId>,
        part: Option<&str>,
        paging: &Paging,
    ) -> Result<Self, Problem> {
        let scope = CursorScope::of(call.route.path, tenant, &call.parameters);
        let scope = match part {
            Some(part) => scope.below(part),
            None => scope,
        };
        let cursor = paging.cursor.as_deref();
        let position = cursor.map(|cursor| call.api.cursors.open(&scope, cursor)).transpose()?;
        let max = paging.limit.unwrap_or(DEFAULT_ROWS) as usize;
        Ok(Self { call, scope, position, max })
    }

    /// Returns the page to request, for a list that the store paginates.
    pub fn request(&self) -> Result<PageRequest, Problem> {
        let place = self.position.as_deref().map(<[u8; 32]>::try_from).transpose();
        let place = place.map_err(|_| Problem::internal("cursor with a wrong length"))?;
        Ok(PageRequest::new(self.max, place))
    }

    /// Returns the response. `next` is the position that the store returned.
    pub fn answer<T: Serialize>(
        &self,
        data: Vec<T>,
        next: Option<[u8; 32]>,
    ) -> Result<Answer, Problem> {
        Answer::ok(&List { data, next_cursor: next.map(|place| self.seal(&place)) })
    }

    /// Returns the last name of the previous page, for a list ordered by name.
    pub fn after_name(&self) -> Option<&str> {
        std::str::from_utf8(self.position.as_deref()?).ok()
    }

    /// Returns the last id of the previous page, for a list ordered by id.
    pub fn after_id<K: IdKind>(&self) -> Option<Id<K>> {
        self.position.as_deref()?.try_into().ok().map(Id::from_bytes)
    }

    /// Returns the number of rows to read: one more than a page has, to find out whether there is a next
    /// page.
    pub fn max_read(&self) -> usize {
        self.max + 1
    }

    /// Returns the rows of this page, and the next cursor if there are more. `key` returns what rows are
    /// ordered by.
    pub fn cut<R>(
        &self,
        mut rows: Vec<R>,
        key: impl Fn(&R) -> Vec<u8>,
    ) -> (Vec<R>, Option<String>) {
        let has_more = rows.len() > self.max;
        rows.truncate(self.max);
        let next = rows.last().filter(|_| has_more).map(|last| self.seal(&key(last)));
        (rows, next)
    }

    fn seal(&self, position: &[u8]) -> String {
        self.call.api.cursors.seal(&self.scope, position)
    }
}
