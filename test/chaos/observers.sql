-- What the harness sees of the journal from inside it. A dispatcher's connections carry its place as their application_name,
-- so that every write says which process it came from.
create schema chaos;

create table chaos.violations (
  at timestamptz not null default clock_timestamp(),
  run_id uuid,
  what text not null,
  detail text not null
);

-- Every hand-over of a run.
create table chaos.owners (
  no bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  run_id uuid not null,
  previous uuid,
  next uuid
);

-- When each send was recorded.
create table chaos.sends (run_id uuid not null, seq integer not null, at timestamptz not null default clock_timestamp());

create function chaos.report(run uuid, what text, detail text) returns void language sql as
  $$ insert into chaos.violations (run_id, what, detail) values (run, what, detail || ', by ' || current_setting('application_name')) $$;

create function chaos.watch_owner() returns trigger language plpgsql as $$
declare
  someone record;
begin
  insert into chaos.owners (run_id, previous, next) values (new.run_id, old.owner, new.owner);
  if old.owner is not null and new.owner is not null then
    perform chaos.report(new.run_id, 'two owners', format('%s took it from %s', new.owner, old.owner));
  end if;
  select place, dead into someone from holdpoint.incarnations where id = coalesce(new.owner, old.owner);
  if new.owner is not null and (someone.dead or someone.place <> current_setting('application_name')) then
    perform chaos.report(new.run_id, 'claimed by one who is dead or somebody else', new.owner::text);
  end if;
  if new.owner is null and not someone.dead and someone.place <> current_setting('application_name') then
    perform chaos.report(new.run_id, 'freed by somebody else', format('its owner %s lives', old.owner));
  end if;
  if new.owner is null and new.runnable_at is null and new.finished_at is null and exists (
    select 1 from holdpoint.holds where toolset_id = new.toolset_id and run_id = new.run_id and decided_at is not null and closed_at is null
  ) then
    perform chaos.report(new.run_id, 'a decision was lost', 'the run was given back and nothing will wake it');
  end if;
  return null;
end $$;
create trigger watch_owner after update of owner on holdpoint.runs for each row
  when (old.owner is distinct from new.owner) execute function chaos.watch_owner();

create function chaos.watch_end() returns trigger language plpgsql as $$
begin
  perform chaos.report(new.run_id, 'changed after its end', format('%s to %s', old.phase, new.phase));
  return null;
end $$;
create trigger watch_end after update on holdpoint.runs for each row
  when (old.finished_at is not null) execute function chaos.watch_end();

-- Before the insert, so that a write of a stranger is seen even where it changes nothing.
create function chaos.watch_writer() returns trigger language plpgsql as $$
declare
  owner_place text;
begin
  select i.place into owner_place from holdpoint.runs r join holdpoint.incarnations i on i.id = r.owner and not i.dead
  where r.toolset_id = new.toolset_id and r.run_id = new.run_id;
  if owner_place is distinct from current_setting('application_name') then
    perform chaos.report(new.run_id, 'written by one who does not own it', format('record %s of kind %s, the owner is %s', new.n, new.kind, owner_place));
  end if;
  return new;
end $$;
create trigger watch_writer before insert on holdpoint.log for each row execute function chaos.watch_writer();

create function chaos.watch_send() returns trigger language plpgsql as $$
begin
  insert into chaos.sends (run_id, seq) values (new.run_id, new.seq);
  return null;
end $$;
-- A call that goes out at once (kind 0), and every delayed or further send (kind 2).
create trigger watch_send after insert on holdpoint.log for each row
  when (new.kind = 2 or (new.kind = 0 and (new.meta::json ->> 'sent')::boolean)) execute function chaos.watch_send();
