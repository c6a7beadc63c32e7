use super::*;

/// A scan of numbers, of which the even ones match.
struct Numbers(Vec<i64>);

impl RowScan for Numbers {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let looked: Vec<i64> =
            self.0.iter().rev().copied().filter(|number| *number < below).take(step).collect();
        budget.spend(looked.len());
        found.extend(looked.iter().filter(|number| *number % 2 == 0));
        Ok(match looked.last() {
            Some(last) if looked.len() == step => ScanExtent::DownTo(*last),
            _ => ScanExtent::End,
        })
    }
}

/// Returns all pages, one after the other, and their number.
fn all(scans: &[Vec<i64>], max: usize, max_scanned: usize) -> (Vec<i64>, usize) {
    let (mut rows, mut below, mut pages) = (Vec::new(), i64::MAX, 0);
    loop {
        let scans = scans.iter().map(|numbers| Numbers(numbers.clone())).collect();
        let mut search = Search::new(scans, below, max);
        let mut budget = ScanBudget::new(max_scanned);
        let (page, next) = page(&mut search, max, &mut budget, |row| Ok(Some(row))).unwrap();
        assert!(page.len() <= max);
        rows.extend(page);
        pages += 1;
        match next {
            Some(next) => {
                assert!(next < below, "the pages go on");
                below = next;
            }
            None => return (rows, pages),
        }
    }
}

#[test]
fn pages_have_no_gaps_and_no_repeats_however_little_is_looked_at() {
    let one: Vec<i64> = (0..500).filter(|number| number % 3 == 0).collect();
    let two: Vec<i64> = (0..500).filter(|number| number % 3 == 1).collect();
    let far: Vec<i64> = (0..20).map(|number| number * 3 + 2).collect();
    let scans = [one, two, far];
    let mut expected: Vec<i64> = scans.concat();
    expected.retain(|number| number % 2 == 0);
    expected.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
    for max in [1, 2, 7, 100, 1_000] {
        for max_scanned in [1, 2, 3, 10, 50, 10_000] {
            let (rows, _) = all(&scans, max, max_scanned);
            assert_eq!(rows, expected, "pages of {max}, {max_scanned} budget");
        }
    }
}

#[test]
fn what_is_not_there_ends_after_a_few_looks() {
    let odd = vec![(0..1_000).map(|number| number * 2 + 1).collect()];
    assert_eq!(all(&odd, 50, 100), (Vec::new(), 10 + 1));
    assert_eq!(all(&odd, 50, 1_000_000), (Vec::new(), 1));
    assert_eq!(all(&[], 50, 10), (Vec::new(), 1));
}
