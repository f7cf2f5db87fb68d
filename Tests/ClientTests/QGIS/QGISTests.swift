import Foundation
import TestSupport
import Testing

/// QGIS draws every layer of the built `tileserve`'s WMTS document.
@Suite(.ownThread, .enabled(if: TestEffort.isFull, "takes very long: make test-clients runs it"))
struct QGISTests {
  private struct Layer: Decodable {
    let layer: String
    let valid: Bool
    /// Which share of a picture is covered: of the whole layer, and of a part of it that is deeper than its last zoom.
    let whole: Double?
    let deep: Double?
  }

  /// Debian's Python has QGIS's module; another one that is found earlier has not.
  private static let python = Command(path: "/usr/bin/python3")

  @Test func qgisDrawsEveryWMTSLayerAlsoBeyondItsLastZoom() throws {
    guard try Self.python.run(["-c", "import qgis.core"]).status == 0 else {
      print("QGIS is not installed (apt-get install python3-qgis qgis-providers)")
      return
    }
    // Layers of one grid with different zooms: QGIS chooses the zoom by the grid alone.
    let server = try RunningServer(try SampleBundles.folders())
    let folder = try TemporaryFolder()
    let run = try Self.python.run(
      [
        ProjectFiles.path("scripts/qgis-layers.py"), "\(server.origin)/wmts/1.0.0/WMTSCapabilities.xml", folder.path,
      ],
      environment: ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "LC_ALL": "C.UTF-8", "NO_PROXY": "*"])
    try #require(run.status == 0, "\(run)")
    let layers = try run.stdout.split(separator: "\n").map {
      try JSONDecoder().decode(Layer.self, from: Data($0.utf8))
    }
    #expect(layers.count == (try SampleBundles.count(all: true)))
    for layer in layers {
      #expect(layer.valid && layer.whole ?? 0 > 0.9 && layer.deep ?? 0 > 0.9, "\(layer)")
    }
  }
}
