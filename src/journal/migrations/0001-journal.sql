-- The journal's first shape. Every key begins with toolset_id. Foreign text is stored as JSON text, never raw (U+0000) and
-- never jsonb (digits, order of keys). Times that the database compares are timestamptz; recorded ones are milliseconds.

create table holdpoint.installation (
  singleton boolean primary key default true check (singleton),
  cluster_uid text not null,
  created_at timestamptz not null default now()
);

create table holdpoint.toolsets (
  toolset_id bigint generated always as identity primary key,
  namespace text not null,
  name text not null,
  uid text not null,
  generation bigint not null,
  spec text not null,
  suspended boolean not null default false,
  deleted_at timestamptz,
  -- A wish to pin is a number counted up; whoever carried it out writes it into pin_done.
  pin_wanted bigint not null default 0,
  pin_done bigint not null default 0,
  pin_reason text not null default '',
  pin_tried_at timestamptz,
  pin_digest text,
  pinned_at timestamptz,
  -- What discovery noticed: JSON of DiscoveryReport.
  report text,
  unique (namespace, name)
);

create table holdpoint.pins (
  toolset_id bigint not null references holdpoint.toolsets,
  digest text not null,
  content text not null,
  notes text not null,
  created_at timestamptz not null default now(),
  primary key (toolset_id, digest)
);

create table holdpoint.listings (
  toolset_id bigint not null references holdpoint.toolsets,
  server text not null,
  server_digest text not null,
  protocol text not null,
  server_info text,
  tools text not null,
  listed_at timestamptz not null default now(),
  primary key (toolset_id, server)
);

-- A dispatcher process. Its id is the fencing token: new at each start, never used again.
create table holdpoint.incarnations (
  id uuid primary key,
  toolset_id bigint not null references holdpoint.toolsets,
  place text not null,
  lease_until timestamptz not null,
  dead boolean not null default false,
  draining boolean not null default false,
  journal_version integer not null,
  started_at timestamptz not null default now()
);
create index incarnations_alive on holdpoint.incarnations (toolset_id) where not dead;

create table holdpoint.runs (
  toolset_id bigint not null references holdpoint.toolsets,
  run_id uuid not null,
  namespace text not null,
  name text not null,
  uid text not null,
  generated_name boolean not null,
  spec_digest text not null,
  pin_digest text not null,
  requester text not null default '',
  script text not null,
  input text,
  seed text not null,
  engine text,
  behaviours integer[],
  module text,
  phase text not null default 'Pending',
  waiting_for text,
  accepted boolean,
  accepted_note text,
  owner uuid,
  losses integer not null default 0,
  wake bigint not null default 0,
  runnable_at timestamptz,
  cancel_reason text,
  calls text,
  result text,
  error text,
  admitted_at timestamptz not null default now(),
  started_at timestamptz,
  wake_at timestamptz,
  finished_at timestamptz,
  primary key (toolset_id, run_id)
) with (fillfactor = 70);
-- Only what waits for work: a claim costs the same beside a million finished or parked runs.
create index runs_claimable on holdpoint.runs (toolset_id, runnable_at) where owner is null and runnable_at is not null;
create index runs_owned on holdpoint.runs (owner) where owner is not null;
create index runs_unfinished on holdpoint.runs (toolset_id, run_id) where finished_at is null;
create index runs_name on holdpoint.runs (namespace, name);
create unique index runs_uid on holdpoint.runs (uid);

-- A run's history, append-only. n is given by the run's one owner.
create table holdpoint.log (
  toolset_id bigint not null,
  run_id uuid not null,
  n integer not null,
  kind smallint not null,
  ref integer,
  seq integer,
  at_ms bigint not null,
  meta text not null,
  payload text,
  primary key (toolset_id, run_id, n)
);

create table holdpoint.holds (
  toolset_id bigint not null,
  run_id uuid not null,
  hold_id text not null,
  seq integer not null,
  tool text not null,
  reason text not null,
  actions text[] not null,
  call_digest text not null,
  shown text not null,
  parked_at timestamptz not null default now(),
  -- The decision, as somebody made it; carried out by the run's owner, who then closes the hold.
  action text,
  decided_by text,
  decided_reason text,
  answers text,
  decided_at timestamptz,
  outcome text,
  outcome_note text,
  closed_at timestamptz,
  primary key (toolset_id, run_id, hold_id)
);

create table holdpoint.signals (
  toolset_id bigint not null,
  run_id uuid not null,
  signal_no bigint generated always as identity,
  name text not null,
  payload text not null,
  received_at timestamptz not null default now(),
  primary key (toolset_id, run_id, signal_no)
);

-- Statuses that are to be written: filled in the transaction of the change, drained by the controller. No run means the Toolset.
create table holdpoint.projections (
  projection_no bigint generated always as identity primary key,
  toolset_id bigint not null,
  run_id uuid
);
