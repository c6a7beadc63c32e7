//! The e-mail outbox: submitted e-mails are sent and retried by the same engine as everything else, and the
//! tenant gets their outcome by webhook.
//!
//! In reading order: [`draft`] is the request, with [`address`], [`header`] and [`attachment`] validating its
//! parts; [`email`] is the stored form; [`outbox`] accepts and shows e-mails (`submit`, `list`); [`carrier`]
//! makes one attempt: [`suppression`] may forbid it, [`message`] writes the bytes, a [`transport`] ([`smtp`],
//! [`ses`] or the [`sink`]) sends them, [`classify`] interprets the response, and [`events`] report it.
//! [`feedback`] handles the bounces and complaints that SES reports later.
//!
//! This crate never decides about retries (the engine does), never shows an unmasked address, never sends to
//! a suppressed address, never sends a header line that a caller has broken, and does not know the API.

pub mod address;
pub mod attachment;
pub mod carrier;
pub mod classify;
pub mod draft;
pub mod email;
pub mod events;
pub mod feedback;
pub mod header;
pub mod limits;
mod list;
pub mod message;
pub mod outbox;
pub mod ses;
pub mod sink;
pub mod smtp;
mod submit;
pub mod suppression;
pub mod transport;

pub use address::Mailbox;
pub use carrier::MailCarrier;
pub use classify::{FailureCode, classify};
pub use draft::{AttachmentDraft, EmailDraft};
pub use email::Email;
pub use feedback::{Feedback, FeedbackService};
pub use limits::{MailLimits, TenantLimits};
pub use outbox::{EmailFilter, EmailRow, EmailStatus, EmailView, Outbox};
pub use ses::SesTransport;
pub use sink::Sink;
pub use smtp::SmtpTransport;
pub use submit::{Submission, SubmitError};
pub use suppression::{SuppressedAddress, SuppressionReason, Suppressions};
pub use transport::{Acceptance, OutgoingMessage, Transport, TransportError};
