#!/usr/bin/env bash
# node.sh DIRECTORY - builds the package of the Node client into DIRECTORY, and checks that it works when it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd clients/node
npm ci --no-audit --no-fund >&2
npm run --silent build
rm -f "$out"/coxswain-*.tgz
package=$out/$(npm pack --silent --pack-destination "$out")

cd "$work"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund "$package" >&2
# shellcheck disable=SC2016 # ${} is of JavaScript
node --input-type=module -e '
import * as coxswain from "coxswain";
import { readdirSync } from "node:fs";
const names = ["connect", "Client", "CoxswainError", "BusyError", "LostError", "LimitedError", "NackError"];
const missing = names.filter((name) => !(name in coxswain));
const packages = readdirSync("node_modules").filter((name) => !name.startsWith("."));
if (missing.length > 0) throw new Error(`the package lacks ${missing}`);
if (packages.join() !== "@msgpack,coxswain") throw new Error(`the package brings ${packages}`);
' >&2
echo "$package"
