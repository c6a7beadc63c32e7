-- Rises with every change of a tenant's endpoints, so that who has read them knows whether to read them
-- again. Kept by triggers, whoever makes the change.
CREATE TABLE endpoint_versions (
  tenant_id BLOB NOT NULL PRIMARY KEY,
  version   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER endpoint_is_made AFTER INSERT ON endpoints BEGIN
  INSERT INTO endpoint_versions (tenant_id, version) VALUES (NEW.tenant_id, 1)
  ON CONFLICT DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER endpoint_is_changed AFTER UPDATE ON endpoints BEGIN
  INSERT INTO endpoint_versions (tenant_id, version) VALUES (NEW.tenant_id, 1)
  ON CONFLICT DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER endpoint_is_deleted AFTER DELETE ON endpoints BEGIN
  INSERT INTO endpoint_versions (tenant_id, version) VALUES (OLD.tenant_id, 1)
  ON CONFLICT DO UPDATE SET version = version + 1;
END;
