-- How long what a tenant has sent is stored, where that is not as for all others.
ALTER TABLE tenants ADD COLUMN keep_events_us INTEGER;
ALTER TABLE tenants ADD COLUMN keep_emails_us INTEGER;
ALTER TABLE tenants ADD COLUMN keep_dead_us INTEGER;
CREATE INDEX tenants_with_retention ON tenants (id)
  WHERE keep_events_us IS NOT NULL OR keep_emails_us IS NOT NULL;

-- By triggers, so that no statement can forget it.
CREATE TRIGGER dead_letter_expiry_added AFTER INSERT ON dead_letters
WHEN EXISTS (SELECT 1 FROM tenants WHERE id = new.tenant_id AND keep_dead_us IS NOT NULL) BEGIN
  UPDATE dead_letters SET expires_at = new.moved_at +
      (SELECT keep_dead_us FROM tenants WHERE id = new.tenant_id)
    WHERE delivery = new.delivery;
END;
CREATE TRIGGER dead_letter_expiry_changed AFTER UPDATE OF moved_at ON dead_letters
WHEN EXISTS (SELECT 1 FROM tenants WHERE id = new.tenant_id AND keep_dead_us IS NOT NULL) BEGIN
  UPDATE dead_letters SET expires_at = new.moved_at +
      (SELECT keep_dead_us FROM tenants WHERE id = new.tenant_id)
    WHERE delivery = new.delivery;
END;
