import Synchronization
import TileIndex

/// What the server asks of the sources of its registry, beside tiles. The defaults are for sources that keep nothing
/// open and fetch nothing.
protocol ServedSource: TileSource {
  /// What is known without opening.
  var knownInfo: TilesetInfo? { get }
  /// Checks whether it can be opened; sends no request to another server.
  func check() throws
  /// Why it is not asked any more.
  var quarantine: BundleError? { get }
  /// True if Last-Modified identifies this state of the tileset.
  var hasOwnDate: Bool { get }
  /// Searches the places; nil for a tileset without any. Blocks.
  ///
  /// - Throws: `BundleError`, ``ServeError``.
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]?
  /// The other server, once it was asked.
  var upstream: Upstream? { get }
  /// Fetches a tile before it is wanted.
  ///
  /// - Returns: the bytes of the fetched tile; 0 if it is known already; nil if it cannot be fetched now, or the limit
  ///   of a metered upstream is reached.
  func fetchAhead(_ tile: TileID) throws -> Int?
  /// What is known of an upstream's tile without a request; nil where tiles are read.
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge?
  /// Closes what is not in use; it is opened again when needed.
  func closeIdle()
  /// Keeps nothing open from now on.
  func retire()
}

extension ServedSource {
  var quarantine: BundleError? { nil }
  var hasOwnDate: Bool { false }
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? { nil }
  var upstream: Upstream? { nil }
  func fetchAhead(_ tile: TileID) throws -> Int? { 0 }
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge? { nil }
  func closeIdle() {}
  func retire() { closeIdle() }

  /// What clients are told of its tiles, or of those that do not exist.
  func clientCaching(missing: Bool = false) -> ClientCaching { upstream?.clientCaching(missing: missing) ?? .usual }
  /// True if the upstream allows prefetching.
  var fetchesAhead: Bool { upstream?.settings.fetchesAhead ?? false }
}

/// A source of an app, whose description is kept as long as its revision stays the same.
final class ProvidedSource: ServedSource {
  private let source: any TileSource
  private let id: String
  private let known = Mutex<(info: TilesetInfo, revision: SourceRevision)?>(nil)

  init(_ source: any TileSource, id: String) { (self.source, self.id) = (source, id) }

  var knownInfo: TilesetInfo? {
    let revision = revision
    return known.withLock { known in known.flatMap { $0.revision == revision ? $0.info : nil } }
  }

  func info() throws -> TilesetInfo {
    if let knownInfo { return knownInfo }
    let revision = revision
    var info = try source.info()
    // The name in its URLs.
    info.id = id
    known.withLock { [info] in $0 = (info, revision) }
    return info
  }

  /// The app knows whether it works.
  func check() {}
  func storedTile(_ tile: TileID) throws -> [UInt8]? { try source.storedTile(tile) }
  func keptTile(_ tile: TileID) throws -> [UInt8]? { try source.keptTile(tile) }
  var revision: SourceRevision { source.revision }
  var edition: SourceRevision { source.edition }
  var isSlow: Bool { source.isSlow }
}
