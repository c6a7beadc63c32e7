-- What the far side itself called the last failure: an HTTP or SMTP status, or a name such as SES's MessageRejected.
ALTER TABLE dead_letters ADD COLUMN provider_code TEXT;
