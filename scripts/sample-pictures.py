#!/usr/bin/env python3
"""Makes the pictures of the sample maps in docs/images from what tilecut draws.

usage: scripts/sample-pictures.py [TILECUT]

TILECUT is .build/release/tilecut unless given. Needs Pillow and the font Open Sans (fonts-open-sans).
"""

import io
import math
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAPER = "#f4f3ef"
GAP = 8

# Zooms and the place in the middle of each picture of a map's series.
OUTDOOR = [
    (8, -105.7035, 40.3564), (9, -105.7035, 40.3564), (10, -105.7035, 40.3564), (11, -105.655, 40.335),
    (12, -105.665, 40.285), (13, -105.63, 40.262), (14, -105.622, 40.258), (14, -105.646, 40.311)]
HIKING = [
    (10, 9.555, 47.16), (11, 9.545, 47.15), (12, 9.555, 47.115), (13, 9.535, 47.135), (14, 9.6, 47.105),
    (15, 9.522, 47.141), (16, 9.5225, 47.1395), (16, 9.609, 47.102)]


class Map:
    """A bundle of 256-pixel tiles in Web Mercator."""

    def __init__(self, path):
        self.tiles = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def picture(self, zoom, longitude, latitude, width, height):
        """The part of a zoom around a place."""
        world = 256 << zoom
        x = round((longitude + 180) / 360 * world - width / 2)
        y = round((1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2 * world - height / 2)
        picture = Image.new("RGB", (width, height), PAPER)
        for column in range(x // 256, (x + width - 1) // 256 + 1):
            for row in range(y // 256, (y + height - 1) // 256 + 1):
                found = self.tiles.execute(
                    "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?",
                    (zoom, column, (1 << zoom) - 1 - row)).fetchone()
                if found:
                    tile = Image.open(io.BytesIO(found[0])).convert("RGBA")
                    picture.paste(tile, (column * 256 - x, row * 256 - y), tile)
        return picture


def label_font():
    path = subprocess.run(
        ["fc-match", "-f", "%{file}", "Open Sans:style=Semibold"], check=True, capture_output=True, text=True).stdout
    return ImageFont.truetype(path, 15)


def series(bundle, views, columns, side=300):
    """Pictures of several zooms in rows, each with its zoom in the corner."""
    rows = math.ceil(len(views) / columns)
    sheet = Image.new("RGB", (columns * (side + GAP) - GAP, rows * (side + GAP) - GAP), "white")
    font = label_font()
    for number, (zoom, longitude, latitude) in enumerate(views):
        picture = bundle.picture(zoom, longitude, latitude, side, side)
        draw = ImageDraw.Draw(picture)
        text = f"zoom {zoom}"
        draw.rectangle((0, side - 24, draw.textlength(text, font) + 16, side), fill="#222222")
        draw.text((8, side - 12), text, fill="white", font=font, anchor="lm")
        sheet.paste(picture, (number % columns * (side + GAP), number // columns * (side + GAP)))
    return sheet


def side_by_side(left, right):
    sheet = Image.new("RGB", (left.width + GAP + right.width, left.height), "white")
    sheet.paste(left, (0, 0))
    sheet.paste(right, (left.width + GAP, 0))
    return sheet


def save(picture, name, colours=256):
    """PNG of few colours: a third of the size, and the eye sees no difference."""
    target = ROOT / "docs/images" / name
    picture.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.FLOYDSTEINBERG).save(
        target, optimize=True)
    print(f"{target.relative_to(ROOT)}: {picture.width} x {picture.height}, {target.stat().st_size // 1000} kB")


def main():
    tilecut = sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build/release/tilecut"
    with tempfile.TemporaryDirectory() as folder:
        maps = {}
        for name, manifest in [("outdoor", "rocky-mountain-np/outdoor.json"), ("hiking", "liechtenstein/hiking.json")]:
            bundle = f"{folder}/{name}.mbtiles"
            subprocess.run([tilecut, "cut", ROOT / "sample-regions" / manifest, "-o", bundle], check=True)
            maps[name] = Map(bundle)
        save(series(maps["outdoor"], OUTDOOR, columns=4), "outdoor-map-zooms.png")
        save(series(maps["hiking"], HIKING, columns=4), "hiking-map-zooms.png")
        save(
            side_by_side(
                maps["outdoor"].picture(12, -105.7, 40.297, 792, 760),
                maps["hiking"].picture(14, 9.504, 47.067, 400, 760)), "outdoor-map.png")


if __name__ == "__main__":
    main()
