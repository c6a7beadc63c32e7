use gancho_domain::ManualClock;
use gancho_store_sqlite::SqliteStore;

use super::*;

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn users() -> Users {
    Users::new(SqliteStore::inline().unwrap(), Arc::new(ManualClock::at_secs(1_000)))
}

fn new(name: &str, role: Role) -> NewUser {
    NewUser { name: name.to_owned(), role, password: secret("correct horse battery") }
}

async fn is_current(users: &Users, before: &User) -> bool {
    users.current("ana", before.stamp()).await.unwrap().is_some()
}

#[tokio::test]
async fn a_user_logs_in_with_the_password_and_gets_the_role() {
    let users = users();
    let made = users.create(new("Ana@Example.com", Role::Support)).await.unwrap();
    assert_eq!((&*made.name, made.role), ("ana@example.com", Role::Support));
    let (user, operator) = users
        .log_in(None, "ANA@example.com ", secret("correct horse battery"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(user, made);
    assert_eq!((operator.role(), operator.user()), (Role::Support, Some("ana@example.com")));
    for (name, password) in [
        ("ana@example.com", "wrong horse battery"),
        ("ana@example.com", ""),
        ("bo@example.com", "correct horse battery"),
        ("", "correct horse battery"),
    ] {
        assert!(users.log_in(None, name, secret(password)).await.unwrap().is_none(), "{name}");
    }
    let long = secret(&"x".repeat(100_000));
    assert!(users.log_in(None, "ana@example.com", long).await.unwrap().is_none());
}

#[tokio::test]
async fn names_are_unique_and_checked() {
    let users = users();
    users.create(new("ana", Role::ReadOnly)).await.unwrap();
    assert_eq!(users.create(new("ANA", Role::Operator)).await, Err(UserError::Taken));
    for name in ["", " ", "a b", "ação", "-ana", "a/b", "a\u{202e}b", &"a".repeat(129)] {
        let created = users.create(new(name, Role::Operator)).await;
        assert_eq!(created, Err(UserError::InvalidName), "{name}");
    }
    assert_eq!(users.list(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn weak_passwords_are_refused() {
    let users = users();
    for password in ["short", &"x".repeat(257), "anabanana-1234"] {
        let new = NewUser { password: secret(password), ..new("anabanana", Role::Support) };
        assert!(matches!(users.create(new).await, Err(UserError::WeakPassword(_))));
    }
}

#[tokio::test]
async fn a_change_ends_the_sessions_from_before() {
    let users = users();
    let made = users.create(new("ana", Role::Support)).await.unwrap();
    assert!(is_current(&users, &made).await);
    let change = UserChange { role: Some(Role::ReadOnly), password: None };
    let demoted = users.change("ana", change).await.unwrap();
    assert_eq!(demoted.role, Role::ReadOnly);
    assert!(!is_current(&users, &made).await);
    assert!(is_current(&users, &demoted).await);
    let (old, next) = ("correct horse battery", "another horse battery");
    let wrong = users.change_own_password("ana", secret("wrong"), secret(next)).await;
    assert_eq!(wrong, Err(UserError::WrongPassword));
    let own = users.change_own_password("ana", secret(old), secret(next)).await.unwrap();
    assert!(!is_current(&users, &demoted).await);
    assert!(users.log_in(None, "ana", secret(old)).await.unwrap().is_none());
    assert!(users.log_in(None, "ana", secret(next)).await.unwrap().is_some());
    users.delete("ana").await.unwrap();
    assert!(!is_current(&users, &own).await);
    assert_eq!(users.delete("ana").await, Err(UserError::NotFound));
    let again = users.create(new("ana", Role::Support)).await.unwrap();
    assert_ne!(again.stamp(), own.stamp());
}

#[tokio::test]
async fn a_change_of_nothing_ends_no_session() {
    let users = users();
    let made = users.create(new("ana", Role::Support)).await.unwrap();
    let same = users.change("ana", UserChange::default()).await.unwrap();
    assert_eq!(same, made);
    let role = UserChange { role: Some(Role::Support), password: None };
    assert_eq!(users.change("ana", role).await.unwrap(), made);
    assert!(is_current(&users, &made).await);
    let role = UserChange { role: Some(Role::ReadOnly), password: None };
    assert_ne!(users.change("ana", role).await.unwrap().stamp(), made.stamp());
}

#[tokio::test]
async fn control_characters_and_common_passwords_are_refused() {
    let users = users();
    for password in ["correct horse\u{7}battery", "password1234", "aaaaaaaaaaaaaaaa"] {
        let new = NewUser { password: secret(password), ..new("ana", Role::Support) };
        let refused = users.create(new).await.unwrap_err();
        assert!(matches!(refused, UserError::WeakPassword(_)), "{password}: {refused}");
    }
    for name in ["ana\n", "\tana", "a\u{0}na"] {
        let refused = users.create(new(name, Role::Support)).await.unwrap_err();
        assert_eq!(refused, UserError::InvalidName, "{name:?}");
    }
}
