-- The operator lists the endpoints of all tenants, newest first, and finds one by its id alone. Deliveries and parcels
-- need no index for that: their row numbers are in order of time.
CREATE INDEX endpoints_by_id ON endpoints (id);
