import Support
import Synchronization
public import TileIndex

/// A tile source under its id in a registry, with the threads that read it.
///
/// The sources are ``BundleSource``, ``UpstreamSource``, ``OverlaySource`` and, through ``ProvidedSource``, those that
/// an app brings.
public final class Tileset: TileSource {
  /// The name in URLs.
  public let id: String
  let source: any ServedSource
  /// The source where that is a bundle: event loops read its tiles without waiting.
  let bundle: BundleSource?
  /// The file that it was found as, in its state then; nil for the source of an app.
  let place: BundlePlaces.Place?
  /// The latest date of all states with this id until now.
  let latestDate: Int
  let lane: WorkPool.Lane
  /// For composites with this tileset, so that a slow bundle among the others does not delay requests for this one
  /// alone.
  let compositeLane: WorkPool.Lane
  /// True while ``TileService/infos()`` has it opened.
  let isBeingOpened = Atomic(false)
  private let retired = Atomic(false)
  private let warned = Atomic(false)

  /// What a scan has found: a description of another server's tiles, a file of tracks, or a bundle.
  ///
  /// - Parameters:
  ///   - checkingTiles: whether a bundle's tiles are compared with their hashes.
  ///   - old: the previous tileset with this id.
  init(
    _ place: BundlePlaces.Place, _ work: WorkPool, open: OpenTilesets, checkingTiles: Bool,
    replacing old: Tileset? = nil
  ) {
    (id, self.place) = (place.id, place)
    let dateBefore = old?.latestDate ?? .min
    latestDate = max(place.modified, dateBefore)
    let hasOwnDate = place.hasOwnDate && place.modified > dateBefore
    func diskLane() -> WorkPool.Lane { work.lane(device: place.status.identity.device) }
    if place.isUpstream {
      (lane, compositeLane) = work.remoteLanes()
      (source, bundle) = (UpstreamSource(place, work, lane), nil)
    } else if place.isTrack {
      (lane, compositeLane) = (diskLane(), diskLane())
      (source, bundle) = (OverlaySource(place, open: open, hasOwnDate: hasOwnDate), nil)
    } else {
      (lane, compositeLane) = (diskLane(), diskLane())
      let bundle = BundleSource(place, open: open, hasOwnDate: hasOwnDate, checkingTiles: checkingTiles)
      (source, self.bundle) = (bundle, bundle)
    }
  }

  /// A track on the grid of a bundle that it lies over.
  init(_ track: Tileset, drawnBy source: OverlaySource) {
    (id, place, self.source, bundle) = (track.id, track.place, source, nil)
    (latestDate, lane, compositeLane) = (track.latestDate, track.lane, track.compositeLane)
  }

  /// A source of an app. Its tiles may come from anywhere, so it has threads of its own.
  init(_ id: String, providedBy source: any TileSource, _ work: WorkPool) {
    (self.id, self.source) = (id, ProvidedSource(source, id: id))
    (bundle, place, latestDate) = (nil, nil, .min)
    (lane, compositeLane) = work.remoteLanes()
  }

  /// The file or folder; the id where it is neither.
  public var path: String { place?.path ?? id }
  public var revision: SourceRevision { bundle?.revision ?? source.revision }
  public var edition: SourceRevision { bundle?.edition ?? source.edition }
  public var isSlow: Bool { source.isSlow }
  /// What is known without opening.
  package var knownInfo: TilesetInfo? { source.knownInfo }

  public func info() throws -> TilesetInfo { try source.info() }
  public func storedTile(_ tile: TileID) throws -> [UInt8]? { try source.storedTile(tile) }
  public func keptTile(_ tile: TileID) throws -> [UInt8]? { try source.keptTile(tile) }

  /// The warnings of a tileset that was opened, at the first call.
  func takeWarnings() -> [BundleError] {
    guard let info = knownInfo, !warned.exchange(true, ordering: .relaxed) else { return [] }
    return info.warnings
  }

  /// Whether it was removed, or replaced.
  var isRetired: Bool { retired.load(ordering: .acquiring) }

  /// Keeps nothing open from now on.
  func retire() {
    retired.store(true, ordering: .releasing)
    source.retire()
  }
}

extension [Tileset] {
  /// The one whose threads work for all: the first that may wait for a network, so that no thread of a disk does.
  ///
  /// - Precondition: at least one.
  var slowest: Tileset { first { $0.lane.mayStall } ?? self[0] }
}

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
  /// False for what is drawn on the grid of the bundle that it lies over.
  var hasOwnGrid: Bool { get }
  /// The tileset of this source on the grid of a bundle that it lies over; itself where it has a grid of its own.
  func tileset(_ own: Tileset, over info: TilesetInfo) -> Tileset
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
  var hasOwnGrid: Bool { true }
  func tileset(_ own: Tileset, over info: TilesetInfo) -> Tileset { own }
  var upstream: Upstream? { nil }
  func fetchAhead(_ tile: TileID) throws -> Int? { 0 }
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge? { nil }
  func closeIdle() {}
  func retire() { closeIdle() }

  /// True if no client may be told to keep its tiles.
  var forbidsKeeping: Bool { upstream?.forbidsKeeping.load(ordering: .relaxed) ?? false }
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
