import Gazetteer
import Support
import Synchronization
public import TileIndex

/// One bundle of the registry, or a tileset of an upstream. A bundle is opened when it is first requested, and again
/// for each thread that reads it at the same time.
public final class Tileset: TileSource {
  /// The bundle's path, and the state of the file when it was found.
  let place: BundlePlaces.Place
  /// True if Last-Modified identifies this state of the tileset.
  let hasOwnDate: Bool
  /// The latest date of all earlier states with this id.
  private let latestDate: Int
  /// The name in URLs.
  public var id: String { place.id }
  /// The file or folder.
  public var path: String { place.path }
  public var revision: SourceRevision { knownUpstream?.revision ?? ownRevision }
  private let ownRevision = SourceRevision.next()
  /// True for tilesets of upstreams, where any tile may take seconds.
  let isRemote: Bool
  let lane: WorkPool.Lane
  /// For composites with this tileset, so that a slow bundle among the others does not delay requests for this one
  /// alone.
  let compositeLane: WorkPool.Lane
  private let open: OpenTilesets
  private let work: WorkPool
  /// The grid that a track is drawn on.
  private let grid: TrackReader.Grid
  /// A track on other grids.
  private let variants = Mutex<[TrackReader.Grid: Tileset]>([:])
  /// Created at the first request.
  private let upstream = Mutex<Upstream?>(nil)

  private struct State {
    var info: TilesetInfo?
    /// True once the warnings of ``info`` were logged.
    var isWarned = false
    /// Readers that are not in use.
    var idle: [Reader] = []
    /// The bundles that the readers of a tileset of shards share.
    var shards: ShardedReader.Shards?
    /// The places of a bundle that has no index of them, once somebody has searched.
    var places: PlaceList?
    /// By the clock of ``OpenTilesets``.
    var lastUse: UInt64 = 0
    var isRetired = false
    var readTimes = ReadTimes()
    /// True while it counts as open; readers that are returned later are closed.
    var isOpen = false
  }

  /// An open reader of the bundle. Used by one thread at a time, whichever holds it.
  final class Reader: @unchecked Sendable {
    let bundle: any BundleReader

    init(_ bundle: any BundleReader) { self.bundle = bundle }
  }

  private let state = Mutex(State())
  /// Idle readers that are kept; each holds a descriptor and some of SQLite's page cache.
  private static let idleCountMax = 6

  /// - Parameter old: the previous tileset with this id.
  init(
    _ place: BundlePlaces.Place, _ work: WorkPool, open: OpenTilesets, replacing old: Tileset? = nil,
    on grid: TrackReader.Grid = TrackReader.Grid()
  ) {
    (self.place, self.grid) = (place, grid)
    let dateBefore = old?.latestDate ?? .min
    hasOwnDate = place.hasOwnDate && place.modified > dateBefore
    latestDate = max(place.modified, dateBefore)
    self.open = open
    self.work = work
    isRemote = place.isUpstream
    if isRemote {
      (lane, compositeLane) = work.remoteLanes()
    } else {
      lane = work.lane(device: place.status.device)
      compositeLane = work.lane(device: place.status.device)
    }
  }

  /// A track on the grid of a bundle that it lies over, with as many pixels; any other tileset itself.
  func drawn(over info: TilesetInfo) -> Tileset {
    guard place.isTrack, info.flatImage == nil else { return self }
    let gridPixels = info.matrixSet[info.zooms.lowerBound].tileWidth
    func factor(_ whole: Int) -> Int { max(1, min(info.tilePixels / max(whole, 1), 8)) }
    let wanted = TrackReader.Grid(
      matrixSet: info.matrixSet, factor: factor(gridPixels), density: factor(info.screenPixels))
    guard wanted != grid else { return self }
    return variants.withLock { variants in
      if let known = variants[wanted] { return known }
      let made = Tileset(place, work, open: open, on: wanted)
      variants[wanted] = made
      return made
    }
  }

  /// The upstream, if it was opened.
  var knownUpstream: Upstream? { isRemote ? upstream.withLock { $0 } : nil }

  /// The number of open readers that are not in use.
  var openReaderCount: Int { state.withLock { $0.idle.count } }
  var lastUse: UInt64 { state.withLock { $0.lastUse } }
  /// What is known without opening.
  package var knownInfo: TilesetInfo? {
    if isRemote { return knownUpstream.flatMap { $0.knownInfo(id: id, modified: place.modified) } }
    return state.withLock { $0.info }
  }

  /// The warnings of a bundle that was opened, at the first call.
  func takeWarnings() -> [String] {
    guard !isRemote else { return [] }
    return state.withLock { state in
      guard let info = state.info, !state.isWarned else { return [] }
      state.isWarned = true
      return info.warnings
    }
  }

  public func info() throws -> TilesetInfo {
    if isRemote { return try openUpstream().info(id: id, modified: place.modified) }
    if let known = knownInfo { return known }
    return try reading { reader in
      let info = try TilesetInfo(id: id, modified: place.modified, reader)
      state.withLock { $0.info = info }
      return info
    }
  }

  public func storedTile(_ tile: TileID) throws -> [UInt8]? {
    if isRemote { return try openUpstream().tile(tile) }
    let start = MonotonicClock.seconds
    let bytes: [UInt8]?
    do {
      bytes = try reading { try $0.tile(tile) }
    } catch let error as BundleError where error.code == .malformed && FileStatus(path) == place.status {
      // The bundle could be opened and did not change: only this tile is damaged.
      throw ServeError(
        .damagedTile,
        "tile \(tile) of \(id) cannot be read (\(error.path == path ? "" : "\(Folder.name(error.path)) ")"
          + "\(error.message)): verify the bundle")
    }
    state.withLock { $0.readTimes.add(MonotonicClock.seconds - start) }
    return bytes
  }

  public func keptTile(_ tile: TileID) throws -> [UInt8]? {
    isRemote ? try openUpstream().keptTile(tile) : try storedTile(tile)
  }

  /// True if the upstream allows prefetching.
  var fetchesAhead: Bool { knownUpstream?.settings.fetchesAhead ?? false }

  /// Prefetches a tile of an upstream into its bundle; does nothing for local tilesets.
  ///
  /// - Returns: the bytes of the fetched tile; 0 if it is known already; nil if it cannot be fetched now, or the limit
  ///   of a metered upstream is reached.
  func fetchAhead(_ tile: TileID) throws -> Int? { isRemote ? try openUpstream().fetchAhead(tile) : 0 }

  /// What is known of an upstream's tile without a request; nil for local tilesets.
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge? {
    isRemote ? try openUpstream().knowledge(of: tile) : nil
  }

  /// True for a slow disk, and for tracks, whose tiles are drawn when they are read. Not for upstreams: their tiles are
  /// cached in a local bundle, which tracks their freshness.
  public var isSlow: Bool { place.isTrack || state.withLock { $0.readTimes.isSlow } }

  /// Reads a stored tile without ever waiting for a disk, for event loops.
  func withResidentTile(_ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Void) throws -> ResidentRead {
    try withOpenReader { try $0.bundle.withResidentTile(tile, body) } ?? .wouldWait
  }

  /// Lends an open reader that is not in use; nil if there is none, since opening one may wait for a disk.
  func withOpenReader<Result>(_ body: (Reader) throws -> Result) rethrows -> Result? {
    guard let reader = take() else { return nil }
    let result = try body(reader)
    give(reader)
    return result
  }

  /// Searches the places; nil for a bundle without any, and for upstreams. Blocks.
  ///
  /// - Throws: `BundleError`, ``ServeError``.
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? {
    guard !isRemote, try info().hasPlaces else { return nil }
    if let places = state.withLock({ $0.places }) { return places.search(query) }
    return try reading { bundle in
      if let index = try PlaceIndex(bundle) { return try index.search(query) }
      // Read once, not for each letter that somebody types.
      let places = PlaceList(try bundle.places())
      state.withLock { $0.places = places }
      return places.search(query)
    }
  }

  /// Closes the readers that are not in use; they are opened again when needed.
  func closeIdle() {
    // First: a reader that is opened in the meantime is one of the tilesets that are open, or is not kept.
    open.remove(self)
    // The readers are released with this array, outside the lock: closing files takes time.
    let idle = state.withLock { state in
      defer {
        state.idle = []
        state.shards = nil
        state.places = nil
        state.isOpen = false
      }
      return state.idle
    }
    _ = consume idle
  }

  /// Whether it was removed, or replaced.
  var isRetired: Bool { state.withLock { $0.isRetired } }

  /// Keeps no reader open from now on.
  func retire() {
    state.withLock { $0.isRetired = true }
    // Its bundle is closed when the last request for it has ended.
    upstream.withLock { $0 = nil }
    for variant in variants.withLock({ Array($0.values) }) { variant.retire() }
    closeIdle()
  }

  private func reading<Result>(_ body: (any BundleReader) throws -> Result) throws -> Result {
    try Cancellation.check()
    // A reader that failed is not kept: the file may have changed.
    do {
      let reader = try take() ?? openReader()
      let result = try body(reader.bundle)
      give(reader)
      return result
    } catch {
      // What was interrupted says nothing of the bundle.
      try Cancellation.check()
      if let error = error as? BundleError, error.code == .notFound, error.path != path {
        throw ServeError(.missingShard, "\(id): its shard \(Folder.name(error.path)) is not there")
      }
      throw error
    }
  }

  /// Checks whether the tileset can be opened. Sends no request to an upstream: without it the cached tiles are still
  /// served.
  func check() throws {
    if isRemote { _ = try openUpstream() } else { _ = try info() }
  }

  private func openUpstream() throws -> Upstream {
    try upstream.withLock { upstream in
      if let upstream { return upstream }
      do {
        let bytes = try FileSystem.bytes(of: path, countMax: 1 << 20)
        let new = try Upstream(UpstreamSettings(bytes, path: path)) { [work, lane] refresh in
          work.submit(lane, urgency: .later, refresh)
        }
        upstream = new
        return new
      } catch let error as FileSystem.SystemError {
        throw ServeError(
          .unavailable, "\(Folder.name(path)): cannot be read: \(error)", remedy: error.openingRemedy)
      } catch let error as ServeError where error.code == .invalidOption {
        // Clients are told what is wrong, without paths.
        throw ServeError(
          .unavailable, Folder.name(path) + error.message.dropFirst(path.count), remedy: error.remedy)
      }
    }
  }

  private func openReader() throws -> Reader {
    let known = state.withLock { $0.shards }
    let bundle: any BundleReader =
      try known.map { ShardedReader($0) } ?? (place.isTrack ? TrackReader(path: path, on: grid) : BundleFile.open(path))
    let reader = Reader(bundle)
    let opens = state.withLock { state in
      if !state.isRetired { state.isOpen = true }
      if state.isOpen { state.shards = (bundle as? ShardedReader)?.shards }
      return state.isOpen
    }
    if opens { open.insert(self) }
    return reader
  }

  private func take() -> Reader? {
    state.withLock { state in
      state.lastUse = open.now
      return state.idle.popLast()
    }
  }

  private func give(_ reader: Reader) {
    state.withLock { state in
      if state.isOpen, state.idle.count < Self.idleCountMax { state.idle.append(reader) }
    }
  }
}

/// The tilesets with open readers: those that were used last, up to a limit. A reader costs two descriptors and up to
/// half a megabyte.
final class OpenTilesets: Sendable {
  /// Tilesets that are kept open.
  static let countMax = 64

  private let open = Mutex<[ObjectIdentifier: Tileset]>([:])
  private let clock = Atomic<UInt64>(0)

  /// Increases by one at every scan; the unit of ``Tileset/lastUse``.
  var now: UInt64 { clock.load(ordering: .relaxed) }

  var count: Int { open.withLock { $0.count } }

  /// Notes that a tileset was opened; closes the least recently used one if there are too many.
  func insert(_ tileset: Tileset) {
    let surplus = open.withLock { open -> Tileset? in
      open[ObjectIdentifier(tileset)] = tileset
      guard open.count > Self.countMax else { return nil }
      guard let oldest = open.values.filter({ $0 !== tileset }).min(by: { $0.lastUse < $1.lastUse }) else { return nil }
      open[ObjectIdentifier(oldest)] = nil
      return oldest
    }
    surplus?.closeIdle()
  }

  func remove(_ tileset: Tileset) {
    open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(tileset)) }
  }

  /// Advances the clock.
  func tick() { clock.add(1, ordering: .relaxed) }
}

/// A moving average of how long reading a tile takes on threads that may wait, which detects slow disks.
struct ReadTimes {
  /// Longer reads are worth prefetching: a page in memory takes a hundredth of this, one on a good disk a tenth.
  static let slowSeconds = 0.005
  private static let weight = 0.1

  /// The mean of about the last ten reads; 0 before the first.
  private(set) var seconds = 0.0

  var isSlow: Bool { seconds >= Self.slowSeconds }

  mutating func add(_ seconds: Double) {
    // A single stall of a minute must not outweigh a thousand reads.
    let bounded = min(seconds, 1)
    self.seconds = self.seconds == 0 ? bounded : self.seconds + Self.weight * (bounded - self.seconds)
  }
}
