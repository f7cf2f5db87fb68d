#!/bin/sh
# A map store and its customers over an existing catalogue: demo-store.sh CATALOGUE. All files are in CATALOGUE/.store,
# which is recreated each time.
#
# Two people buy; a download is killed and resumed; a second phone installs everything without payment; a purchase is
# refunded; a new edition arrives as a patch; at the end the files are compared byte for byte, and the ledger with the
# store's records. Exits with 1 if any step fails.
set -eu
cd "$(dirname "$0")/.."
tilecut=${TILECUT:-.build/release/tilecut}
ledger=${PURCHASE_LEDGER:-.build/release/purchase-ledger}
mapstore=${MAPSTORE:-.build/release/mapstore}
out=$1
large=rocky-mountain-np
renewed=estes-park
for id in $large $renewed; do
  grep -q "\"id\":\"$id\"" "$out/catalogue.json" || {
    echo "the map store is not shown: it needs $id in the catalogue"
    exit 0
  }
done
work=$out/.store
log=$work/serve.log
rm -rf "$work"
mkdir -p "$work/catalogue"
server=""
trap 'kill $server 2>/dev/null || true' EXIT
fail() {
  echo "demo: $*" >&2
  exit 1
}
# quiet WHAT COMMAND...: what it prints is shown when it fails
quiet() {
  what=$1
  shift
  "$@" >"$work/last.log" 2>&1 || {
    cat "$work/last.log" >&2
    fail "$what failed"
  }
}
# The app on somebody's phone: phone NAME COMMAND...
phone() {
  phone=$1
  verb=$2
  shift 2
  MAPSTORE_PASSWORD="a long password" "$mapstore" client "$verb" --folder "$work/$phone" "$@"
}

# --- the map store: a catalogue, a ledger, keys, and a fake app store that only this map store trusts
cp -R "$out"/catalogue.json "$out"/*.mbtiles "$out"/*.png "$out"/.tilecut "$work/catalogue/"
bundle=org.example.maps
quiet "the ledger" "$ledger" init --ledger "$work/ledger.sqlite"
quiet "the fake store" "$mapstore" client store-key "$work/appstore" --bundle-id $bundle
for key in link grant; do head -c 32 /dev/urandom >"$work/$key.key"; done
cat >"$work/store.json" <<JSON
{"catalogue": "catalogue", "ledger": "ledger.sqlite", "port": 0, "rootCertificates": ["appstore.root.der"], "bundleId": "$bundle",
 "hmacKeyFiles": ["link.key"], "grantKeyFiles": ["grant.key"], "logLevel": "warning"}
JSON
echo "\$ mapstore serve --config store.json"
"$mapstore" serve --config "$work/store.json" >"$log" 2>&1 &
server=$!
url=""
tries=0
while [ -z "$url" ] && [ "$tries" -lt 300 ] && kill -0 "$server" 2>/dev/null; do
  sleep 0.1
  url=$(sed -n 's/^catalogue: *\(http:.*\)\/catalogue$/\1/p' "$log")
  tries=$((tries + 1))
done
cat "$log"
[ -n "$url" ] || fail "the map store did not start"
curl -sS -f -o "$work/page.html" "$url/catalogue" || fail "there is no catalogue page"
curl -sS -f "$url/v1/catalogue?q=longs" | grep -q '"places":' && echo "a search for \"longs\" finds the regions that contain Longs Peak"

# --- two people buy; the map store records purchases before the app store considers them finished
others=$(sed -n 's/^.*"id":"\([^"]*\)","productId".*$/\1/p' "$out/catalogue.json" | grep -vx -e $large -e $renewed | head -n 3)
returned=$(echo "$others" | head -n 1)
ids="$others $large $renewed"
for person in anna bert; do quiet "$person's account" phone $person register $person --server "$url"; done
# shellcheck disable=SC2086
quiet "anna's purchases" phone anna buy --store-key "$work/appstore" $ids
# shellcheck disable=SC2086
quiet "bert's purchases" phone bert buy --store-key "$work/appstore" $renewed $large
# shellcheck disable=SC2086
echo "anna buys $(echo $ids | sed 's/ /, /g'); bert buys $renewed, $large"
quiet "a second attempt" phone anna buy --store-key "$work/appstore" $large
grep -q "nothing was bought" "$work/last.log" || fail "a region that anna owns could be bought again"
echo "anna buys $large again: nothing is charged twice"

# --- a download is interrupted by kill -9 and continues from the bytes on the disk
MAPSTORE_PASSWORD=- "$mapstore" client get "$large" --folder "$work/anna" --piece 64kB --rate 400kB --progress none >"$work/last.log" 2>&1 &
app=$!
tries=0
part=""
while [ "$tries" -lt 600 ] && kill -0 "$app" 2>/dev/null; do
  part=$(find "$work/anna/.mapstore" -name '*.part' -size +128k 2>/dev/null | head -n 1)
  [ -z "$part" ] || break
  sleep 0.05
  tries=$((tries + 1))
done
[ -n "$part" ] || fail "anna's download did not begin: $(cat "$work/last.log")"
kill -9 "$app"
wait "$app" 2>/dev/null || true
echo "anna's phone loses power in the middle of $large, with $(wc -c <"$part" | tr -d ' ') bytes on the disk"
before=$(curl -sS "$url/metrics" | sed -n 's/^mapstore_file_bytes_total //p')
quiet "anna's download" phone anna sync --progress none
after=$(curl -sS "$url/metrics" | sed -n 's/^mapstore_file_bytes_total //p')
whole=$(wc -c <"$work/anna/$large.mbtiles" | tr -d ' ')
[ $((after - before)) -lt "$whole" ] || fail "the download started from the beginning"
echo "the next sync continues it: $((after - before)) of $whole bytes are sent"
for person in anna bert; do quiet "$person's regions" phone $person sync --all --progress none; done

# --- a refund, and a second phone
# shellcheck disable=SC2086
quiet "the refund" phone anna refund --store-key "$work/appstore" $returned
phone anna library | grep -q "^$returned .*revoked" || fail "$returned is not revoked"
echo "the app store refunds anna's $returned and notifies the map store, which revokes it"
quiet "anna's second phone" phone anna-two login anna --server "$url"
quiet "anna's second phone" phone anna-two sync --all --progress none
[ ! -e "$work/anna-two/$returned.mbtiles" ] || fail "the second phone has the refunded region"
echo "anna's second phone signs in and has her $(find "$work/anna-two" -name '*.mbtiles' | wc -l | tr -d ' ') regions, without paying"

# --- a new edition, by patch
ln -s "$(pwd)"/sample-regions/* "$work/"
rm "$work/regions.json"
# Extends the region to the east; tiles in the west stay unchanged.
sed -e "s|\"id\": \"$renewed\",|& \"edition\": \"2026.2\",|" -e 's|-105.56, 40.33, -105.45, 40.42|-105.56, 40.33, -105.44, 40.42|' sample-regions/regions.json >"$work/regions.json"
# shellcheck disable=SC2086
quiet "the new edition" "$tilecut" build "$work/regions.json" -o "$work/catalogue" --patches-from "$work/catalogue" --progress none ${DEMO_REGIONS:+--region $DEMO_REGIONS}
tries=0
until phone bert library | grep -q "^$renewed .*update available"; do
  tries=$((tries + 1))
  [ "$tries" -lt 100 ] || fail "the map store does not know the new edition"
  sleep 0.2
done
patch=$(find "$work/catalogue" -name "$renewed-2026.2.from-2026.1.patch")
[ -n "$patch" ] || fail "there is no patch for $renewed"
for phone in bert anna-two; do quiet "the update" phone $phone sync --all --progress none; done
echo "$renewed has a new edition: the patch has $(wc -c <"$patch" | tr -d ' ') bytes, the bundle $(wc -c <"$work/catalogue/$renewed-2026.2.mbtiles" | tr -d ' ')"

# --- at the end: the files, and the ledger against the app store
count=0
for phone in bert anna-two; do
  for file in "$work/$phone"/*.mbtiles; do
    id=$(basename "$file" .mbtiles)
    edition=2026.1
    [ "$id" != "$renewed" ] || edition=2026.2
    cmp "$file" "$work/catalogue/$id-$edition.mbtiles" || fail "$phone's $id differs from the catalogue's"
    count=$((count + 1))
  done
done
[ "$count" -gt 3 ] || fail "only $count regions are installed"
echo "$count installed regions on two phones: byte for byte those of the catalogue"
kill $server
wait $server || fail "the map store did not end orderly"
server=""
identity="--ledger $work/ledger.sqlite --root-certificate $work/appstore.root.der --bundle-id $bundle"
# shellcheck disable=SC2086
"$ledger" verify $identity | tail -n 2
# shellcheck disable=SC2086
"$ledger" reconcile --against "$work/appstore.sales.jsonl" $identity | tail -n 3
find "$work" -type l -exec rm {} +
rm -rf "$work/catalogue" "$work/anna" "$work/bert" "$work/anna-two"
