-- Only the order by time and id is that of `deliveries_pending` alone: `deliveries_due` has the order by time, too, and as long
-- as little was pending when the plan was made, it looked as good, although it leads through all that is due in the lane.
do $$
declare
    claim constant regprocedure := 'claim_round(smallint, bigint, int, int, int, int, int, uuid, uuid, uuid, uuid,
        boolean, uuid[], uuid[], uuid[], uuid[], uuid[])'::regprocedure;
    before constant text := pg_get_functiondef(claim);
    changed constant text := replace(before, 'order by d.due_at limit room + 1', 'order by d.due_at, d.id limit room + 1');
begin
    if changed = before then
        raise exception 'claim_round is not the function that was expected';
    end if;
    execute changed;
    execute format('alter function %s set enable_incremental_sort = off', claim);
end $$;
