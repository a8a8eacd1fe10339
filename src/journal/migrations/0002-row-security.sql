-- A dispatcher sees and writes only the rows of its own Toolset. It connects with a role of its own (roles.ts), whose name
-- carries the Toolset's number, so that no session has to say who it is. Roles are shared by all databases of a server: the
-- name also carries the database's, so that a role of another journal beside this one reaches nothing here.

-- The body is parsed now, not when it is called: no search_path of the caller changes what it means.
create function holdpoint.toolset_of_role() returns bigint language sql stable parallel safe
return case
  when current_user ~ '^holdpoint_toolset_[0-9]{1,15}_[0-9a-f]{8}$'
    and right(current_user, 8) = left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 8)
  then split_part(current_user, '_', 3)::bigint
end;

do $$
declare
  keyed text;
begin
  foreach keyed in array array['toolsets', 'pins', 'listings', 'incarnations', 'runs', 'log', 'holds', 'signals', 'projections'] loop
    execute format('alter table holdpoint.%I enable row level security', keyed);
    -- Forced: a table's owner is let in by a policy that can be read, not by an exception.
    execute format('alter table holdpoint.%I force row level security', keyed);
    execute format('create policy controller on holdpoint.%I to current_user using (true) with check (true)', keyed);
    -- In a sub-select the function is called once a statement, and its result can be looked up in an index.
    execute format(
      'create policy toolset on holdpoint.%I using (toolset_id = (select holdpoint.toolset_of_role())) '
      'with check (toolset_id = (select holdpoint.toolset_of_role()))', keyed);
  end loop;
end
$$;
