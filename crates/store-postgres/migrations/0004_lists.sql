-- What failed, of all of a tenant's targets together.
create index deliveries_failed_of_lane on deliveries (tenant_id, lane, id) where state = 6;

-- Many parcels may bear one id of the publisher's: a list of them goes by time.
create index parcels_by_name on parcels (tenant_id, external_id, id) where external_id is not null;
drop index parcels_by_external_id;

-- Walks the spans of a target, or of a lane, from the newest on, and answers with the deliveries that lie
-- in them, those of others included: at most `looks` rows. Where it ends before the spans do, the last
-- row has no delivery and says in `reached` how far it came.
create function deliveries_in_spans(
    of_tenant uuid, of_target uuid, of_lane smallint, below uuid, lowest uuid, looks int
) returns table (
    id uuid, target_id uuid, parcel_id uuid, created_at bigint, attempts int, lane smallint,
    state smallint, place bigint, reached uuid
) language plpgsql stable as $$
declare
    span record;
    seen int;
    looked bigint := 0;
begin
    loop
        -- Two statements, so that each goes by its index.
        if of_target is null then
            select s.from_id, s.to_id into span from spans s
            where s.tenant_id = of_tenant and s.lane = of_lane and s.from_id < below
            order by s.from_id desc limit 1;
        else
            select s.from_id, s.to_id into span from spans s
            where s.tenant_id = of_tenant and s.target_id = of_target and s.from_id < below
              and (of_lane is null or s.lane = of_lane)
            order by s.from_id desc limit 1;
        end if;
        exit when span.from_id is null or span.to_id <= lowest;
        if looks <= 0 then
            id := null; place := looked + 1; reached := below;
            return next;
            return;
        end if;
        return query
            select d.id, d.target_id, d.parcel_id, d.created_at, d.attempts, d.lane, d.state,
                looked + row_number() over (order by d.id desc), null::uuid
            from (
                select * from deliveries d
                where d.tenant_id = of_tenant and d.id >= span.from_id
                  and d.id < least(span.to_id, below)
                order by d.id desc limit looks) d;
        get diagnostics seen = row_count;
        looked := looked + seen;
        if seen = looks then
            -- There may be more in this span.
            select d.id into below from deliveries d
            where d.tenant_id = of_tenant and d.id >= span.from_id and d.id < least(span.to_id, below)
            order by d.id desc offset looks - 1 limit 1;
        else
            below := span.from_id;
        end if;
        looks := looks - greatest(seen, 1);
    end loop;
end $$;
