"""Opens every layer of a WMTS document, or every GeoPackage of a folder, in QGIS and draws it: whole, and a sixteenth of its width at its middle, deeper than its finest zoom.

usage: qgis-layers.py CAPABILITIES-URL|GEOPACKAGES [FOLDER]

Prints a line of JSON for each layer: its name, whether QGIS takes it, and which share of both pictures is covered. With a folder the pictures are kept there.
Needs Debian's python3-qgis and qgis-providers.
"""

import json
import os
import sys
import urllib.request
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
from qgis.core import QgsApplication, QgsMapRendererSequentialJob, QgsMapSettings, QgsRasterLayer, QgsRectangle
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QImage

EDGE = 256
NAMES = {"wmts": "http://www.opengis.net/wmts/1.0", "ows": "http://www.opengis.net/ows/1.1"}


def draw(layer, extent):
    """A picture of an extent in the layer's own coordinates."""
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setExtent(extent)
    settings.setOutputSize(QSize(EDGE, EDGE))
    settings.setBackgroundColor(Qt.transparent)
    job = QgsMapRendererSequentialJob(settings)
    job.start()
    job.waitForFinished()
    return job.renderedImage().convertToFormat(QImage.Format_RGBA8888)


def covered(image, extent):
    """The share of the pixels within an extent that are not transparent."""
    bytes_ = image.constBits()
    bytes_.setsize(image.sizeInBytes())
    opaque = sum(1 for alpha in bytes_.asstring(image.sizeInBytes())[3::4] if alpha > 0)
    # The picture is a square, the extent need not be.
    inside = min(extent.width(), extent.height()) / max(extent.width(), extent.height())
    return opaque / (EDGE * EDGE * inside)


def wmts_layers(url):
    """The name and the layer of each entry of a document."""
    tree = ElementTree.fromstring(urllib.request.urlopen(url, timeout=30).read())
    for entry in tree.iterfind("wmts:Contents/wmts:Layer", NAMES):
        name = entry.find("ows:Identifier", NAMES).text
        matrix_set = entry.find("wmts:TileMatrixSetLink/wmts:TileMatrixSet", NAMES).text
        crs = next(
            each.find("ows:SupportedCRS", NAMES).text
            for each in tree.iterfind("wmts:Contents/wmts:TileMatrixSet", NAMES)
            if each.find("ows:Identifier", NAMES).text == matrix_set
        )
        options = {
            "crs": "EPSG:3857" if crs.endswith(":3857") else "EPSG:4326",
            "dpiMode": "7",
            "format": entry.find("wmts:Format", NAMES).text,
            "layers": name,
            "styles": "default",
            "tileMatrixSet": matrix_set,
            "url": url,
        }
        yield name, QgsRasterLayer("&".join(f"{key}={quote(value, safe='/:')}" for key, value in options.items()), name, "wms")


def geopackage_layers(folder):
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".gpkg")):
        yield name, QgsRasterLayer(os.path.join(folder, name), name, "gdal")


def main():
    source, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    application = QgsApplication([], True)
    application.initQgis()
    layers = geopackage_layers(source) if os.path.isdir(source) else wmts_layers(source)
    for number, (name, layer) in enumerate(layers):
        facts = {"layer": name, "valid": layer.isValid()}
        if layer.isValid():
            whole = layer.extent()
            middle = QgsRectangle.fromCenterAndSize(whole.center(), whole.width() / 16, whole.width() / 16)
            for key, extent in [("whole", whole), ("deep", middle)]:
                image = draw(layer, extent)
                facts[key] = round(covered(image, extent), 3)
                if folder:
                    image.save(f"{folder}/{number}-{key}.png")
        print(json.dumps(facts), flush=True)
    # Not exitQgis, which takes down what the program's end takes down once more.
    os._exit(0)


main()
