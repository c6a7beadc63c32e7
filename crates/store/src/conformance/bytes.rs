//! Bodies and texts are stored byte for byte, whatever they contain.

use bytes::Bytes;
use gancho_domain::{Attempt, Code, Failure, NextStep, TraceContext};

use super::{
    Fixture,
    build::{DONE, World, ids, number, sorted},
};
use crate::{DeliveryFilter, Settlement};

/// Bodies that stores which parse JSON would change or refuse.
fn odd_bodies() -> Vec<Bytes> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let mut bodies = vec![
        Bytes::new(),
        Bytes::from_static(b"\0"),
        Bytes::from_static(b"before\0after\0"),
        Bytes::from(every_byte.clone()),
        Bytes::from_static(b"\xff\xfe\xfd not UTF-8 \xc3\x28 \xed\xa0\x80"),
        Bytes::from_static(b"\xef\xbb\xbf{\"bom\":true}"),
        Bytes::from_static(br#"{"nul":"\u0000","\u0000":1,"lone":"\ud800"}"#),
        Bytes::from_static(br#"{"id":1,"id":2,"__proto__":{},"":0}"#),
        Bytes::from_static(b"[1e400,-0,1E+2,9007199254740993,0.10,1.0]"),
        Bytes::from_static(b" {\r\n\t\"spaced\" :  true } \n"),
        Bytes::from_static(b"'; DROP TABLE parcels; --\\x00"),
        Bytes::from("{\"city\":\"São Paulo\",\"hook\":\"🪝\"}"),
    ];
    bodies.push(every_byte.repeat(4_096).into());
    bodies.push([b"[", "9".repeat(100_000).as_bytes(), b"]"].concat().into());
    bodies
}

pub async fn bodies_are_kept_byte_for_byte<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let bodies = odd_bodies();
    assert!(bodies.iter().any(|body| body.len() == 1 << 20));
    let drafts: Vec<_> =
        bodies.iter().map(|body| world.event(acme).body(body.clone()).to(shop)).collect();
    world.accept_all(drafts.clone()).await;

    let world = world.reopen().await;
    let mut jobs = world.take_all().await;
    jobs.sort_by_key(|job| job.delivery);
    assert_eq!(jobs.len(), bodies.len());
    for ((draft, job), body) in drafts.iter().zip(&jobs).zip(&bodies) {
        assert!(job.parcel.body == *body, "{body:.60?} in the job");
        let view = world.see(acme, job.delivery).await;
        assert!(view.parcel.body == *body, "{body:.60?} in the log");
        let event = world.see_event(acme, draft.id()).await;
        assert!(event.parcel.body == *body, "{body:.60?} in the event");
        world.give_up(job).await;
        let letter = world.dead_letter(job.delivery).await.unwrap();
        assert!(letter.original == *body, "{body:.60?} in the dead letter");
    }
}

fn odd_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'",
        "\"",
        "''",
        "`",
        "\\",
        "\\'",
        "%",
        "_",
        "$1",
        "?1",
        ":name",
        "{}",
        "NULL",
        "null",
        "' OR '1'='1",
        "'; DROP TABLE deliveries; --",
        "/* */ UNION SELECT 1",
        "a\nb\r\nc\td",
        " leading and trailing ",
        "\u{1}\u{1f}\u{7f}",
        "São João",
        "Sa\u{303}o Joa\u{303}o",
        "🪝👩‍👩‍👧‍👦",
        "\u{202e}txet desrever",
        "\u{feff}bom",
        "ß ẞ İ ı",
        "0",
        "-1",
        "1e400",
        "true",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("🪝".repeat(64));
    texts
}

pub async fn odd_text_is_only_text<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let texts = odd_texts();
    let drafts: Vec<_> = texts
        .iter()
        .map(|text| world.event(acme).about(text).named(text).typed(text).to(shop))
        .collect();
    for accepted in world.accept_all(drafts.clone()).await {
        assert_eq!(number(&accepted), Some(1), "each is a subject of its own");
    }
    let world = world.reopen().await;
    for (draft, text) in drafts.iter().zip(&texts) {
        let view = world.see_event(acme, draft.id()).await;
        assert_eq!(*view.parcel, draft.parcel());
        for filter in [
            DeliveryFilter { external_id: Some(text.clone()), ..DeliveryFilter::default() },
            DeliveryFilter { event_type: Some(text.clone()), ..DeliveryFilter::default() },
        ] {
            let rows = world.list(acme, filter).await;
            assert_eq!(rows.len(), 1, "{text:?}");
            assert_eq!(rows[0].id, draft.delivery(0));
            assert_eq!(*rows[0].event_type, **text);
        }
    }
    let jobs = world.take_all().await;
    let made = drafts.iter().map(|draft| draft.delivery(0)).collect();
    assert_eq!(sorted(ids(&jobs)), sorted::<gancho_domain::DeliveryId>(made));
}

pub async fn odd_reasons_are_kept<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let texts = odd_texts();
    world.many_due(acme, shop, texts.len()).await;
    for (job, text) in world.take_all().await.iter().zip(&texts) {
        let failure = Failure::new(Code::http(500), text);
        let now = world.now();
        let tried: Attempt = super::build::failed(job, now, failure.clone(), None);
        let next = NextStep::Dead(failure.clone());
        let settlement = Settlement::of(job, now, Some(tried), next);
        assert_eq!(world.settle(settlement).await, DONE);

        let letter = world.dead_letter(job.delivery).await.unwrap();
        assert_eq!(letter.failure, failure);
        let view = world.see(acme, job.delivery).await;
        assert_eq!(view.row.last_failure, Some(failure.clone()));
        assert_eq!(view.attempts[0].failure, Some(failure));
    }
}

/// A trace is stored with its event, for every attempt and for deliveries that are added later.
pub async fn a_trace_is_kept<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, other] = [world.target(), world.target()];
    let header = "00-0af7651916cd43dd8448eb211c80319c-ffad6b7169203331-01";
    let trace = TraceContext::parse(header).unwrap();
    let traced = world.event(acme).traced(trace).to(shop);
    world.accept_all(vec![traced.clone(), world.event(acme).to(other)]).await;

    let world = world.reopen().await;
    for job in world.take_all().await {
        let expected = (job.target == shop).then_some(trace);
        assert_eq!(job.parcel.trace, expected);
        assert_eq!(world.see(acme, job.delivery).await.parcel.trace, expected);
        world.retry_at(&job, world.now()).await;
    }
    assert_eq!(world.see_event(acme, traced.id()).await.parcel.trace, Some(trace));
    let again = world.take_all().await;
    assert_eq!(again.iter().filter(|job| job.parcel.trace == Some(trace)).count(), 1);
    assert_eq!(again.len(), 2);
}
