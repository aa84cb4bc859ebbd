-- SPDX-License-Identifier: Apache-2.0
-- Everything learnt. One file, WAL mode; a trial is one row, written in one transaction when it ended.

create table if not exists meta (
  key   text primary key,
  value text not null
) without rowid;

-- What was computed: the canonical text of the graph, named by its hash.
create table if not exists workload (
  hash text primary key,  -- 16 hexadecimal digits
  name text not null,     -- as last seen; not part of the identity
  text text not null
) without rowid;

-- The right answer of a workload for the inputs of one seed, as the reference run gave it.
create table if not exists answer (
  workload text not null references workload(hash),
  seed     integer not null,
  outputs  text not null,  -- JSON, see measure/answer.h
  primary key (workload, seed)
) without rowid;

-- Open traces; many trials share one.
create table if not exists skeleton (
  hash text primary key,
  text text not null
) without rowid;

create table if not exists trial (
  id          integer primary key,
  workload    text not null references workload(hash),
  target      text not null,
  fingerprint text not null,  -- of code generator and agent: another one is another measurement
  device      text not null,
  threads     integer not null,
  skeleton    text not null references skeleton(hash),
  decisions   text not null,
  status      text not null,  -- 'ok', 'abandoned', or the failure's kind
  reason      text not null,  -- of a failure, else empty
  unit        text not null,  -- ns, cycles, insn
  emulated    integer not null,
  samples     text not null,  -- JSON array, time of one call each
  score       real,           -- null unless status is 'ok'
  context     text not null,  -- JSON object
  sizes       text not null,  -- JSON object: text_bytes, stack_bytes, workspace_bytes
  seconds     real not null,  -- build and run
  created     text not null,  -- UTC, ISO 8601
  unique (workload, target, fingerprint, device, threads, skeleton, decisions)
);

create index if not exists trial_best
  on trial (workload, target, fingerprint, device, threads, status, score);
