import Synchronization
public import TileIndex

/// Where stored tiles come from. ``Tileset`` reads them from bundles; an app may bring its own.
public protocol TileSource: Sendable {
  /// What there is. May open files and block.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func info() throws -> TilesetInfo

  /// A tile's bytes as stored; nil when there is none. Blocks the calling thread; called by several threads at once.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func storedTile(_ tile: TileID) throws -> [UInt8]?

  /// A tile's bytes when they can be had without asking anybody else; nil otherwise, and where there is none. ``storedTile(_:)`` unless said otherwise.
  ///
  /// - Throws: ``ServeError``, `BundleError`.
  func keptTile(_ tile: TileID) throws -> [UInt8]?

  /// Differs for any two states whose tiles may differ, even of different sources: drawn tiles are kept under it.
  var revision: SourceRevision { get }

  /// True where reading takes so long that tiles are better kept in memory: a slow disk's. False unless said otherwise.
  var isSlow: Bool { get }
}

extension TileSource {
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
