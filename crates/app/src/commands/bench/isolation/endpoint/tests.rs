//! Each kind fails in its own way, and a healthy endpoint does not fail.

use super::*;
use crate::commands::bench::http_connection::HttpConnection;

#[tokio::test]
async fn each_kind_fails_in_its_own_way() {
    let patience = Duration::from_millis(300);
    for kind in [FailureMode::Hang, FailureMode::Drip, FailureMode::Error, FailureMode::Slow] {
        let endpoint = Endpoint::dead(kind).await.unwrap();
        let mut line = HttpConnection::open(endpoint.address).await.unwrap();
        let answer = timeout(patience, line.post("/hook", "x-a: b", b"{}")).await;
        assert!(answer.is_err(), "{kind:?} answered");
        assert_eq!(endpoint.requests(), 1, "{kind:?}");
    }
    let refusing = Endpoint::dead(FailureMode::Refuse).await.unwrap();
    let refused = timeout(patience, TcpStream::connect(refusing.address)).await.unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    let silent = Endpoint::dead(FailureMode::Blackhole).await.unwrap();
    assert!(timeout(patience, TcpStream::connect(silent.address)).await.is_err());
}

#[tokio::test]
async fn a_healthy_one_answers_at_once_and_notes_the_number() {
    let arrivals = Arc::new(Arrivals::new(2));
    let endpoint = Endpoint::start(Behavior::Record(arrivals.clone())).unwrap();
    let start = std::time::Instant::now();
    let number = arrivals.publish(start).unwrap();
    let mut line = HttpConnection::open(endpoint.address).await.unwrap();
    for _ in 0..2 {
        let body = format!("{{\"data\":{{\"n\":{number}}}}}");
        assert_eq!(line.post("/hook", "x-a: b", body.as_bytes()).await.unwrap().0, 200);
    }
    arrivals.wait(0..1, Duration::from_secs(5)).await;
    let figures = arrivals.figures(0..1, start, std::time::Instant::now());
    assert_eq!((figures.missing, endpoint.requests()), (0, 2));
}
