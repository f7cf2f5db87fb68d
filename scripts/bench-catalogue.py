#!/usr/bin/env python3
"""Measures `tilecut build` on a fake catalogue over the sample maps: scripts/bench-catalogue.py [REGIONS]

Writes a manifest of so many regions (170) of several categories, builds it from nothing, builds it again with nothing changed, and again with one region
changed; prints time, peak memory (of the process, as the kernel counts it) and what is in the catalogue. TILECUT names the binary.
"""
import json
import os
import random
import shutil
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tilecut = os.environ.get("TILECUT", os.path.join(root, ".build/release/tilecut"))
count = int(sys.argv[1]) if len(sys.argv) > 1 else 170
samples = os.path.join(root, "sample-regions")
maps = {
    "us": ("continental-us/us-shadedrelief.tif", (-126, 23, -66, 51)),
    "park": ("rocky-mountain-np/rocky-mountain-np-rgb.tif", (-106.04, 40.07, -105.34, 40.61)),
    "fault": ("jacksboro-fault/jacksboro-fault-relief.tif", (-84.41, 36.45, -84.08, 36.73)),
}
# Category: the map, the edge of a region in degrees, and the zooms.
categories = {
    "state": ("us", 6, (0, 7)), "recreation area": ("us", 3, (0, 7)), "park": ("park", 0.3, (0, 11)),
    "trail": ("park", 0.12, (8, 13)), "city": ("fault", 0.1, (8, 12)),
}


def manifest(path, changed=False):
    chance = random.Random(170)
    regions = []
    for number in range(count):
        category = list(categories)[number % len(categories)]
        name, edge, _ = categories[category]
        source, (west, south, east, north) = maps[name]
        x, y = chance.uniform(west, east - edge), chance.uniform(south, north - edge)
        region = {
            "id": f"region-{number + 1:03}", "title": f"Region {number + 1}", "category": category,
            "sources": [os.path.join(samples, source)],
            "bounds": [round(v, 4) for v in (x, y, x + edge, y + edge)],
        }
        if category == "trail":
            region["packBytes"] = 1_000_000
        regions.append(region)
    if changed:
        regions[0]["description"] = "changed"
    with open(path, "w") as file:
        json.dump({
            "defaults": {"edition": "2026.1", "attribution": "sample maps"},
            "categories": {name: {"zoom": list(zooms)} for name, (_, _, zooms) in categories.items()},
            "regions": regions}, file)


def run(what, *options):
    arguments = [tilecut, "build", path, "-o", catalogue, "--progress", "none", *options]
    start = time.monotonic()
    pid = os.posix_spawn(tilecut, arguments, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"tilecut ended with status {status}")
    print(f"  {what}: {seconds:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of processor, {usage.ru_maxrss / 1e3:.0f} MB at most\n", flush=True)


with tempfile.TemporaryDirectory() as folder:
    path, catalogue = os.path.join(folder, "regions.json"), os.path.join(folder, "catalogue")
    manifest(path)
    run(f"{count} regions from nothing")
    run("nothing changed")
    manifest(path, changed=True)
    run("one region changed")
    shutil.rmtree(catalogue)
    manifest(path)
    run("from nothing, one job", "--jobs", "1")
