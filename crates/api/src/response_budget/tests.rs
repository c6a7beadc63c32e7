use super::*;

const KIB: usize = 1024;

fn tenant(number: u128) -> ResponseOwner {
    ResponseOwner::Tenant(TenantId::from_bits(number))
}

fn table(max_bytes: usize) -> Arc<ResponseBudget> {
    Arc::new(ResponseBudget { max_bytes, table: Mutex::default() })
}

impl ResponseBudget {
    /// Holds a response that started this long ago.
    fn hold_since(
        self: &Arc<Self>,
        millis: u64,
        owner: ResponseOwner,
        size: usize,
    ) -> HeldResponse {
        let held = self.hold_at(Instant::now(), owner, Bytes::from(vec![1; size]));
        if let Some(one) = self.table.lock().responses.get_mut(&held.number) {
            one.began -= Duration::from_millis(millis);
        }
        held
    }
}

fn is_dropped(held: &HeldResponse) -> bool {
    held.next_piece() == Err(ResponseDroppedError)
}

#[tokio::test]
async fn a_large_response_comes_whole_and_in_pieces() {
    let budget = table(MAX_BYTES);
    let text: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let mut paced = budget.pace(Response::new(Body::from(text.clone())), tenant(1)).into_body();
    assert_eq!(paced.size_hint().exact(), Some(text.len() as u64));
    assert_eq!(budget.table.lock().bytes, text.len(), "it is counted before it is asked for");
    let mut found = Vec::new();
    while let Some(frame) = paced.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert!(piece.len() <= PIECE);
        found.extend_from_slice(&piece);
    }
    assert_eq!(found, text);
    assert!(paced.is_end_stream());
    assert_eq!(budget.table.lock().bytes, 0);
    assert!(budget.table.lock().by_owner.is_empty(), "nothing is left of it");
}

#[tokio::test]
async fn a_stream_counts_what_it_could_not_pass_on() {
    let budget = table(MAX_BYTES);
    let pages =
        [vec![1; PIECE], vec![2; 3 * PIECE]].map(|page| Ok::<_, axum::Error>(Bytes::from(page)));
    let stream = Body::from_stream(futures_util::stream::iter(pages));
    let mut paced = budget.pace(Response::new(stream), tenant(1)).into_body();
    assert_eq!(paced.size_hint().exact(), None);
    paced.frame().await.unwrap().unwrap();
    assert_eq!(budget.table.lock().bytes, 0, "a piece is not counted");
    paced.frame().await.unwrap().unwrap();
    assert_eq!(budget.table.lock().bytes, 3 * PIECE);
    drop(paced);
    assert_eq!(budget.table.lock().bytes, 0, "its client has gone");
}

#[test]
fn who_does_not_read_competes_with_itself() {
    let budget = table(1_000 * KIB);
    let other = budget.hold_since(600_000, tenant(2), 100 * KIB);
    let greedy: Vec<_> =
        (0..50).map(|at| budget.hold_since(1_500 - at, tenant(1), 100 * KIB)).collect();
    assert!(budget.table.lock().bytes <= 1_000 * KIB);
    assert!(!is_dropped(&other), "it holds less than an equal share, however slowly it is read");
    let dropped = greedy.iter().filter(|held| is_dropped(held)).count();
    assert_eq!(dropped, 41);
    assert!(greedy[..41].iter().all(is_dropped), "the oldest");
}

/// Many owners hold as much each, and read nothing or more slowly.
#[test]
fn one_that_reads_goes_on_among_many_that_do_not() {
    let budget = table(1_000 * KIB);
    let reader = budget.hold_since(1_000, tenant(0), 90 * KIB);
    reader.next_piece().unwrap();
    let unread: Vec<_> =
        (1..500).map(|number| budget.hold_since(60_000, tenant(number), 90 * KIB)).collect();
    assert!(!is_dropped(&reader));
    let kept = unread.iter().filter(|held| !is_dropped(held)).count();
    assert_eq!(kept, 10, "what the reader leaves");
}

#[test]
fn one_alone_may_be_larger_than_all() {
    let budget = table(KIB);
    let large = budget.hold_since(10_000, tenant(1), 100 * KIB);
    assert!(!is_dropped(&large));
    let next = budget.hold_since(0, tenant(1), 2);
    assert!(is_dropped(&large) && !is_dropped(&next));
}
