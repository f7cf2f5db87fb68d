#!/usr/bin/env python3
"""Writes Sources/MapStoreServer/Pages/Assets/land.bin, the countries under the coverage map of the store's pages.

From Natural Earth's 1:110m countries (public domain, naturalearthdata.com), as the wheel of geopandas 0.14.4 (PyPI) has
them. The file is a sequence of rings: the number of points, then the differences of longitude and latitude from the
point before, in twentieths of a degree; all numbers are varints (LEB128), differences zigzag. The first point differs
from 0, 0. Points that coincide at this precision are left out.
"""
import glob, os, struct, subprocess, sys, tempfile, zipfile

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with tempfile.TemporaryDirectory() as work:
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, "geopandas==0.14.4"], check=True)
    with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
        shapes = wheel.read("geopandas/datasets/naturalearth_lowres/naturalearth_lowres.shp")


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


place, rings = 100, []
while place < len(shapes):
    content = 2 * struct.unpack(">ii", shapes[place : place + 8])[1]
    record = shapes[place + 8 : place + 8 + content]
    place += 8 + content
    parts, points = struct.unpack("<ii", record[36:44])
    starts = list(struct.unpack(f"<{parts}i", record[44 : 44 + 4 * parts])) + [points]
    for first, end in zip(starts, starts[1:]):
        offset = 44 + 4 * parts
        ring = []
        for number in range(first, end):
            point = tuple(round(20 * value) for value in struct.unpack("<dd", record[offset + 16 * number : offset + 16 * number + 16]))
            if not ring or point != ring[-1]:
                ring.append(point)
        if len(ring) >= 4:
            rings.append(ring)
out = bytearray()
for ring in rings:
    out += varint(len(ring))
    last = (0, 0)
    for x, y in ring:
        out += zigzag(x - last[0]) + zigzag(y - last[1])
        last = (x, y)
path = os.path.join(root, "Sources/MapStoreServer/Pages/Assets/land.bin")
with open(path, "wb") as file:
    file.write(out)
print(f"{path}: {len(rings)} rings, {sum(map(len, rings))} points, {len(out)} bytes")
