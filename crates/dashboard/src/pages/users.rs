//! `/ui/users`: who may log in, with which role?

use askama::Template;
use axum::response::Response;
use gancho_access::Role;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::List;
use crate::{
    display_time::DisplayTime,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::{FormErrors, Problem},
    sentence::Sentence,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/users";

#[derive(Deserialize)]
struct User {
    name: String,
    role: String,
    created_at: DisplayTime,
    password_changed_at: DisplayTime,
}

impl User {
    fn role(&self, t: &Texts) -> Sentence {
        role_name(&self.role, t)
    }
}

fn role_name(role: &str, t: &Texts) -> Sentence {
    match role.parse() {
        Ok(Role::Operator) => t.say("users.operator"),
        Ok(Role::Support) => t.say("users.support"),
        Ok(Role::ReadOnly) | Err(_) => t.say("users.read_only"),
    }
}

/// A role to choose.
struct Choice {
    name: &'static str,
    label: Sentence,
    is_chosen: bool,
}

fn choices(chosen: &str, t: &Texts) -> Vec<Choice> {
    let choice = |name| Choice { name, label: role_name(name, t), is_chosen: name == chosen };
    Role::NAMES.iter().map(|name| choice(name)).collect()
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage {
    t: Texts,
    s: Shell,
    rows: Vec<User>,
    next: Option<Link>,
    typed: String,
    roles: Vec<Choice>,
    errors: FormErrors,
}

#[derive(Template)]
#[template(path = "user.html")]
struct UserPage {
    t: Texts,
    s: Shell,
    user: User,
    roles: Vec<Choice>,
    errors: FormErrors,
}

pub async fn list(visit: Visit) -> PageResult {
    render_list(&visit, "", Role::Support.name(), FormErrors::default()).await
}

async fn render_list(visit: &Visit, typed: &str, role: &str, errors: FormErrors) -> PageResult {
    let t = visit.t;
    let link = Link::new("/v1/users").with("limit", 100);
    let link = link.maybe("cursor", visit.params.get("cursor"));
    let List { data: rows, next_cursor } = visit.get_as_operator(link).await?;
    let template = UsersPage {
        t,
        s: Shell::new(visit, PATH, t.say("nav.users")).await,
        rows,
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
        typed: typed.to_owned(),
        roles: choices(role, &t),
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let (name, role) = (form.text("name"), form.text("role"));
    // A password is not trimmed, because spaces are part of it.
    let password = form.get("password").unwrap_or_default();
    let body = json!({"name": name, "role": role, "password": password});
    match visit.post::<User>(Link::new("/v1/users"), body).await {
        Ok(user) => {
            let message = visit.t.say("users.created").code("name", &user.name);
            Ok(visit.done(&visit.link(PATH), message))
        }
        Err(problem) if problem.is_input() => render_list(&visit, name, role, problem.into()).await,
        Err(problem) => Err(problem),
    }
}

pub async fn show(visit: Visit) -> PageResult {
    render(&visit, FormErrors::default()).await
}

async fn render(visit: &Visit, errors: FormErrors) -> Result<Response, Problem> {
    let t = visit.t;
    let user: User = visit.get_as_operator(api(visit)).await?;
    let title = t.say("users.title").with("name", &user.name);
    let s = Shell::new(visit, PATH, title).await;
    let roles = choices(&user.role, &t);
    Ok(page::show(errors.status(), &UserPage { t, s, user, roles, errors }))
}

pub async fn set_role(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    change(&visit, json!({"role": form.text("role")}), "users.role_changed").await
}

pub async fn set_password(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let password = form.get("password").unwrap_or_default();
    change(&visit, json!({"password": password}), "users.password_changed").await
}

async fn change(visit: &Visit, body: Value, message: &'static str) -> PageResult {
    match visit.send::<User>(Method::PATCH, api(visit), Some(body)).await {
        Ok(user) => {
            let message = visit.t.say(message).code("name", &user.name);
            Ok(visit.done(&visit.link(format!("{PATH}/{}", segment(&user.name))), message))
        }
        Err(problem) if problem.is_input() => render(visit, problem.into()).await,
        Err(problem) => Err(problem),
    }
}

pub async fn delete(submission: Submission) -> PageResult {
    let visit = submission.visit;
    visit.send::<Value>(Method::DELETE, api(&visit), None).await?;
    let message = visit.t.say("users.deleted").code("name", visit.name("user"));
    Ok(visit.done(&visit.link(PATH), message))
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/users/{}", visit.segment("user")))
}

#[derive(Template)]
#[template(path = "password.html")]
struct PasswordPage {
    t: Texts,
    s: Shell,
    errors: FormErrors,
}

/// `/ui/password`: the user's own password.
pub async fn own_password(visit: Visit) -> PageResult {
    Ok(show_own(&visit, FormErrors::default()).await)
}

async fn show_own(visit: &Visit, errors: FormErrors) -> Response {
    let s = Shell::new(visit, "", visit.t.say("users.own_password")).await;
    page::show(errors.status(), &PasswordPage { t: visit.t, s, errors })
}

pub async fn set_own_password(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let (current, new) = (form.get("current_password"), form.get("password"));
    let body = json!({
        "current_password": current.unwrap_or_default(),
        "password": new.unwrap_or_default(),
    });
    match visit.post::<Value>(Link::new("/v1/me/password"), body).await {
        // All sessions have ended, including this one.
        Ok(_) => Ok(page::see_other("/ui/login?changed=yes")),
        Err(problem) if problem.is_input() => Ok(show_own(&visit, problem.into()).await),
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_a_name() {
        let t = Texts {
            language: crate::language::Language::English,
            now: gancho_domain::Time::ZERO,
            is_portal: false,
        };
        let names: std::collections::BTreeSet<_> =
            choices("support", &t).iter().map(|choice| choice.label.to_string()).collect();
        assert_eq!(names.len(), Role::ALL.len());
    }
}
