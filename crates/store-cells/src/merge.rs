//! Lists over several cells. Each cell gives a page that begins at the same place of the order that they share; the rows
//! up to where the first of them stopped are the page of all. A place in a list is thus one for all cells, and a row
//! that did not fit comes again with the next page.

use gancho_store::{ListOrder, Page};

type ListPosition = [u8; 32];

/// Whether a place comes before another in a list.
fn precedes(order: ListOrder, one: &ListPosition, other: &ListPosition) -> bool {
    match order {
        ListOrder::NewestFirst => one > other,
        ListOrder::OldestFirst => one < other,
    }
}

/// `place` is where a row is, and `size` how many bytes of the page it takes.
pub(crate) fn merge<T>(
    pages: impl IntoIterator<Item = Page<T>>,
    order: ListOrder,
    max: usize,
    max_bytes: usize,
    place: impl Fn(&T) -> ListPosition,
    size: impl Fn(&T) -> usize,
) -> Page<T> {
    let (mut rows, mut end) = (Vec::new(), None::<ListPosition>);
    for page in pages {
        if let Some(next) = page.next {
            end = Some(end.filter(|end| precedes(order, end, &next)).unwrap_or(next));
        }
        rows.extend(page.rows.into_iter().map(|row| (place(&row), row)));
    }
    rows.sort_by(|(one, _), (other, _)| match order {
        ListOrder::NewestFirst => other.cmp(one),
        ListOrder::OldestFirst => one.cmp(other),
    });
    if let Some(end) = &end {
        rows.retain(|(place, _)| !precedes(order, end, place));
    }
    let mut bytes = 0;
    let fits = |(_, row): &&(ListPosition, T)| {
        let is_first = bytes == 0;
        bytes += size(row).max(1);
        is_first || bytes <= max_bytes
    };
    let count = rows.iter().take(max).take_while(fits).count();
    if count < rows.len() {
        rows.truncate(count);
        // A page of no rows stays where it began.
        end = rows.last().map(|(place, _)| *place).or(end);
    }
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next: end }
}

/// The place of a row in a list that goes by ids.
pub(crate) fn place_of_id(id: [u8; 16]) -> ListPosition {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u8) -> ListPosition {
        place_of_id([number; 16])
    }

    fn merged(
        pages: &[(&[u8], Option<u8>)],
        order: ListOrder,
        max: usize,
    ) -> (Vec<u8>, Option<ListPosition>) {
        let pages =
            pages.iter().map(|(rows, next)| Page { rows: rows.to_vec(), next: next.map(at) });
        let page = merge(pages, order, max, usize::MAX, |row| at(*row), |_| 1);
        (page.rows, page.next)
    }

    #[test]
    fn rows_come_in_the_order_of_all() {
        let pages: [(&[u8], _); 2] = [(&[9, 5, 1], None), (&[8, 2], None)];
        assert_eq!(merged(&pages, ListOrder::NewestFirst, 9), (vec![9, 8, 5, 2, 1], None));
        let pages: [(&[u8], _); 2] = [(&[1, 5, 9], None), (&[2, 8], None)];
        assert_eq!(merged(&pages, ListOrder::OldestFirst, 9), (vec![1, 2, 5, 8, 9], None));
    }

    #[test]
    fn a_full_page_goes_on_after_its_last_row() {
        let pages: [(&[u8], _); 2] = [(&[9, 5], Some(5)), (&[8, 7], Some(7))];
        assert_eq!(merged(&pages, ListOrder::NewestFirst, 2), (vec![9, 8], Some(at(8))));
    }

    #[test]
    fn nothing_is_shown_beyond_what_a_cell_has_looked_at() {
        // The second has looked as far as 6 and found nothing: 5 may not be shown yet.
        let pages: [(&[u8], _); 2] = [(&[9, 5], None), (&[], Some(6))];
        assert_eq!(merged(&pages, ListOrder::NewestFirst, 9), (vec![9], Some(at(6))));
        let pages: [(&[u8], _); 2] = [(&[1, 5], None), (&[], Some(3))];
        assert_eq!(merged(&pages, ListOrder::OldestFirst, 9), (vec![1], Some(at(3))));
    }

    #[test]
    fn a_page_has_one_row_however_large() {
        let pages = [Page { rows: vec![3_u8, 2, 1], next: None }];
        let page = merge(pages, ListOrder::NewestFirst, 9, 10, |row| at(*row), |_| 11);
        assert_eq!((page.rows, page.next), (vec![3], Some(at(3))));
    }
}
