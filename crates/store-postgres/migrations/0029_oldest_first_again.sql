-- As before, with variables instead of a record: a record that is not assigned has no fields, and where PostgreSQL planned
-- the condition again at that moment, the list failed.
create or replace function deliveries_in_spans_upward(
    of_tenant uuid, of_target uuid, of_lane smallint, above uuid, ending uuid, looks int
) returns table (
    id uuid, target_id uuid, parcel_id uuid, created_at bigint, attempts int, lane smallint,
    state smallint, place bigint, reached uuid
) language plpgsql stable as $$
declare
    span_from uuid;
    span_to uuid;
    seen int;
    looked bigint := 0;
    inside boolean := true;    -- `above` may lie in a span of which something is left
begin
    loop
        -- The span that `above` lies in, or else the first behind it: spans are all of one length. Each
        -- statement goes by its index.
        span_from := null; span_to := null;
        if inside and of_target is null then
            select s.from_id, s.to_id into span_from, span_to from spans s
            where s.tenant_id = of_tenant and s.lane = of_lane and s.from_id <= above
            order by s.from_id desc limit 1;
        elsif inside then
            select s.from_id, s.to_id into span_from, span_to from spans s
            where s.tenant_id = of_tenant and s.target_id = of_target and s.from_id <= above
              and (of_lane is null or s.lane = of_lane)
            order by s.from_id desc limit 1;
        end if;
        if span_from is null or span_to <= above then
            if of_target is null then
                select s.from_id, s.to_id into span_from, span_to from spans s
                where s.tenant_id = of_tenant and s.lane = of_lane and s.from_id > above
                order by s.from_id limit 1;
            else
                select s.from_id, s.to_id into span_from, span_to from spans s
                where s.tenant_id = of_tenant and s.target_id = of_target and s.from_id > above
                  and (of_lane is null or s.lane = of_lane)
                order by s.from_id limit 1;
            end if;
        end if;
        exit when span_from is null or span_from >= ending;
        if looks <= 0 then
            id := null; place := looked + 1; reached := above;
            return next;
            return;
        end if;
        return query
            select d.id, d.target_id, d.parcel_id, d.created_at, d.attempts, d.lane, d.state,
                looked + row_number() over (order by d.id), null::uuid
            from (
                select * from deliveries d
                where d.tenant_id = of_tenant and d.id >= span_from and d.id > above
                  and d.id < span_to
                order by d.id limit looks) d;
        get diagnostics seen = row_count;
        looked := looked + seen;
        if seen = looks then
            -- There may be more in this span.
            select d.id into above from deliveries d
            where d.tenant_id = of_tenant and d.id >= span_from and d.id > above
              and d.id < span_to
            order by d.id offset looks - 1 limit 1;
            inside := true;
        else
            -- The last id before the span's end, which is a full millisecond.
            above := (lpad(to_hex(('x' || left(replace(span_to::text, '-', ''), 12))::bit(48)::bigint
                - 1), 12, '0') || repeat('f', 20))::uuid;
            inside := false;
        end if;
        looks := looks - greatest(seen, 1);
    end loop;
end $$;
