-- Changes with every change of a tenant's event types, so that who has read them knows whether to read them again.
-- A random number; there is none while the collection is empty.
CREATE TABLE collection_versions (
  kind      TEXT NOT NULL,
  tenant_id BLOB NOT NULL,
  version   INTEGER NOT NULL,
  PRIMARY KEY (kind, tenant_id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER event_type_is_made AFTER INSERT ON records WHEN NEW.kind = 'event_type' BEGIN
  INSERT INTO collection_versions (kind, tenant_id, version) VALUES (NEW.kind, NEW.tenant_id, 1 + (random() >> 12 & 0xFFFFFFFFFFFF))
  ON CONFLICT DO UPDATE SET version = excluded.version;
END;
CREATE TRIGGER event_type_is_changed AFTER UPDATE ON records WHEN NEW.kind = 'event_type' BEGIN
  INSERT INTO collection_versions (kind, tenant_id, version) VALUES (NEW.kind, NEW.tenant_id, 1 + (random() >> 12 & 0xFFFFFFFFFFFF))
  ON CONFLICT DO UPDATE SET version = excluded.version;
END;
CREATE TRIGGER event_type_is_deleted AFTER DELETE ON records WHEN OLD.kind = 'event_type' BEGIN
  UPDATE collection_versions SET version = 1 + (random() >> 12 & 0xFFFFFFFFFFFF) WHERE kind = OLD.kind AND tenant_id = OLD.tenant_id;
  DELETE FROM collection_versions WHERE kind = OLD.kind AND tenant_id = OLD.tenant_id
    AND NOT EXISTS (SELECT 1 FROM records WHERE kind = OLD.kind AND tenant_id = OLD.tenant_id);
END;
INSERT INTO collection_versions (kind, tenant_id, version) SELECT DISTINCT kind, tenant_id, 1 FROM records WHERE kind = 'event_type';
