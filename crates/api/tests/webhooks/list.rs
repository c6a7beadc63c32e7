//! Pages of webhooks.

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(hands.webhook(&format!("http://127.0.0.1:9999/{n}")).await["id"].clone());
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/webhooks?limit=3".to_owned();
    loop {
        let page = hands.client.get(&path).await.is(200).json();
        seen.extend(page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/webhooks?limit=3&cursor={next}");
    }
    assert_eq!(seen, made);
}
