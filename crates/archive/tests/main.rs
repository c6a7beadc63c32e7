//! Archives of dead letters, filled by a real engine from a real store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Runs each test on both stores.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(gancho_testkit::stores::StoreKind::Sqlite).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(gancho_testkit::stores::StoreKind::Postgres).await;
            }
        )*}
    };
}

mod dead_letters {
    mod archive;
    mod s3;
}
mod stage;
