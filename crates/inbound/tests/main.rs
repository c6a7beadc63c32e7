//! Receiving webhooks, from a request to the core: with a real SQLite file and a real PostgreSQL, a real
//! engine and receivers on loopback. The clock is manual.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Runs each test on each store.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&crate::stage::Stage::sqlite().await).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&crate::stage::Stage::postgres().await).await;
            })*
        }
    };
}

/// Runs tests that hardly depend on the store.
macro_rules! on_sqlite {
    ($($name:ident),* $(,)?) => {
        mod on_one_store {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(&crate::stage::Stage::sqlite().await).await;
            })*
        }
    };
}

mod ledger {
    mod checkpoints;
}
mod receipts {
    mod attacks;
    mod crash;
    mod deduplicate;
    mod dispatch;
    mod receive;
    mod strangers;
}
mod rejections {
    mod list;
}
mod sources {
    mod activity;
    mod draft;
    mod handshake;
    mod keys;
    mod presets;
    mod sns;
    mod targets;
}
mod stage;
