import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

/// GDAL reads tilesets of the built `tileserve` by all ways that it has, and gets the pixels of the bundle.
@Suite(
  .ownThread,
  .enabled(
    if: Command(installed: "gdal_translate") != nil, "gdal_translate is not installed (apt-get install gdal-bin)"))
struct GDALTests {
  struct Tileset: Sendable, CustomTestStringConvertible {
    let id: String
    var edge = 256
    /// On a grid whose levels do not step by 2.
    var isUneven = false
    var testDescription: String { id }
  }

  static let tilesets = [
    Tileset(id: "jacksboro-fault"), Tileset(id: "degrees"), Tileset(id: "large-tiles", edge: 512),
    Tileset(id: SampleBundles.oddID), Tileset(id: "near", edge: 288, isUneven: true),
    Tileset(id: "thirds", edge: 384, isUneven: true),
  ]

  /// Runs a program of GDAL's that keeps what it fetches in the test's own folder, since servers of other tests have
  /// had the same port.
  private func gdal(_ program: String, _ arguments: [String], _ folder: TemporaryFolder) throws -> CommandRun {
    let run = try #require(Command(installed: program)).run(
      arguments,
      environment: ["GDAL_DEFAULT_WMS_CACHE_PATH": folder.file("cache"), "GDAL_PAM_ENABLED": "NO", "NO_PROXY": "*"])
    try #require(run.status == 0, "\(run)")
    #expect(!run.stderr.contains("ERROR"), "\(run)")
    return run
  }

  /// The bytes of a window, band by band for each pixel.
  private func pixels(
    _ source: String, options: [String] = [], window: BoundingBox, edge: SIMD2<Int>, _ folder: TemporaryFolder
  ) throws -> [UInt8] {
    let corners = [window.west, window.north, window.east, window.south].map { "\($0)" }
    _ = try gdal(
      "gdal_translate",
      ["-q", "-of", "ENVI", "-co", "INTERLEAVE=BIP", "-projwin"] + corners + options + [
        source, folder.file("out.raw"),
      ],
      folder)
    let bytes = [UInt8](try folder.bytes("out.raw"))
    let header = String(decoding: try folder.bytes("out.hdr"), as: UTF8.self)
    #expect(header.contains("samples = \(edge.x)\n") && header.contains("lines   = \(edge.y)\n"), "\(header)")
    return bytes
  }

  @Test(arguments: tilesets.prefix(1))
  func gdalReadsThePixelsOfTheBundleOverHTTP(_ tileset: Tileset) throws { try expectPixelsOfTheBundle(tileset) }

  @Test(.long, arguments: tilesets.dropFirst())
  func gdalReadsThePixelsOfEveryKindOfBundleOverHTTP(_ tileset: Tileset) throws { try expectPixelsOfTheBundle(tileset) }

  private func expectPixelsOfTheBundle(_ tileset: Tileset) throws {
    let bundles = tileset.isUneven ? try SampleBundles.unevenGrids() : try SampleBundles.small()
    let servers = [
      false: try RunningServer([bundles.folder.path]),
      true: try RunningServer([bundles.folder.path], ["--missing", "204"]),
    ]
    let reader = try MBTilesReader(path: bundles.path(tileset.id))
    let zoom = try reader.zooms.upperBound

    // All tiles of the last zoom with one column beyond them, where there is nothing.
    let range = try reader.boundedRange(zoom: zoom)
    let columns = range.columns.lowerBound..<range.columns.upperBound + 2
    let rows = range.rows.lowerBound..<range.rows.upperBound + 1
    let wanted = try SampleBundles.window(of: reader, zoom: zoom, columns: columns, rows: rows, edge: tileset.edge)
    let matrix = reader.matrixSet[zoom]
    let (first, last) = (
      matrix.bounds(column: columns.lowerBound, row: rows.lowerBound),
      matrix.bounds(column: columns.upperBound - 1, row: rows.upperBound - 1)
    )
    let window = BoundingBox(west: first.west, south: last.south, east: last.east, north: first.north)
    let rgba = [UInt8](UnsafeRawBufferPointer(start: wanted.bytes, count: wanted.byteCount))
    #expect(Set(rgba).count > 100, "a window with something in it")
    let rgb = rgba.indices.filter { $0 % 4 != 3 }.map { rgba[$0] }

    // In queries GDAL writes a layer's name as it is, which no URL may hold; it asks by query only where no path is
    // named.
    // Only its WMTS driver knows levels that do not step by 2.
    let ways = GDALWay.allCases.filter {
      ($0 != .wmtsTilesByQuery || segment(tileset.id) == tileset.id) && (!tileset.isUneven || $0.isWMTS)
    }
    for way in ways {
      let folder = try TemporaryFolder()
      let source = GDALSource(
        server: servers[way.wants204]!, folder: folder, id: tileset.id, matrixSet: reader.matrixSet, zoom: zoom,
        edge: tileset.edge)
      let found = try pixels(
        source.name(way), window: window, edge: SIMD2(wanted.width, wanted.height), folder)
      let expected = way.bandCount == 3 ? rgb : rgba
      #expect(found.count == expected.count, "\(way)")
      let difference = found == expected ? nil : zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset
      #expect(
        found == expected, "\(way) differs at pixel \((difference ?? 0) / way.bandCount), rows of \(wanted.width)")
    }
  }

  /// GDAL's own reader of bundles against its reader of our server, where both know the grid.
  @Test(arguments: [tilesets[0], tilesets[3]])
  func gdalReadsTheSamePixelsOverHTTPAndFromTheFile(_ tileset: Tileset) throws {
    let bundles = try SampleBundles.small()
    let folder = try TemporaryFolder()
    let server = try RunningServer([bundles.folder.path])
    let reader = try MBTilesReader(path: bundles.path(tileset.id))
    let zoom = try reader.zooms.upperBound
    let range = try reader.boundedRange(zoom: zoom)
    let cell = reader.matrixSet[zoom].cellSize
    // Across the edges of tiles.
    let corner = reader.matrixSet[zoom].bounds(column: range.columns.lowerBound, row: range.rows.lowerBound)
    let window = BoundingBox(
      west: corner.west + 100 * cell, south: corner.north - 380 * cell, east: corner.west + 400 * cell,
      north: corner.north - 90 * cell)
    let source = GDALSource(
      server: server, folder: folder, id: tileset.id, matrixSet: reader.matrixSet, zoom: zoom, edge: 256)
    let served = try pixels(source.name(.wmtsOfAll), window: window, edge: SIMD2(300, 290), folder)
    let stored = try pixels(
      reader.path, options: ["-oo", "USE_BOUNDS=NO"], window: window, edge: SIMD2(300, 290), folder)
    #expect(Set(stored).count > 100)
    #expect(served == stored)
  }

  /// Coarser levels are overviews to GDAL, of the sizes that the grid says.
  @Test func gdalSeesCoarserZoomsAsOverviews() throws {
    let bundles = try SampleBundles.small()
    let folder = try TemporaryFolder()
    let server = try RunningServer([bundles.folder.path])
    let run = try gdal(
      "gdalinfo", ["-json", "WMTS:\(server.address)/wmts/1.0.0/jacksboro-fault/WMTSCapabilities.xml"], folder)
    struct Info: Decodable {
      struct Band: Decodable {
        struct Overview: Decodable { let size: [Int] }
        let overviews: [Overview]
      }
      let size: [Int]
      let bands: [Band]
    }
    let info = try JSONDecoder().decode(Info.self, from: Data(run.stdout.utf8))
    var width = Double(info.size[0])
    #expect(info.bands.count == 4 && info.bands[0].overviews.isEmpty == false)
    for overview in info.bands[0].overviews {
      width /= 2
      #expect(abs(Double(overview.size[0]) - width) <= 1)
    }
  }

  /// The lists name every raster tileset once, by names with which GDAL opens it.
  @Test(arguments: ["/tms/1.0.0", "/wmts/1.0.0/WMTSCapabilities.xml"])
  func gdalOpensEveryTilesetOfTheLists(_ path: String) throws {
    let bundles = try SampleBundles.small()
    let folder = try TemporaryFolder()
    let server = try RunningServer([bundles.folder.path], ["--missing", "204"])
    let list = try gdal("gdalinfo", ["\(server.address)\(path)"], folder)
    let sources = list.stdoutLines.filter { $0.contains("SUBDATASET_") && $0.contains("_NAME=") }
      .map { $0.split(separator: "=", maxSplits: 1)[1] }
    #expect(Set(sources).count == 4, "\(list)")
    for source in sources {
      let info = try gdal("gdalinfo", [String(source)], folder)
      #expect(info.stdout.contains("Band 3 "), "\(info)")
    }
  }
}
