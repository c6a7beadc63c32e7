-- Lists of the operator over all tenants, newest first.

create index endpoints_by_id on endpoints (id);
create index parcels_by_id on parcels (id);

-- Deliveries have no index by id alone, which would be written twice for each of them: they are found by the spans,
-- which say who got something at a time.
create index spans_by_time_and_tenant on spans (from_id, tenant_id);
drop index spans_by_time;

-- As `deliveries_in_spans`, for all tenants. Each span is of all those who got something in it.
create function deliveries_of_all(below uuid, lowest uuid, looks int) returns table (
    tenant_id uuid, id uuid, target_id uuid, parcel_id uuid, created_at bigint, attempts int,
    lane smallint, state smallint, place bigint, reached uuid
) language plpgsql stable as $$
declare
    span record;
    seen int;
    last uuid;
    looked bigint := 0;
begin
    loop
        select s.from_id, s.to_id into span from spans s
        where s.from_id < below order by s.from_id desc limit 1;
        exit when span.from_id is null or span.to_id <= lowest;
        if looks <= 0 then
            id := null; place := looked + 1; reached := below;
            return next;
            return;
        end if;
        seen := 0;
        for tenant_id, id, target_id, parcel_id, created_at, attempts, lane, state in
            -- The tenants of the span, one step of the index for each.
            with recursive tenants_of_span(tenant_id) as (
                (select s.tenant_id from spans s where s.from_id = span.from_id
                 order by s.tenant_id limit 1)
                union all
                select (select s.tenant_id from spans s
                    where s.from_id = span.from_id and s.tenant_id > t.tenant_id
                    order by s.tenant_id limit 1)
                from tenants_of_span t where t.tenant_id is not null)
            select d.tenant_id, d.id, d.target_id, d.parcel_id, d.created_at, d.attempts, d.lane, d.state
            from tenants_of_span t
            cross join lateral (
                select d.* from deliveries d
                where d.tenant_id = t.tenant_id and d.id >= span.from_id
                  and d.id < least(span.to_id, below)
                order by d.id desc limit looks) d
            where t.tenant_id is not null
            order by d.id desc limit looks
        loop
            seen := seen + 1;
            looked := looked + 1;
            place := looked;
            last := id;
            return next;
        end loop;
        -- There may be more in this span.
        below := case when seen = looks then last else span.from_id end;
        looks := looks - greatest(seen, 1);
    end loop;
end $$;
