import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

extension BrowserTests {
  /// Levels that step by 4 and by 3, and those of a grid in UTM, from the coarsest to the finest, and between them.
  @Test(
    .enabled(if: hasLeaflet, .init(rawValue: leafletMessage)),
    arguments: isLong
      ? [("wide", 0, 288), ("near", 2, 288), ("thirds", 0, 384), ("utm", 0, 256)] : [("near", 2, 288), ("utm", 0, 256)])
  func viewerShowsEveryLevelOfOtherGrids(_ id: String, first: Int, edge: Int) throws {
    let bundles = try SampleBundles.unevenGrids()
    let server = try RunningServer([bundles.folder.path])
    let reader = try MBTilesReader(path: bundles.path(id))
    let zooms = try reader.zooms
    #expect(zooms.lowerBound == first && zooms.count > 2)
    let middle = try #require(reader.metadata.bounds).centre
    for zoom in zooms {
      // Where levels step by 2, the viewer has whole zooms alone.
      for part in id == "utm" ? [0] : [0, 0.5] where zoom < zooms.upperBound || part == 0 {
        let map = try MapPage(server, id, at: "\(Double(zoom) + part)/\(middle.y)/\(middle.x)")
        let state = try map.state()
        #expect(state.zoom == Double(zoom) + part)
        #expect(!state.tiles.isEmpty && state.broken.isEmpty && state.holes.isEmpty, "\(id) \(zoom) \(part): \(state)")
        // Those of the level, or in the middle between two of the nearer one.
        let levels = Set(state.tiles.compactMap { Int($0.split(separator: "/")[3]) })
        #expect(levels.isSubset(of: [zoom, zoom + (part > 0 ? 1 : 0)]), "\(state.tiles)")
        let edges = try map.page.evaluate(
          "[...new Set([...document.querySelectorAll('#map img.leaflet-tile')].map((tile) => tile.naturalWidth))]",
          as: [Int].self)
        #expect(edges == [edge])
        try Screenshots.take(map.page, "viewer-uneven-\(id)-\(zoom)\(part > 0 ? "-half" : "")")
        map.expectClean()
      }
    }
    let map = try MapPage(server, id)
    try map.expectWhole("opened")
    map.expectClean()
  }

  private static let widget = ProjectFiles.path(".build/web/maplibre-gl/pywidget.js")

  /// MapLibre GL with the pmtiles library reads an archive in ranges, and shows its tiles pixel by pixel.
  @Test(
    .enabled(if: Nginx.isInstalled, "nginx is not installed (apt-get install nginx-light)"),
    .enabled(if: FileManager.default.isReadableFile(atPath: widget), .init(rawValue: maplibreMessage)))
  func mapLibreDrawsArchivesFromAPlainWebServer() throws {
    let reader = try MBTilesReader(path: try SampleBundles.small().path("jacksboro-fault"))
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("www"), withIntermediateDirectories: false)
    try BundleConvert().write(reader, to: folder.file("www/map.pmtiles"))
    try FileManager.default.copyItem(atPath: Self.widget, toPath: folder.file("www/maplibre.js"))
    let nginx = try Nginx("root \(folder.file("www"));", in: folder)

    // A corner where four tiles meet is in the middle of the window.
    let zoom = try reader.zooms.upperBound
    let range = try reader.boundedRange(zoom: zoom)
    let (column, row) = (range.columns.lowerBound + 1, range.rows.lowerBound + 1)
    let corner = reader.matrixSet.geographicBounds(of: try TileID(zoom: zoom, column: column, row: row))
    try folder.write(
      "www/index.html",
      """
      <!doctype html><meta charset="utf-8"><title>PMTiles</title><link rel="icon" href="data:,">
      <body style="margin: 0"><div id="pymaplibregl" style="width: 1280px; height: 800px"></div>
      <script src="maplibre.js"></script>
      <script>
      pymaplibregl({ calls: [], mapOptions: {
        center: [\(corner.west), \(corner.north)], zoom: \(zoom - 1), attributionControl: false, fadeDuration: 0,
        style: { version: 8, sources: {
          map: { type: "raster", url: "pmtiles://\(nginx.origin)/map.pmtiles", tileSize: 256 } },
          layers: [{ id: "map", type: "raster", source: "map", paint: { "raster-fade-duration": 0 } }] } } });
      </script>
      """)
    let page = try BrowserPage()
    try page.open("\(nginx.origin)/index.html", ready: "document.querySelector('canvas.maplibregl-canvas') !== null")
    let wanted = try SampleBundles.window(
      of: reader, zoom: zoom, columns: column - 1..<column + 1, rows: row - 1..<row + 1)
    var difference = Int.max
    let isDrawn = try eventually(seconds: 30) {
      let shown = try page.screenshot().withUnsafeBytes { try ImageDecoder.decode($0) }
      difference = Self.difference(wanted, shown, left: page.size.width / 2 - 256, top: page.size.height / 2 - 256)
      return difference <= 2
    }
    try Screenshots.take(page, "maplibre-pmtiles")
    #expect(isDrawn, "channels differ by \(difference)")
    #expect(page.complaints == [])
    let requests = try nginx.requests.filter { $0.contains("map.pmtiles") }
    #expect(requests.count > 1 && requests.allSatisfy { $0.contains(" 206 bytes=") }, "\(requests)")
  }

  /// The largest difference of a channel between the opaque pixels of a picture and those of a larger one.
  private static func difference(_ picture: PixelBuffer, _ whole: PixelBuffer, left: Int, top: Int) -> Int {
    var largest = 0
    for y in 0..<picture.height {
      for x in 0..<picture.width {
        let a = picture.bytes + y * picture.rowBytes + x * 4
        let b = whole.bytes + (y + top) * whole.rowBytes + (x + left) * 4
        guard a.load(fromByteOffset: 3, as: UInt8.self) == 255 else { continue }
        for channel in 0..<3 {
          let (a, b) = (
            a.load(fromByteOffset: channel, as: UInt8.self), b.load(fromByteOffset: channel, as: UInt8.self)
          )
          largest = max(largest, abs(Int(a) - Int(b)))
        }
      }
    }
    return largest
  }
}
