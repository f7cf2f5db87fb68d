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
  /// The source where that is drawn on the grid of the bundle that it lies over.
  private let overlay: OverlaySource?
  /// This overlay on other grids.
  private let variants = Mutex<[TrackReader.Grid: Tileset]>([:])
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
      (source, bundle, overlay) = (UpstreamSource(place, work, lane), nil, nil)
    } else if place.isTrack {
      (lane, compositeLane) = (diskLane(), diskLane())
      let overlay = OverlaySource(place, open: open, hasOwnDate: hasOwnDate)
      (source, bundle, self.overlay) = (overlay, nil, overlay)
    } else {
      (lane, compositeLane) = (diskLane(), diskLane())
      let bundle = BundleSource(place, open: open, hasOwnDate: hasOwnDate, checkingTiles: checkingTiles)
      (source, self.bundle, overlay) = (bundle, bundle, nil)
    }
  }

  /// A track on the grid of a bundle that it lies over.
  private init(_ track: Tileset, drawnBy source: OverlaySource) {
    (id, place, self.source, bundle, overlay) = (track.id, track.place, source, nil, source)
    (latestDate, lane, compositeLane) = (track.latestDate, track.lane, track.compositeLane)
  }

  /// A source of an app. Its tiles may come from anywhere, so it has threads of its own.
  init(_ id: String, providedBy source: any TileSource, _ work: WorkPool) {
    (self.id, self.source) = (id, ProvidedSource(source, id: id))
    (bundle, overlay, place, latestDate) = (nil, nil, nil, .min)
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

  /// False for what is drawn on the grid of the bundle that it lies over.
  var hasOwnGrid: Bool { overlay == nil }

  /// The same on the grid of a bundle that it lies over; itself where it has a grid of its own.
  func drawn(over info: TilesetInfo) -> Tileset {
    guard let overlay, let grid = overlay.otherGrid(over: info) else { return self }
    return variants.withLock { variants in
      if let known = variants[grid] { return known }
      let made = Tileset(self, drawnBy: overlay.drawn(on: grid))
      variants[grid] = made
      return made
    }
  }

  /// Whether it was removed, or replaced.
  var isRetired: Bool { retired.load(ordering: .acquiring) }

  /// Keeps nothing open from now on.
  func retire() {
    retired.store(true, ordering: .releasing)
    for variant in variants.withLock({ Array($0.values) }) { variant.retire() }
    source.retire()
  }
}

extension [Tileset] {
  /// The one whose threads work for all: the first that may wait for a network, so that no thread of a disk does.
  ///
  /// - Precondition: at least one.
  var slowest: Tileset { first { $0.lane.mayStall } ?? self[0] }
}
