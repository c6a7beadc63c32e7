//! Streams that do not end by themselves, and a stop that does not wait for clients that have stopped
//! reading.

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use futures_util::stream::repeat_with;
use gancho_api::{ListenSettings, listen, router};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::stage::Stage;

async fn endless() -> ([(&'static str, &'static str); 1], Body) {
    let piece = Bytes::from(vec![b' '; 64 << 10]);
    let pieces = repeat_with(move || Ok::<_, Infallible>(piece.clone()));
    ([("content-type", "text/event-stream")], Body::from_stream(pieces))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_nobody_reads_does_not_delay_a_stop() {
    let stage = Stage::new().await;
    let routes = router(&stage.api, Router::new().route("/endless", get(endless)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let settings = ListenSettings::default();
    let serving = tokio::spawn(listen(listener, stage.api.clone(), routes, settings, stop.clone()));
    let mut reader = TcpStream::connect(address).await.unwrap();
    reader.write_all(b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut head = [0; 64];
    reader.read_exact(&mut head).await.unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200"));
    stop.cancel();
    let ended = timeout(Duration::from_secs(5), serving).await;
    assert!(ended.is_ok(), "the listener waits for a reader that does not read");
}
