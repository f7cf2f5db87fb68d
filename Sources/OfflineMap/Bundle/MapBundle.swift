// Their types are in every signature, so an app imports this library alone.
import Support
@_exported public import TileIndex

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A bundle of map tiles, open for reading: MBTiles, PMTiles, a GeoPackage or a folder of tiles.
///
/// Any number of tasks may use it at once. Reads that have to wait for a disk run on threads of the system's, so they
/// block neither the main thread nor Swift's tasks.
///
/// A bundle that is replaced by a new edition while it is open keeps its old tiles; open it again to see the new ones.
/// If another program changes the file in place, or cuts it off, each read throws a `BundleError` with `.changed` until
/// it is opened again.
public final class MapBundle: Sendable {
  /// The file or folder, as the caller named it.
  public let path: String
  /// Title, credits, zooms, bounds: what a map view needs to show the bundle.
  public let metadata: MapMetadata
  /// The grid of the tiles.
  public let matrixSet: TileMatrixSet
  /// What makes the bundle slow, with the remedy, for the app's log: a bundle without an index of its tiles gets a
  /// temporary one at opening, which reads its whole table. Empty for most.
  public var warnings: [BundleError] { readers.warnings }
  let readers: ReaderPool
  /// The rectangle around the tiles of the finest zoom.
  let finest: TileRange

  /// Opens a bundle, and blocks the calling thread meanwhile.
  ///
  /// - Complexity: of a file its first pages are read, which takes about a millisecond on a local disk. Of a folder the
  ///   names of all tiles of the finest and of the coarsest zoom are read: open one of many thousand tiles in a task of
  ///   its own; so too for a database without an index, see ``warnings``.
  /// - Parameters:
  ///   - path: the file or folder.
  ///   - matrixSet: the grid of a bundle that does not name its own.
  /// - Throws: `BundleError` with `.notFound`, `.malformed`, `.busy` or `.readFailed`; `.malformed` also for a bundle
  ///   without tiles.
  public init(path: String, matrixSet: TileMatrixSet? = nil) throws {
    self.path = path
    readers = try ReaderPool(path: path, matrixSet: matrixSet, count: min(max(Processors.count, 2), Self.readersMax))
    (metadata, finest, self.matrixSet) = try readers.withReader { reader in
      let zooms = try reader.zooms()
      guard let last = zooms.last, let finest = try reader.range(zoom: last) else {
        throw BundleError(
          .malformed, path: path, "has no tiles", remedy: "wait until it is complete, or install it again")
      }
      return (try MapMetadata(reader, zooms: zooms, finest: finest), finest, reader.matrixSet)
    }
  }

  /// Opens a bundle; see ``init(path:matrixSet:)``.
  ///
  /// - Parameter url: of a file or folder on this machine.
  public convenience init(url: URL, matrixSet: TileMatrixSet? = nil) throws {
    guard url.isFileURL else {
      throw BundleError(
        .notFound, path: url.absoluteString, "is not a file on this device", remedy: "download it first")
    }
    try self.init(path: url.path, matrixSet: matrixSet)
  }

  /// More readers than this only wait for the same disk.
  private static let readersMax = 4

  // MARK: - Tiles

  /// A tile's bytes, as they are stored; nil where the bundle has none.
  ///
  /// - Throws: `BundleError` with `.malformed`, `.busy`, `.changed` or `.readFailed`; `CancellationError`.
  /// - Complexity: O(log tiles).
  @concurrent
  public func tile(_ tile: TileID) async throws -> [UInt8]? {
    // A hop to another thread takes longer than a read from memory.
    let resident = try readers.withFreeReader { try $0.withResidentTile(tile) { Array($0) } }
    switch resident {
    case .found(let bytes): return bytes
    case .absent: return nil
    case .wouldWait, nil: return try await readers.read { try $0.tile(tile) }
    }
  }

  /// The tiles at a position that the bundle has, the coarsest first.
  ///
  /// - Parameters: degrees. Longitudes beyond ±180 are wrapped, latitudes beyond the grid's are clamped.
  /// - Throws: `BundleError`; `CancellationError`.
  /// - Complexity: O(zooms log tiles).
  @concurrent
  public func tiles(at longitude: Double, _ latitude: Double) async throws -> [TileID] {
    try await readers.read { [metadata] reader in
      try metadata.zooms.compactMap { zoom in
        guard let tile = reader.matrixSet.tile(longitude: longitude, latitude: latitude, zoom: zoom) else { return nil }
        return try reader.withTile(tile) { _ in tile }
      }
    }
  }

  /// The tiles that meet a box and that the bundle has, by zoom, row and column.
  ///
  /// - Parameters:
  ///   - bounds: degrees; a west greater than the east crosses the antimeridian.
  ///   - zooms: nil for all of the bundle's.
  /// - Throws: `BundleError`; `CancellationError`.
  /// - Complexity: O(tiles of the box), and their bytes in a folder.
  @concurrent
  public func tiles(in bounds: BoundingBox, zooms: ClosedRange<Int>? = nil) async throws -> [TileID] {
    try await readers.read { [metadata] reader in
      var found: [TileID] = []
      for zoom in metadata.zooms where zooms?.contains(zoom) ?? true {
        guard let extent = try reader.range(zoom: zoom) else { continue }
        for range in reader.matrixSet.ranges(covering: bounds, zoom: zoom) {
          guard let part = range.intersection(extent) else { continue }
          try reader.forEachTile(in: part) { tile, _ in
            try Task.checkCancellation()
            found.append(tile)
          }
        }
      }
      return found.sorted()
    }
  }

  // MARK: - Places

  /// The places whose names contain all words of a text, the last as a beginning; the best matches first.
  ///
  /// - Parameters:
  ///   - text: any text, as a user types it.
  ///   - near: the user's position or the middle of the map, in degrees; nearer places rank higher. Longitudes beyond
  ///     ±180 are wrapped; a latitude beyond ±90 is no position, and the search is one without.
  ///   - limit: from 1 to 100 places.
  /// - Returns: an empty list for a bundle without places.
  /// - Throws: `BundleError`; `CancellationError`.
  @concurrent
  public func places(
    matching text: String, near: (longitude: Double, latitude: Double)? = nil, limit: Int = PlaceQuery.limitDefault
  ) async throws -> [PlaceMatch] {
    let near = near.flatMap {
      PlaceQuery.Coordinate(longitude: TileMatrixSet.wrapped($0.longitude), latitude: $0.latitude)
    }
    let query = PlaceQuery(text, near: near, limit: limit)
    return try await readers.read { try query.search($0) ?? [] }
  }
}
