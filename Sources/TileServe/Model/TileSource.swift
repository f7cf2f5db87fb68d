import Support
import Synchronization
public import TileIndex

/// Where stored tiles come from. An app may bring its own: ``TilesetRegistry/init(_:sources:)`` takes it, so that
/// ``TileServer`` serves it like a bundle.
public protocol TileSource: Sendable {
  /// The tileset's description. May open files and block.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func info() throws -> TilesetInfo

  /// A tile's bytes as stored; nil when there is none. Blocks the calling thread; called by several threads at once.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func storedTile(_ tile: TileID) throws -> [UInt8]?

  /// A tile's bytes if they are available locally; nil otherwise, and where there is none. The default is
  /// ``storedTile(_:)``.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func keptTile(_ tile: TileID) throws -> [UInt8]?

  /// Differs for any two states whose tiles may differ, even of different sources: part of the cache key of rendered
  /// tiles.
  var revision: SourceRevision { get }

  /// Stays the same while all tiles that are read are of one state: a tile that is drawn of several reads is drawn
  /// again if it changed meanwhile. The default is ``revision``.
  var edition: SourceRevision { get }

  /// True if reading takes so long that tiles should be cached in memory: they are drawn then, or on a slow disk. The
  /// default is false.
  var isSlow: Bool { get }
}

extension TileSource {
  public var edition: SourceRevision { revision }
  public var isSlow: Bool { false }
  public func keptTile(_ tile: TileID) throws -> [UInt8]? { try storedTile(tile) }
}

/// One state of one source.
public struct SourceRevision: Hashable, Sendable {
  let number: UInt64

  /// A revision that no source had before, in this process.
  public static func next() -> SourceRevision { SourceRevision(number: counter.next()) }

  private static let counter = RevisionCounter()
}

/// Counts up from 1.
private final class RevisionCounter: Sendable {
  private let last = Atomic<UInt64>(0)
  func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// A tile as it is served.
public struct Tile: Hashable, Sendable {
  /// As stored.
  public var bytes: [UInt8]
  /// The format, detected from the bytes.
  public var format: TileFormat

  /// A stored tile.
  public init(bytes: [UInt8], format: TileFormat) {
    self.bytes = bytes
    self.format = format
  }

  /// True for vector tiles that are stored compressed.
  public var isGzipped: Bool { bytes.withUnsafeBytes(Gunzip.isGzip) }
}

/// The response for a tile that lies in the grid but not in the tileset. The raw value is the word of `--missing`.
public enum MissingTilePolicy: String, Hashable, Sendable, CaseIterable {
  /// 404 Not Found.
  case notFound = "404"
  /// 204 without a body, as vector viewers expect.
  case noContent = "204"
  /// A transparent tile (white where the format has no transparency).
  case blank
  /// The part of the nearest ancestor that covers the tile, enlarged; 404 where no ancestor has a tile.
  case overzoom
}
