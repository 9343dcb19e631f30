#!/usr/bin/env bash
# Installs tools that npm does not provide: wrk, pgbench and Redis for benchmarks, curl and PgBouncer for tests, and the
# key that verifies Asterisk's packages (Debian and derivatives). Does nothing if they are present; names the missing
# package if it cannot install it. Asterisk itself: npm run asterisk:install.
set -euo pipefail

missing=()
command -v curl >/dev/null || missing+=(curl)
command -v wrk >/dev/null || missing+=(wrk)
command -v redis-server >/dev/null || missing+=(redis-server)
[ -x /usr/sbin/pgbouncer ] || missing+=(pgbouncer)
if ! command -v pgbench >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/pgbench' >/dev/null; then
  missing+=(postgresql)
fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
if [ "${#missing[@]}" -eq 0 ]; then
  echo "curl, wrk, pgbench, redis-server, pgbouncer and Debian's keyring are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
  echo "please install: ${missing[*]} (this needs apt-get and root)" >&2
  exit 1
fi
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
