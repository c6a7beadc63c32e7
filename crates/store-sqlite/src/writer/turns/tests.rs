use std::{cell::Cell, sync::Arc};

use gancho_domain::TenantId;
use gancho_store::Result;
use parking_lot::Mutex;

use super::*;
use crate::{transaction::Tx, tx_error::TxError};

type Answers = Arc<Mutex<Vec<(u128, Result<()>)>>>;

/// A step that notes its answer under a number.
struct Noted {
    number: u128,
    is_abandoned: bool,
    answers: Answers,
}

impl Work for Noted {
    fn run(&mut self, _: &Tx<'_>) -> Result<(), TxError> {
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        self.answers.lock().push((self.number, outcome));
    }

    fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}

#[derive(Default)]
struct World {
    turns: Turns,
    answers: Answers,
    pushed: Cell<u128>,
}

impl World {
    /// Adds a step of a tenant. Returns its number.
    fn push(&mut self, tenant: u128, rows: usize) -> u128 {
        self.push_as(tenant, rows, false)
    }

    fn push_as(&mut self, tenant: u128, rows: usize, is_abandoned: bool) -> u128 {
        let number = self.pushed.get();
        self.pushed.set(number + 1);
        let work = Noted { number, is_abandoned, answers: self.answers.clone() };
        let share = Share { account: Account::Tenant(TenantId::from_bits(tenant)), rows };
        self.turns.push(share, (Step::Upkeep, Box::new(work)));
        number
    }

    /// Returns the numbers of the steps that the next transaction takes.
    fn take(&mut self) -> Vec<u128> {
        let mut taken = Vec::new();
        self.turns.take(&mut taken);
        for (_, work) in taken {
            work.answer(Ok(()));
        }
        std::mem::take(&mut *self.answers.lock()).into_iter().map(|(number, _)| number).collect()
    }
}

#[test]
fn many_heavy_steps_of_a_tenant_delay_its_own_only() {
    let mut world = World::default();
    let heavy: Vec<u128> = (0..500).map(|_| world.push(1, 250)).collect();
    let (light, other) = (world.push(2, 1), world.push(3, 250));
    assert_eq!(world.take(), [light, heavy[0]], "few rows, and the rows of one heavy step");
    assert_eq!(world.take(), [other], "the tenants take turns");
    let late = world.push(2, 1);
    assert_eq!(world.take(), [late, heavy[1]]);
    for number in &heavy[2..] {
        assert_eq!(world.take(), [*number], "in the order of its calls");
    }
    assert!(world.turns.is_empty() && world.turns.queues.is_empty());
}

#[test]
fn a_transaction_has_a_bounded_number_of_rows_however_many_tenants_there_are() {
    let mut world = World::default();
    let mut rows_of = Vec::new();
    for tenant in 0..2_000 {
        for rows in [1, 200, 16, 17, 5_000, 3] {
            world.push(tenant, rows);
            rows_of.push(rows);
        }
    }
    let last = world.push(9_999, 1);
    rows_of.push(1);
    let (mut count, mut transactions_before) = (0, None);
    for transaction in 0.. {
        let taken = world.take();
        if taken.is_empty() {
            break;
        }
        count += taken.len();
        let rows = |number: &u128| rows_of[*number as usize];
        let (few, many): (Vec<_>, Vec<_>) = taken.iter().map(rows).partition(|rows| *rows <= FEW);
        assert!(few.iter().sum::<usize>() < MAX_ROWS + FEW, "{few:?}");
        assert!(many.iter().sum::<usize>() <= MAX_ROWS || many.len() == 1, "{many:?}");
        if taken.contains(&last) {
            transactions_before = Some(transaction);
        }
    }
    assert_eq!(count, rows_of.len(), "none is lost");
    let before = transactions_before.unwrap();
    assert!(before <= 2_000 / MAX_ROWS + 1, "a turn of each other tenant: {before}");
    assert_eq!((world.turns.steps, world.turns.rows, world.turns.len()), (0, 0, 0));
}

#[test]
fn a_tenant_with_a_heavy_step_before_a_light_one_waits_for_itself() {
    let mut world = World::default();
    let own = [world.push(1, 1), world.push(1, 250), world.push(1, 1), world.push(1, 250)];
    let other = world.push(2, 250);
    assert_eq!(world.take(), [own[0], other]);
    assert_eq!(world.take(), [own[1]]);
    assert_eq!(world.take(), [own[2], own[3]]);
}

#[test]
fn a_tenant_with_very_many_waiting_steps_is_refused_and_no_other() {
    let mut world = World::default();
    let first = world.push_as(1, 250, true);
    for number in 1..MAX_WAITING {
        world.push_as(1, 250, number % 2 == 0);
    }
    // Half of the callers have gone away, and leave room.
    for _ in 1..MAX_WAITING / 2 {
        world.push(1, 250);
    }
    assert_eq!(world.answers.lock().len(), 0);
    assert_eq!((world.turns.steps, world.turns.rows), (MAX_WAITING, MAX_WAITING * 250));
    let refused = world.push(1, 1);
    let answers = std::mem::take(&mut *world.answers.lock());
    assert!(matches!(&answers[..], [(number, Err(StoreError::Busy(_)))] if *number == refused));
    let other = world.push(2, 1);
    assert_eq!(world.take(), [other, first], "the first keeps its place");
    assert_eq!(world.turns.take_all().count(), MAX_WAITING - 1);
    assert!(world.turns.is_empty() && world.take().is_empty());
}
