-- A list of a tenant's walks the spans of a lane, those of all its targets together: see spans.rs.
CREATE INDEX spans_of_lane ON spans (tenant_id, lane, span);

-- What failed, of all of a tenant's targets together.
CREATE INDEX deliveries_failed_of_lane ON deliveries (tenant_id, lane) WHERE state = 6;

-- A parcel lies in the spans of its lane too; nearly all do already, by their deliveries. The number of
-- a kind is that of its lane.
INSERT OR IGNORE INTO spans (tenant_id, target_id, lane, span)
  SELECT p.tenant_id, d.target_id, p.kind, p.seq >> 22
  FROM parcels p JOIN deliveries d ON d.seq = json_extract(p.deliveries, '$[0]')
  WHERE octet_length(p.deliveries) > 2 AND NOT p.sent_later
    AND (p.seq >> 22 <> d.seq >> 22 OR p.kind <> d.lane);
