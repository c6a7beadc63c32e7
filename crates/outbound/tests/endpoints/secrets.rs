//! Secrets: which are accepted, how they are decoded, and that they are bound to their row.

use gancho_outbound::{EndpointDraft, EndpointError, registry};
use gancho_vault::KeyRing;
use gancho_wire::new_key_pair;

use crate::stage::Stage;

fn with(secret: Option<&str>, profile: &str) -> EndpointDraft {
    EndpointDraft {
        url: Some("https://example.com/".into()),
        events: Some(vec!["*".into()]),
        secret: secret.map(str::to_owned),
        profile: Some(profile.into()),
        ..EndpointDraft::default()
    }
}

#[tokio::test]
async fn the_answer_says_how_a_secret_was_understood() {
    let stage = Stage::new().await;
    let private = new_key_pair().unwrap().private_key;
    for (secret, profile, format) in [
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "standard", "base64"),
        ("a raw text of some length", "standard", "raw"),
        (private.as_str(), "standard", "ed25519"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "saas", "raw"),
        ("your_webhook_secret", "auracore", "raw"),
        ("whsec_not-base64_at-all-but-long", "saas", "raw"),
        ("whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6", "email-gateway", "raw"),
    ] {
        let created = stage.create(with(Some(secret), profile)).await;
        assert_eq!(created.secret_format.as_str(), format, "{profile} {secret}");
        assert_eq!(&**created.secret, secret);
        let revealed = stage.desk.reveal(stage.scope, created.endpoint.id).await.unwrap();
        assert_eq!(&**revealed.secret, secret);
        assert_eq!(revealed.secret_format.as_str(), format);
        assert_eq!(revealed.old_until, []);
    }
}

#[tokio::test]
async fn secrets_that_are_refused() {
    let stage = Stage::new().await;
    let pair = new_key_pair().unwrap();
    for (secret, profile) in [
        ("", "standard"),
        ("fifteen letters", "standard"),
        ("whsec_", "standard"),
        ("whsec_c2hvcnQ=", "standard"),
        // faults.md C5: truncated, or not base64.
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "standard"),
        ("whsec_not-base64_at-all-but-long", "standard"),
        (pair.public_key.as_str(), "standard"),
        (pair.private_key.as_str(), "saas"),
        ("fifteen letters", "auracore"),
        (" a secret with blanks around ", "saas"),
    ] {
        let refused =
            stage.desk.create(stage.scope, &stage.tenant, with(Some(secret), profile)).await;
        let Err(EndpointError::Faulty(errors)) = refused.map(|_| ()) else { panic!("{secret}") };
        assert_eq!((errors[0].code, errors[0].pointer.as_str()), ("secret_unfit", "/secret"));
        assert!(
            secret.is_empty() || !errors[0].message.contains(secret),
            "a secret is not repeated"
        );
    }
}

#[tokio::test]
async fn a_profile_that_the_secret_does_not_fit_is_refused() {
    let stage = Stage::new().await;
    let private = new_key_pair().unwrap().private_key;
    let id = stage.create(with(Some(&private), "standard")).await.endpoint.id;
    let to_saas = EndpointDraft { profile: Some("saas".into()), ..EndpointDraft::default() };
    let refused = stage.desk.change(stage.scope, id, to_saas.clone(), false).await;
    assert!(
        matches!(refused, Err(EndpointError::Faulty(errors)) if errors[0].pointer == "/profile")
    );
    let with_secret = EndpointDraft { secret: Some("a text of good length".into()), ..to_saas };
    assert_eq!(
        stage.desk.change(stage.scope, id, with_secret, false).await.unwrap().profile,
        "saas"
    );
    let revealed = stage.desk.reveal(stage.scope, id).await.unwrap();
    assert_eq!(&**revealed.secret, "a text of good length");
}

/// faults.md C5: a text that one profile uses unchanged may be invalid base64 in another.
#[tokio::test]
async fn a_secret_is_judged_again_with_another_profile() {
    let stage = Stage::new().await;
    let broken = "whsec_not-base64_at-all-but-long";
    let id = stage.create(with(Some(broken), "saas")).await.endpoint.id;
    let to = |profile: &str| EndpointDraft { profile: Some(profile.into()), ..Default::default() };
    let refused = stage.desk.change(stage.scope, id, to("standard"), false).await;
    assert!(
        matches!(refused, Err(EndpointError::Faulty(errors)) if errors[0].pointer == "/profile")
    );
    stage.desk.change(stage.scope, id, to("saas"), false).await.unwrap();

    // A secret that was accepted before this check continues to sign, and the endpoint's other properties can
    // be changed.
    let mut endpoint = stage.read(id).await;
    endpoint.profile = "standard".into();
    stage.store.save_endpoint(stage.scope, endpoint).await.unwrap();
    stage.outbound.registry.forget(stage.scope.tenant());
    assert!(stage.outbound.registry.of(stage.scope.tenant()).await.unwrap().get(id).is_some());
    stage.desk.change(stage.scope, id, to("standard"), false).await.unwrap();
}

/// A secret that was encrypted with another key, or moved to another row, cannot be decrypted.
#[tokio::test]
async fn secrets_open_in_their_place_only_and_can_be_resealed() {
    let stage = Stage::new().await;
    let headers = Some([("X-Token".to_owned(), "value".to_owned())].into());
    let first = stage.create(EndpointDraft { headers, ..with(None, "standard") }).await;
    let second = stage.create(with(None, "standard")).await.endpoint;
    let mut moved = second.clone();
    moved.sealed_secret.clone_from(&first.endpoint.sealed_secret);
    stage.store.save_endpoint(stage.scope, moved).await.unwrap();
    let error = stage.desk.reveal(stage.scope, second.id).await.map(|_| ()).unwrap_err();
    assert!(matches!(error, EndpointError::Vault(_)), "{error}");

    stage.desk.rotate(stage.scope, first.endpoint.id, None, None).await.unwrap();
    let mut endpoint = stage.read(first.endpoint.id).await;
    let ring = KeyRing::parse(&stage.ring.with_new_key().unwrap().text()).unwrap();
    assert_eq!(registry::reseal(&ring, &mut endpoint), Ok(true));
    assert_eq!(registry::reseal(&ring, &mut endpoint), Ok(false), "all of it is new");
    let sealed = [
        &endpoint.sealed_secret,
        &endpoint.old_secrets[0].sealed,
        endpoint.sealed_headers.as_ref().unwrap(),
    ];
    assert!(sealed.iter().all(|sealed| KeyRing::key_of(sealed) == Some(2)));
    assert!(registry::reseal(&KeyRing::generate().unwrap(), &mut endpoint).is_err());
}
