#!/usr/bin/env bash
# Installs Chromium without a window for the browser tests (Debian and derivatives). Does nothing if it is present.
set -euo pipefail

if command -v chromium-headless-shell >/dev/null; then exit 0; fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
  echo "please install chromium-headless-shell (this needs apt-get and root)" >&2
  exit 1
fi
echo "installing chromium-headless-shell"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null
