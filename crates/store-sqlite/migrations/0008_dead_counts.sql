-- How many dead letters there are, so that nobody has to count them.
CREATE TABLE dead_counts (
  tenant_id BLOB NOT NULL,
  lane      INTEGER NOT NULL,
  code      TEXT NOT NULL,
  count     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, lane, code)
) STRICT, WITHOUT ROWID;

INSERT INTO dead_counts SELECT tenant_id, lane, code, count(*) FROM dead_letters GROUP BY 1, 2, 3;

-- Kept by triggers, so that no statement can forget it. None may say `INSERT OR REPLACE`: what that
-- replaces is deleted without a trigger.
CREATE TRIGGER dead_letter_added AFTER INSERT ON dead_letters BEGIN
  INSERT INTO dead_counts VALUES (new.tenant_id, new.lane, new.code, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER dead_letter_removed AFTER DELETE ON dead_letters BEGIN
  UPDATE dead_counts SET count = count - 1
    WHERE tenant_id = old.tenant_id AND lane = old.lane AND code = old.code;
  DELETE FROM dead_counts
    WHERE tenant_id = old.tenant_id AND lane = old.lane AND code = old.code AND count <= 0;
END;
CREATE TRIGGER dead_letter_changed AFTER UPDATE OF code ON dead_letters WHEN old.code <> new.code BEGIN
  UPDATE dead_counts SET count = count - 1
    WHERE tenant_id = old.tenant_id AND lane = old.lane AND code = old.code;
  DELETE FROM dead_counts
    WHERE tenant_id = old.tenant_id AND lane = old.lane AND code = old.code AND count <= 0;
  INSERT INTO dead_counts VALUES (new.tenant_id, new.lane, new.code, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
