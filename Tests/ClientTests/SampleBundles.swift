import Foundation
import RegionCatalog
import Synchronization
import TestSupport
import TileCut
import TileImage
import TileIndex

/// Bundles cut from the sample regions, once for all tests.
struct SampleBundles: Sendable {
  let folder: TemporaryFolder

  /// An id that URLs, XML and command lines have to be careful with.
  static let oddID = "Größe & Höhe 50%"

  /// Those of one small region, in several forms.
  static func small() throws -> SampleBundles { try smallOnes.get() }
  /// Those of the other regions.
  static func large() throws -> SampleBundles { try largeOnes.get() }
  /// The folders of all, or of the small ones alone.
  static func folders(all: Bool = true) throws -> [String] {
    [try small().folder.path] + (all ? [try large().folder.path] : [])
  }
  static func count(all: Bool) throws -> Int { try small().count + (all ? large().count : 0) }

  private static let smallOnes = Result {
    let bundles = SampleBundles(folder: try TemporaryFolder())
    removeAtExit(bundles.folder)
    try bundles.cut("jacksboro-fault", to: "jacksboro-fault")
    try bundles.cut("jacksboro-fault", to: "degrees", matrixSet: .worldCRS84Quad, zoom: .levels(5...9))
    try FileManager.default.copyItem(atPath: bundles.path("jacksboro-fault"), toPath: bundles.path(oddID))
    try bundles.joinTiles(of: "jacksboro-fault", to: "large-tiles")
    return bundles
  }

  /// A picture without a place on Earth: `scan`.
  static func flat() throws -> SampleBundles { try flatOne.get() }

  private static let flatOne = Result {
    let bundles = SampleBundles(folder: try TemporaryFolder())
    removeAtExit(bundles.folder)
    var options = CutOptions(sources: [
      ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")
    ])
    options.isFlat = true
    _ = try Cutter(options).cut(to: bundles.path("scan"))
    return bundles
  }

  /// Grids that viewers do not know: `degrees`, of a large region the coarse levels, `wide`, of a small one the fine
  /// ones, `near`; one of its own in Web Mercator whose levels step by 3, `thirds`; and one in UTM, `utm`.
  static func unevenGrids() throws -> SampleBundles { try unevenOnes.get() }

  private static let unevenOnes = Result {
    let bundles = SampleBundles(folder: try TemporaryFolder())
    removeAtExit(bundles.folder)
    try bundles.cut("continental-us", to: "wide", matrixSet: .degrees, zoom: .levels(0...2))
    try bundles.cut("jacksboro-fault", to: "near", matrixSet: .degrees, zoom: .levels(2...5))
    let matrices = [(1260.0, 1), (420, 3), (140, 9)].enumerated().map { zoom, level in
      TileMatrix(
        identifier: "\(zoom)", cellSize: level.0, metresPerUnit: 1, origin: SIMD2(-9_500_000, 4_600_000),
        tileWidth: 384, tileHeight: 384, matrixWidth: level.1, matrixHeight: level.1)
    }
    let thirds = try TileMatrixSet(
      identifier: "Thirds", uri: "urn:test:thirds", projection: .webMercator,
      boundingBox: BoundingBox(west: -9_500_000, south: 4_116_160, east: -9_016_160, north: 4_600_000),
      matrices: matrices)
    try bundles.cut("jacksboro-fault", to: "thirds", matrixSet: thirds, zoom: .levels(0...2))
    let utm = try TileMatrixSetDocument.matrixSet(
      inFile: bundles.folder.write("utm.json", GridDocument.colorado.json()),
      lookup: CoordinateReferenceSystem.forGrid)
    try bundles.cut("rocky-mountain-np", to: "utm", matrixSet: utm)
    return bundles
  }

  private static let largeOnes = Result {
    let bundles = SampleBundles(folder: try TemporaryFolder())
    removeAtExit(bundles.folder)
    for region in ProjectFiles.sampleRegions where region != "jacksboro-fault" { try bundles.cut(region, to: region) }
    return bundles
  }

  /// The folders that there are at the end: static values are never let go.
  private static let leftOvers = Mutex<[String]>([])

  private static func removeAtExit(_ folder: TemporaryFolder) {
    leftOvers.withLock { $0.append(folder.path) }
    atexit {
      for path in SampleBundles.leftOvers.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }
  }

  private var count: Int { folder.names.count { $0.hasSuffix(".mbtiles") } }

  func path(_ id: String) -> String { folder.file("\(id).mbtiles") }

  /// Cuts a region of the package.
  private func cut(
    _ region: String, to id: String, matrixSet: TileMatrixSet = .webMercatorQuad, zoom: ZoomSelection = .native
  ) throws {
    let manifest = try RegionManifest(path: ProjectFiles.path("sample-regions/\(region)/regions.json"))
    var options = CutOptions(of: manifest.regions[0], in: manifest)
    options.matrixSet = matrixSet
    options.zoom = zoom
    _ = try Cutter(options).cut(to: path(id))
  }

  /// Makes a bundle of 512 pixel tiles from one of 256 pixel tiles: each is four of the zoom below it.
  private func joinTiles(of id: String, to target: String) throws {
    let reader = try MBTilesReader(path: path(id))
    let zooms = try reader.zooms
    let writer = try BundleWriter(path: path(target), matrixSet: .webMercatorQuad, format: .png)
    for zoom in zooms.upperBound - 4..<zooms.upperBound {
      let range = try reader.boundedRange(zoom: zoom)
      for row in range.rows {
        for column in range.columns {
          let pixels = try Self.window(
            of: reader, zoom: zoom + 1, columns: 2 * column..<2 * column + 2, rows: 2 * row..<2 * row + 2)
          try writer.put(
            TileID(zoom: zoom, column: column, row: row), TileEncoder(.png(PNGOptions())).encode(pixels))
        }
      }
    }
    let name = reader.metadata.name ?? id
    _ = try writer.finish(
      BundleMetadata(
        name: "\(name), 512 pixels", attribution: reader.metadata.attribution, bounds: reader.metadata.bounds))
  }

  /// Some tiles side by side, as libpng decodes them; transparent where there is none.
  static func window(
    of reader: MBTilesReader, zoom: Int, columns: Range<Int>, rows: Range<Int>, edge: Int = 256
  ) throws -> PixelBuffer {
    let window = PixelBuffer(width: columns.count * edge, height: rows.count * edge)
    for (j, row) in rows.enumerated() {
      for (i, column) in columns.enumerated() {
        guard let bytes = try reader.tile(TileID(unchecked: zoom, column, row)) else { continue }
        let tile = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
        for y in 0..<edge {
          (window.bytes + (j * edge + y) * window.rowBytes + i * edge * 4)
            .copyMemory(from: tile.bytes + y * tile.rowBytes, byteCount: edge * 4)
        }
      }
    }
    return window
  }
}

extension MBTilesReader {
  var zooms: ClosedRange<Int> {
    get throws {
      guard let low = metadata.minZoom, let high = metadata.maxZoom else {
        throw BundleError(.invalidContent, path: path, "it does not say its zooms")
      }
      return low...high
    }
  }

  /// The tiles of a zoom that its bounds meet.
  func boundedRange(zoom: Int) throws -> TileRange {
    guard let bounds = metadata.bounds,
      let range = matrixSet.range(coveringCRSBounds: matrixSet.crsBounds(ofGeographicBounds: bounds), zoom: zoom)
    else { throw BundleError(.invalidContent, path: path, "it does not say its bounds") }
    return range
  }
}
