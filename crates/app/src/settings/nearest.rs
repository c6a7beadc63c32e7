//! What was probably meant by a name that is not known.

/// The known name that takes the fewest changes to reach, if it is near enough to be meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (given.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|name| (distance(given, name), name))
        .filter(|(steps, _)| *steps <= far)
        .min()
        .map(|(_, name)| name)
}

/// Letters to add, remove or replace (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for (place, other) in to.iter().enumerate() {
            let replaced = corner + usize::from(letter != *other);
            corner = row[place + 1];
            row[place + 1] = replaced.min(corner + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["api_listen", "allow_http", "allow_cidrs", "data_dir"];
        assert_eq!(nearest("api_listn", known), Some("api_listen"));
        assert_eq!(nearest("allow_cidr", known), Some("allow_cidrs"));
        assert_eq!(nearest("datadir", known), Some("data_dir"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
