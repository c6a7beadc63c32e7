//! The frame of every page: its head, the navigation above it and the dialogs below it. These are separate
//! templates, so that they are compiled once.

use askama::{Template, filters::HtmlSafe};

use crate::{shell::Shell, texts::Texts};

#[derive(Template)]
#[template(path = "parts/head.html")]
pub struct Head<'a> {
    t: Texts,
    s: &'a Shell,
}

#[derive(Template)]
#[template(path = "parts/frame.html")]
pub struct Frame<'a> {
    t: Texts,
    s: &'a Shell,
}

#[derive(Template)]
#[template(path = "parts/foot.html")]
pub struct Foot<'a> {
    t: Texts,
    s: &'a Shell,
}

impl HtmlSafe for Head<'_> {}
impl HtmlSafe for Frame<'_> {}
impl HtmlSafe for Foot<'_> {}

impl Shell {
    pub fn head(&self) -> Head<'_> {
        Head { t: self.visit.t, s: self }
    }

    pub fn frame(&self) -> Frame<'_> {
        Frame { t: self.visit.t, s: self }
    }

    pub fn foot(&self) -> Foot<'_> {
        Foot { t: self.visit.t, s: self }
    }
}
