#!/usr/bin/env python3
"""Times a map of 5,000 tiles with relief, 20,000 segments of lines and 500 labels beside a plain cut of the same ground.

bench-layers.py [TILECUT] [RUNS]: the program (.build/release/tilecut) and how often each map is cut (3).
Prints the medians of seconds, their ratio and the largest resident set.
"""
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tilecut = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else f"{root}/.build/release/tilecut"
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
sample = f"{root}/sample-regions/jacksboro-fault"
west, south, east, north = -84.4137, 36.4463, -84.0780, 36.7329


def features():
    source = random.Random(23)
    made = []
    for number in range(500):
        x, y = source.uniform(west, east), source.uniform(south, north)
        points = []
        for _ in range(41):
            points.append([round(x, 6), round(y, 6)])
            x += source.uniform(-0.002, 0.002)
            y += source.uniform(-0.002, 0.002)
        properties = {"name": f"Trail {number}", "class": source.choice(["path", "road", "stream"])}
        made.append({"type": "Feature", "properties": properties, "geometry": {"type": "LineString", "coordinates": points}})
    for number in range(500):
        place = [round(source.uniform(west, east), 6), round(source.uniform(south, north), 6)]
        properties = {"name": f"Place {number}", "class": "place"}
        made.append({"type": "Feature", "properties": properties, "geometry": {"type": "Point", "coordinates": place}})
    return {"type": "FeatureCollection", "features": made}


colours = ["match", ["get", "class"], "path", "#a02020", "road", "#e0a020", "#3060c0"]
is_line = ["!=", ["get", "class"], "place"]
style = [
    {"type": "line", "filter": is_line, "layout": {"line-cap": "round", "line-join": "round"},
     "paint": {"line-color": "#ffffff", "line-width": 5}},
    {"type": "line", "filter": is_line, "paint": {"line-color": colours, "line-width": 2.5}},
    {"type": "symbol", "filter": ["==", ["get", "class"], "place"],
     "layout": {"icon-image": "peak", "text-field": "{name}", "text-size": 12, "text-variable-anchor": ["left", "right"],
                "text-radial-offset": 0.8},
     "paint": {"text-halo-color": "#ffffff", "text-halo-width": 1.5}},
]
tint = [[230, "#a9c39a"], [600, "#e3cfa0"], [1050, "#efe6da"]]
maps = {
    "plain": [{"type": "raster", "sources": [f"{sample}/jacksboro-fault-relief.tif"]}],
    "layers": [
        {"type": "relief", "dem": [f"{sample}/jacksboro-fault-dem.tif"], "shading": "multidirectional", "tint": tint},
        {"type": "vector", "data": "features.geojson", "style": style},
    ],
}

with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/features.geojson", "w") as file:
        json.dump(features(), file)
    seconds = {name: [] for name in maps}
    for name, layers in maps.items():
        region = {"id": "a", "title": "A", "category": "c", "zoom": [8, 16], "layers": layers}
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump({"regions": [region]}, file)
    for _ in range(runs):
        for name in maps:
            start = time.monotonic()
            words = [tilecut, "cut", f"{folder}/{name}.json", "-o", f"{folder}/{name}.mbtiles", "--force"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.monotonic() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:8} {median:6.2f} s   ({', '.join(f'{time:.2f}' for time in seconds[name])})")
    print(f"ratio    {medians['layers'] / medians['plain']:6.2f}")
    print(f"largest resident set {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
