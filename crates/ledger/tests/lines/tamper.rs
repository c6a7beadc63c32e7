//! Ten thousand ways of changing a ledger, each of which is detected.

use gancho_ledger::{Audit, AuditError, Checkpoint, Hash, Head, Line, Tree};

const LINES: u64 = 200;

fn entry(number: u64) -> Vec<u8> {
    format!("{{\"partner\":\"acme\",\"receipt\":\"rcp_{number:026}\",\"body\":\"{number:064x}\"}}")
        .into_bytes()
}

fn chained(entries: impl Iterator<Item = Vec<u8>>) -> Vec<Line> {
    let mut head = Head::start();
    entries
        .map(|entry| {
            let line = head.next(entry);
            head = line.head();
            line
        })
        .collect()
}

fn honest() -> Vec<Line> {
    chained((1..=LINES).map(entry))
}

fn checkpoint(lines: &[Line]) -> Checkpoint {
    let tree: Tree = lines.iter().map(Line::leaf).collect();
    Checkpoint {
        origin: "test".into(),
        size: tree.size(),
        root: tree.root(),
        made_at: format!("after {}", tree.size()),
    }
}

fn audit(lines: &[Line], checkpoints: Vec<Checkpoint>) -> Result<usize, AuditError> {
    let mut audit = Audit::new(checkpoints)?;
    for line in lines {
        audit.take(line)?;
    }
    audit.finish().map(|audited| audited.checkpoints)
}

/// A small generator, so that a failing case can be run again by its number.
struct Dice(u64);

impl Dice {
    fn below(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % max as u64) as usize
    }
}

#[test]
fn an_honest_ledger_has_no_flaw() {
    let lines = honest();
    let checkpoints =
        [0, 1, 63, 64, 65, 128, 200].map(|size| checkpoint(&lines[..size as usize])).to_vec();
    assert_eq!(audit(&lines, checkpoints), Ok(7));
    assert_eq!(audit(&[], Vec::new()), Ok(0));
}

#[test]
fn ten_thousand_tamperings_are_all_seen() {
    let honest = honest();
    let checkpoints: Vec<Checkpoint> =
        [50, 100, 150, 200].iter().map(|size| checkpoint(&honest[..*size])).collect();
    let mut kinds = [0_u32; 9];
    for case in 0..10_000_u64 {
        let mut dice = Dice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut lines = honest.clone();
        let place = dice.below(lines.len());
        let other = (place + 1 + dice.below(lines.len() - 1)) % lines.len();
        let kind = (case % 9) as usize;
        match kind {
            0 => {
                let byte = dice.below(lines[place].entry.len());
                lines[place].entry[byte] ^= 1 << dice.below(8);
            }
            1 => lines[place].link.0[dice.below(32)] ^= 1 << dice.below(8),
            2 => drop(lines.remove(place)),
            3 => lines.insert(place, lines[other].clone()),
            4 => lines.swap(place, other),
            5 => lines.truncate(place),
            6 => lines[place].number += 1 + dice.below(5) as u64,
            // The harder cases: the whole chain is recomputed after the change.
            7 => {
                let mut entries: Vec<Vec<u8>> = lines.into_iter().map(|line| line.entry).collect();
                entries[place].push(b' ');
                lines = chained(entries.into_iter());
            }
            _ => {
                let mut entries: Vec<Vec<u8>> = lines.into_iter().map(|line| line.entry).collect();
                let moved = entries.remove(place);
                entries.insert(other.min(entries.len()), moved);
                lines = chained(entries.into_iter());
            }
        }
        assert_ne!(lines, honest, "case {case} changes nothing");
        assert!(
            audit(&lines, checkpoints.clone()).is_err(),
            "case {case} (kind {kind}) is not seen"
        );
        kinds[kind] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 1_000), "{kinds:?}");
}

#[test]
fn the_first_wrong_line_is_named() {
    let mut lines = honest();
    lines[41].entry[3] ^= 1;
    lines[90].entry[3] ^= 1;
    assert_eq!(audit(&lines, Vec::new()), Err(AuditError::Changed { number: 42 }));
    let mut lines = honest();
    lines.remove(41);
    assert_eq!(audit(&lines, Vec::new()), Err(AuditError::Hole { expected: 42, found: 43 }));
}

#[test]
fn an_old_copy_is_seen_by_its_checkpoint() {
    let lines = honest();
    let all = checkpoint(&lines);
    let flaw = audit(&lines[..150], vec![all.clone()]).unwrap_err();
    assert_eq!(flaw, AuditError::Short { found: 150, size: 200, made_at: all.made_at });
}

#[test]
fn two_roots_for_one_size_are_a_fork() {
    let lines = honest();
    let one = checkpoint(&lines);
    let other = Checkpoint { root: Hash::of_leaf(b"another"), ..one.clone() };
    assert_eq!(audit(&lines, vec![one, other]), Err(AuditError::Forked { size: 200 }));
}
