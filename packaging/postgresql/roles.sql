-- Who may do what with a history of chokepoint: after schema.sql, by an account that may make roles.
--
--   psql -1 -v ON_ERROR_STOP=1 -f roles.sql postgresql://postgres@host/database
--
--   chokepoint_owner    owns the schema: may remove rows ('chokepoint history prune')
--   chokepoint_node     may add rows and nothing else: for hosts that measure
--   chokepoint_reader   may read and nothing else: for 'chokepoint history', dashboards
--
-- An account of a host:    CREATE ROLE gpu1 LOGIN PASSWORD '…' IN ROLE chokepoint_node;
-- of a person who reads:   CREATE ROLE ana LOGIN PASSWORD '…' IN ROLE chokepoint_reader;
-- Who both adds and reads is in both roles.

DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['chokepoint_owner', 'chokepoint_node', 'chokepoint_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    END IF;
  END LOOP;
END
$$;

-- Functions that add rows run with the owner's rights; so does what they make.
DO $$
DECLARE
  each record;
BEGIN
  ALTER SCHEMA chokepoint OWNER TO chokepoint_owner;
  FOR each IN
    SELECT oid::regclass AS name FROM pg_class
    WHERE relnamespace = 'chokepoint'::regnamespace AND relkind IN ('r', 'p')
  LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO chokepoint_owner', each.name);
  END LOOP;
  FOR each IN
    SELECT oid::regprocedure AS name FROM pg_proc
    WHERE pronamespace = 'chokepoint'::regnamespace
  LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO chokepoint_owner', each.name);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', each.name);
  END LOOP;
END
$$;

REVOKE ALL ON SCHEMA chokepoint FROM PUBLIC;
GRANT USAGE ON SCHEMA chokepoint TO chokepoint_node, chokepoint_reader;
GRANT SELECT ON chokepoint.version TO chokepoint_node, chokepoint_reader;
DO $$
DECLARE
  name text;
BEGIN
  SELECT oid::regprocedure::text INTO STRICT name FROM pg_proc
  WHERE pronamespace = 'chokepoint'::regnamespace AND proname = 'add';
  EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO chokepoint_node', name);
END
$$;
GRANT SELECT ON chokepoint.series, chokepoint.origin, chokepoint.measured, chokepoint.content,
  chokepoint.state TO chokepoint_reader;
