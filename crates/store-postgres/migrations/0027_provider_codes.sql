-- What the far side itself called the last failure: an HTTP or SMTP status, or a name such as SES's MessageRejected.
alter table dead_letters add column provider_code text;
