-- Dead letters leave when their time is over.
create index dead_letters_by_expiry on dead_letters (expires_at, delivery_id);

-- A span is now of one lane, so that a list of one lane does not read another's deliveries: see
-- spans.rs. Until now nearly all were of webhooks (2), and a node of the version before that still
-- runs goes on writing them so.
alter table spans add column lane smallint not null default 2;
alter table spans drop constraint spans_pkey;
alter table spans add primary key (tenant_id, target_id, from_id, lane);
insert into spans (tenant_id, target_id, from_id, to_id, lane)
select distinct s.tenant_id, s.target_id, s.from_id, s.to_id, d.lane
from spans s join deliveries d on d.tenant_id = s.tenant_id and d.target_id = s.target_id
    and d.id >= s.from_id and d.id < s.to_id
where d.lane <> 2;
create index spans_of_lane on spans (tenant_id, lane, from_id);
