import Foundation
import TestSupport
import Testing
import TileIndex

private enum QGIS {
  /// Debian's Python has QGIS's module; another one that is found earlier has not.
  static let python = Command(path: "/usr/bin/python3")
  static let isInstalled = (try? python.run(["-c", "import qgis.core"]).status) == 0
}

/// QGIS draws every layer of the built `tileserve`'s WMTS document, and GeoPackages.
@Suite(
  .ownThread, .enabled(if: TestEffort.isFull, "takes very long: make test-clients runs it"),
  .enabled(if: QGIS.isInstalled, "QGIS is not installed (apt-get install python3-qgis qgis-providers)"))
struct QGISTests {
  private struct Layer: Decodable {
    let layer: String
    let valid: Bool
    /// Which share of a picture is covered: of the whole layer, and of a part of it that is deeper than its last zoom.
    let whole: Double?
    let deep: Double?
  }

  /// Draws all layers of a document, or all GeoPackages of a folder.
  private func layers(_ source: String) throws -> [Layer] {
    let folder = try TemporaryFolder()
    let run = try QGIS.python.run(
      [ProjectFiles.path("scripts/qgis-layers.py"), source, folder.path],
      environment: ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "LC_ALL": "C.UTF-8", "NO_PROXY": "*"])
    try #require(run.status == 0, "\(run)")
    return try run.stdout.split(separator: "\n").map { try JSONDecoder().decode(Layer.self, from: Data($0.utf8)) }
  }

  @Test func qgisDrawsEveryWMTSLayerAlsoBeyondItsLastZoom() throws {
    // Layers of one grid with different zooms: QGIS chooses the zoom by the grid alone.
    let server = try RunningServer(try SampleBundles.folders())
    let layers = try layers("\(server.origin)/wmts/1.0.0/WMTSCapabilities.xml")
    #expect(layers.count == (try SampleBundles.count(all: true)))
    for layer in layers {
      #expect(layer.valid && layer.whole ?? 0 > 0.9 && layer.deep ?? 0 > 0.9, "\(layer)")
    }
  }

  @Test func qgisDrawsGeoPackages() throws {
    let folder = try TemporaryFolder()
    let (small, uneven) = (try SampleBundles.small(), try SampleBundles.unevenGrids())
    for path in [
      small.path("jacksboro-fault"), small.path("degrees"), small.path("large-tiles"), uneven.path("near"),
      uneven.path("wide"), uneven.path("thirds"),
    ] {
      let bundle = try BundleFile.open(path)
      let name = path.split(separator: "/").last!.split(separator: ".")[0]
      try BundleConvert().write(bundle, to: folder.file("\(name).gpkg"))
    }
    let layers = try layers(folder.path)
    #expect(layers.count == 6)
    for layer in layers {
      #expect(layer.valid && layer.whole ?? 0 > 0.9 && layer.deep ?? 0 > 0.9, "\(layer)")
    }
  }
}
