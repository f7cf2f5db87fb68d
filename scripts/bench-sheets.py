#!/usr/bin/env python3
"""Cuts very many small sheets, each on a grid of pixels of its own, beside gdalbuildvrt and gdal2tiles.

bench-sheets.py [COUNT] [TILECUT]: how many sheets of 64 x 64 pixels in UTM (10000), and the program
(.build/release/tilecut). Needs python3-gdal and, for the peer, gdal-bin. Prints seconds, processor seconds and the
largest resident set of each. The same zooms; gdal2tiles has two processes.
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
from osgeo import gdal, osr

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
tilecut = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else f"{root}/.build/release/tilecut"
gdal.UseExceptions()


def make_sheets(folder):
    system = osr.SpatialReference()
    system.ImportFromEPSG(32633)
    random = numpy.random.default_rng(1)
    paths = []
    columns = round(count**0.5)
    for number in range(count):
        row, column = divmod(number, columns)
        path = f"{folder}/{number:05}.tif"
        sheet = gdal.GetDriverByName("GTiff").Create(path, 64, 64, 3, gdal.GDT_Byte, ["COMPRESS=DEFLATE"])
        # Parts of a pixel and of its size, so that no sheet continues another.
        left, top = 400_000 + column * 640 + number % 7 * 0.37, 5_600_000 - row * 640 - number % 5 * 0.41
        sheet.SetGeoTransform([left, 10 + 0.0001 * (number % 11), 0, top, 0, -10 - 0.0001 * (number % 13)])
        sheet.SetProjection(system.ExportToWkt())
        pixels = random.integers(0, 255, (3, 64, 64), dtype=numpy.uint8)
        for band in range(3):
            sheet.GetRasterBand(band + 1).WriteArray(pixels[band])
        paths.append(path)
    return paths


def measure(name, *commands):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    peak = 0
    for command in commands:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{' '.join(command[:3])} failed")
        peak = max(peak, usage.ru_maxrss)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:26} {seconds:7.1f} s  {processor:7.1f} s of processors  {peak >> 10:6} MB", flush=True)


with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/list.txt", "w") as file:
        file.write("\n".join(make_sheets(folder)) + "\n")
    print(f"{count} sheets of 64 x 64 pixels")
    cut = [tilecut, "cut", "--src-list", f"{folder}/list.txt", "-q"]
    measure("tilecut cut --dry-run", cut + ["--dry-run"])
    measure("tilecut cut", cut + ["-o", f"{folder}/map.mbtiles", "--zoom", "0-13"])
    measure("  --variable-depth", cut + ["-o", f"{folder}/deep.mbtiles", "--variable-depth"])
    if shutil.which("gdal2tiles.py"):
        measure(
            "gdalbuildvrt, gdal2tiles",
            ["gdalbuildvrt", "-q", "-input_file_list", f"{folder}/list.txt", f"{folder}/map.vrt"],
            ["gdal2tiles.py", "-q", "--xyz", "-z", "0-13", "--processes=2", f"{folder}/map.vrt", f"{folder}/tiles"])
    else:
        print("gdal2tiles.py is not installed (apt-get install gdal-bin): no peer")
