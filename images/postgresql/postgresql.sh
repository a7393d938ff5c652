#!/bin/sh
# postgresql serve | --version | any client program with its arguments
# `serve` makes the cluster in PGDATA where there is none, sees to it that each file of the folder
# DATABASES (name: database and its role, content: the role's password) has its database, and then
# serves on port 5432 to roles with passwords. A first start that was killed begins anew.
set -eu

make_cluster() {
    rm -rf "$PGDATA.new"
    initdb --pgdata "$PGDATA.new" --username orchard --encoding UTF8 --locale C.UTF-8 \
        --auth-local peer --auth-host reject >/dev/null
    echo 'host all all all scram-sha-256' >"$PGDATA.new/pg_hba.conf"
    echo 'local all orchard peer' >>"$PGDATA.new/pg_hba.conf"
    mv "$PGDATA.new" "$PGDATA"
}

make_databases() {
    for file in "$DATABASES"/*; do
        [ -f "$file" ] || continue
        name=$(basename "$file")
        psql -qX -v ON_ERROR_STOP=1 -U orchard -d postgres \
            -v name="$name" -v password="$(cat "$file")" <<'SQL'
SELECT format('CREATE ROLE %I LOGIN', :'name')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
ALTER ROLE :"name" PASSWORD :'password';
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SQL
    done
}

case "${1:-serve}" in
serve)
    [ -s "$PGDATA/PG_VERSION" ] || make_cluster
    pg_ctl -D "$PGDATA" -w -s -l /tmp/start.log \
        -o "-c listen_addresses= -c unix_socket_directories=/tmp" start ||
        { cat /tmp/start.log >&2; exit 1; }
    make_databases
    pg_ctl -D "$PGDATA" -w -s -m fast stop
    exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp \
        -c log_destination=stderr -c logging_collector=off
    ;;
--version) exec postgres --version ;;
*) exec "$@" ;;
esac
