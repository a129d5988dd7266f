-- A history of chokepoint in PostgreSQL: tables and functions. chokepoint carries this text and
-- applies it itself to a database without a history, where its account may create a schema. By hand:
--
--   psql -1 -v ON_ERROR_STOP=1 -f schema.sql postgresql://owner@host/database
--
-- docs/internals/history-store.md says why it is as it is. roles.sql comes after it.

CREATE SCHEMA chokepoint;

CREATE TABLE chokepoint.version (version integer NOT NULL);

-- The key is a hash, because texts may be longer than what an index takes. `subject` is what
-- chokepoint shows: "gpu3", "gpu3 eth0", "gpu3 > gpu4".
CREATE TABLE chokepoint.series (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  kind text COLLATE "C" NOT NULL,
  host text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  peer text COLLATE "C" NOT NULL,
  metric text COLLATE "C" NOT NULL,
  setting text COLLATE "C" NOT NULL,
  unit text NOT NULL,
  better smallint NOT NULL,
  subject text COLLATE "C" NOT NULL);
CREATE INDEX series_subject ON chokepoint.series (left(subject, 500), metric);

-- What measured, and where the document is kept.
CREATE TABLE chokepoint.origin (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  source text NOT NULL,
  program text NOT NULL);

-- Rows, in a partition for each month (UTC). `measured_other` has those of months that are too far
-- away for one: clocks may be wrong.
CREATE TABLE chokepoint.measured (
  series integer NOT NULL,
  origin integer NOT NULL,
  wall_ns bigint NOT NULL,
  value double precision NOT NULL,
  count bigint NOT NULL,
  spread double precision,
  PRIMARY KEY (series, wall_ns)) PARTITION BY RANGE (wall_ns);
CREATE TABLE chokepoint.measured_other PARTITION OF chokepoint.measured DEFAULT;

-- Settings of a host as JSON, once each.
CREATE TABLE chokepoint.content (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea NOT NULL UNIQUE,
  settings text NOT NULL);

-- From the first to the last time that a host was seen with them. `shape` tells apart which
-- settings were read at all.
CREATE TABLE chokepoint.state (
  host text COLLATE "C" NOT NULL,
  shape bigint NOT NULL,
  first_ns bigint NOT NULL,
  last_ns bigint NOT NULL,
  content integer NOT NULL,
  PRIMARY KEY (host, shape, first_ns));

CREATE FUNCTION chokepoint.ns_of(moment timestamp) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT extract(epoch FROM moment)::bigint * 1000000000
$$;

-- Makes the partition of a month, and moves to it what lies in measured_other.
CREATE FUNCTION chokepoint.make_month(month timestamp) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text := 'measured_' || to_char(month, 'YYYY_MM');
  first_ns bigint := chokepoint.ns_of(month);
  end_ns bigint := chokepoint.ns_of(month + interval '1 month');
BEGIN
  IF to_regclass('chokepoint.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  -- Another writer may have made it meanwhile; a lock on a table, unlike that of a name, lets this
  -- one see it.
  PERFORM pg_advisory_xact_lock(hashtext('chokepoint.measured'));
  LOCK TABLE chokepoint.measured_other IN ACCESS EXCLUSIVE MODE;
  IF to_regclass('chokepoint.' || name) IS NOT NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE chokepoint.%I (LIKE chokepoint.measured INCLUDING ALL)', name);
  EXECUTE format('WITH moved AS (DELETE FROM chokepoint.measured_other '
                 'WHERE wall_ns >= %s AND wall_ns < %s RETURNING *) '
                 'INSERT INTO chokepoint.%I SELECT * FROM moved', first_ns, end_ns, name);
  EXECUTE format('ALTER TABLE chokepoint.measured ATTACH PARTITION chokepoint.%I '
                 'FOR VALUES FROM (%s) TO (%s)', name, first_ns, end_ns);
END
$$;

-- Adds a batch, whole or not at all, and says how many rows were new. Arrays of one length make the
-- rows; origins[i] is the place of a row's origin in sources and programs. What is there already is
-- left as it is. It runs with the rights of its owner, so that an account that may call it needs no
-- other. All writers take their locks in one order, so that none waits for another in a circle.
CREATE FUNCTION chokepoint.add(
  kinds text[], hosts text[], names text[], peers text[], metrics text[], asked text[],
  units text[], betters smallint[], times bigint[], figures double precision[],
  spreads double precision[], counts bigint[], origins integer[],
  sources text[], programs text[],
  seen_hosts text[], seen_shapes bigint[], seen_times bigint[], seen_settings text[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  keys bytea[];
  series_ids integer[];
  origin_ids integer[];
  added bigint;
  month timestamp;
  seen record;
  content_id integer;
  content_key bytea;
BEGIN
  -- chokepoint.prune() removes names that no row has: not while rows are being added.
  PERFORM pg_advisory_xact_lock_shared(hashtext('chokepoint.names'));

  FOR month IN
    SELECT DISTINCT date_trunc('month', to_timestamp(time / 1000000000) AT TIME ZONE 'UTC') AS first
    FROM unnest(times) AS time
    WHERE to_timestamp(time / 1000000000) BETWEEN now() - interval '5 years'
                                              AND now() + interval '1 month'
    ORDER BY first
  LOOP
    PERFORM chokepoint.make_month(month);
  END LOOP;

  keys := ARRAY(
    SELECT sha256(convert_to(ROW(kind, host, name, peer, metric, setting)::text, 'UTF8'))
    FROM unnest(kinds, hosts, names, peers, metrics, asked) WITH ORDINALITY
         AS given (kind, host, name, peer, metric, setting, at)
    ORDER BY at);
  series_ids := ARRAY(
    SELECT known.id
    FROM unnest(keys) WITH ORDINALITY AS given (key, at)
    LEFT JOIN chokepoint.series AS known ON known.key = given.key
    ORDER BY at);
  IF array_position(series_ids, NULL) IS NOT NULL THEN
    INSERT INTO chokepoint.series
      (key, kind, host, name, peer, metric, setting, unit, better, subject)
    SELECT given.key, kind, host, name, peer, metric, setting, unit, better,
           place || CASE WHEN place <> '' AND peer <> '' THEN ' > ' ELSE '' END || peer
    FROM unnest(series_ids, keys, kinds, hosts, names, peers, metrics, asked, units, betters)
         WITH ORDINALITY
         AS given (id, key, kind, host, name, peer, metric, setting, unit, better, at),
         LATERAL (SELECT host || CASE WHEN host <> '' AND name <> '' THEN ' ' ELSE '' END || name)
         AS shown (place)
    WHERE given.id IS NULL
    ORDER BY key, at
    ON CONFLICT (key) DO NOTHING;
    series_ids := ARRAY(
      SELECT known.id
      FROM unnest(keys) WITH ORDINALITY AS given (key, at)
      JOIN chokepoint.series AS known ON known.key = given.key
      ORDER BY at);
  END IF;

  INSERT INTO chokepoint.origin (key, source, program)
  SELECT sha256(convert_to(ROW(source, program)::text, 'UTF8')) AS key, source, program
  FROM unnest(sources, programs) AS given (source, program)
  WHERE NOT EXISTS (
    SELECT FROM chokepoint.origin AS known
    WHERE known.key = sha256(convert_to(ROW(given.source, given.program)::text, 'UTF8')))
  ORDER BY key
  ON CONFLICT (key) DO NOTHING;
  origin_ids := ARRAY(
    SELECT known.id
    FROM unnest(sources, programs) WITH ORDINALITY AS given (source, program, at)
    JOIN chokepoint.origin AS known
      ON known.key = sha256(convert_to(ROW(given.source, given.program)::text, 'UTF8'))
    ORDER BY at);

  INSERT INTO chokepoint.measured (series, origin, wall_ns, value, count, spread)
  SELECT given.series, origin_ids[given.origin], given.wall_ns, given.value, given.count,
         given.spread
  FROM unnest(series_ids, times, figures, spreads, counts, origins) WITH ORDINALITY
       AS given (series, wall_ns, value, spread, count, origin, at)
  ORDER BY given.series, given.wall_ns, given.at
  ON CONFLICT (series, wall_ns) DO NOTHING;
  GET DIAGNOSTICS added = ROW_COUNT;

  FOR seen IN
    SELECT left(host, 255) AS host, shape, wall_ns, settings
    FROM unnest(seen_hosts, seen_shapes, seen_times, seen_settings)
         AS given (host, shape, wall_ns, settings)
    ORDER BY hashtext(left(host, 255)), wall_ns
  LOOP
    PERFORM pg_advisory_xact_lock(hashtext('chokepoint.state'), hashtext(seen.host));
    content_key := sha256(convert_to(seen.settings, 'UTF8'));
    INSERT INTO chokepoint.content (key, settings)
    SELECT content_key, seen.settings
    WHERE NOT EXISTS (SELECT FROM chokepoint.content AS known WHERE known.key = content_key)
    ON CONFLICT (key) DO NOTHING;
    SELECT id INTO STRICT content_id FROM chokepoint.content WHERE key = content_key;
    -- The span before it, or the one after it, is drawn out where it holds the same; else a new one.
    UPDATE chokepoint.state SET last_ns = greatest(last_ns, seen.wall_ns)
    WHERE host = seen.host AND shape = seen.shape AND content = content_id
      AND first_ns = (SELECT max(earlier.first_ns) FROM chokepoint.state AS earlier
                      WHERE earlier.host = seen.host AND earlier.shape = seen.shape
                        AND earlier.first_ns <= seen.wall_ns);
    CONTINUE WHEN FOUND;
    UPDATE chokepoint.state SET first_ns = seen.wall_ns
    WHERE host = seen.host AND shape = seen.shape AND content = content_id
      AND first_ns = (SELECT min(later.first_ns) FROM chokepoint.state AS later
                      WHERE later.host = seen.host AND later.shape = seen.shape
                        AND later.first_ns > seen.wall_ns);
    CONTINUE WHEN FOUND;
    INSERT INTO chokepoint.state (host, shape, first_ns, last_ns, content)
    VALUES (seen.host, seen.shape, seen.wall_ns, seen.wall_ns, content_id)
    ON CONFLICT DO NOTHING;
  END LOOP;
  RETURN added;
END
$$;

-- Removes what is older, and names that no row has any more; says how many rows went. Whole months
-- go as a partition.
CREATE FUNCTION chokepoint.prune(before_ns bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  month record;
  gone bigint := 0;
  part bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('chokepoint.names'));
  FOR month IN
    SELECT inhrelid::regclass AS partition, relname AS name
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'chokepoint.measured'::regclass AND relname ~ '^measured_[0-9]{4}_[0-9]{2}$'
  LOOP
    CONTINUE WHEN chokepoint.ns_of(to_date(right(month.name, 7), 'YYYY_MM')
                                   + interval '1 month') > before_ns;
    EXECUTE format('SELECT count(*) FROM %s', month.partition) INTO part;
    EXECUTE format('DROP TABLE %s', month.partition);
    gone := gone + part;
  END LOOP;
  DELETE FROM chokepoint.measured WHERE wall_ns < before_ns;
  GET DIAGNOSTICS part = ROW_COUNT;
  DELETE FROM chokepoint.state WHERE last_ns < before_ns;
  DELETE FROM chokepoint.series WHERE id NOT IN (SELECT series FROM chokepoint.measured);
  DELETE FROM chokepoint.origin WHERE id NOT IN (SELECT origin FROM chokepoint.measured);
  DELETE FROM chokepoint.content WHERE id NOT IN (SELECT content FROM chokepoint.state);
  RETURN gone + part;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA chokepoint FROM PUBLIC;

INSERT INTO chokepoint.version VALUES (1);
