import Gazetteer
import Synchronization
public import TileIndex

/// One bundle on a shelf, or a tileset of another server. A bundle is opened when it is first asked for, and again for each thread that reads it at the
/// same time.
public final class Tileset: TileSource {
  /// Where the bundle lies, and what lay there when it was found.
  let place: BundlePlaces.Place
  /// True where clients may tell by the date whether their copy is of this state of the tileset.
  let hasOwnDate: Bool
  /// The latest date of all states that had this id.
  private let latestDate: Int
  /// The name in URLs.
  public var id: String { place.id }
  /// The file or folder.
  public var path: String { place.path }
  public var revision: SourceRevision { knownUpstream?.revision ?? ownRevision }
  private let ownRevision = SourceRevision.next()
  /// True for tilesets of other servers, where any tile may take seconds.
  let isRemote: Bool
  let lane: WorkPool.Lane
  /// For composites over this tileset: another bundle of theirs that stalls does not hold up this one alone.
  let compositeLane: WorkPool.Lane
  private let open: OpenTilesets
  private let work: WorkPool
  /// Made when it is first asked for.
  private let upstream = Mutex<Upstream?>(nil)

  private struct State {
    var info: TilesetInfo?
    /// Readers that nobody uses at the moment.
    var idle: [Reader] = []
    /// By the clock of ``OpenTilesets``.
    var lastUse: UInt64 = 0
    var isRetired = false
    var readTimes = ReadTimes()
    /// True while it counts among the open tilesets; readers that come back later are closed.
    var isOpen = false
  }

  /// Used by one thread at a time, whichever holds it.
  private final class Reader: @unchecked Sendable {
    let bundle: any BundleReader
    /// Its file, once something is read from it past the bundle.
    lazy var file = bundle.descriptor.flatMap(ResidentReader.init(duplicating:))

    init(_ bundle: any BundleReader) { self.bundle = bundle }
  }

  private let state = Mutex(State())
  /// Idle readers that are kept; each holds a descriptor and some of SQLite's page cache.
  private static let idleCountMax = 6

  /// - Parameter old: what had the same id before.
  init(_ place: BundlePlaces.Place, _ work: WorkPool, open: OpenTilesets, replacing old: Tileset? = nil) {
    self.place = place
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

  /// The other server, once it was needed.
  var knownUpstream: Upstream? { isRemote ? upstream.withLock { $0 } : nil }

  /// The readers that are open and at rest.
  var openReaderCount: Int { state.withLock { $0.idle.count } }
  var lastUse: UInt64 { state.withLock { $0.lastUse } }
  /// What is known without opening.
  package var knownInfo: TilesetInfo? {
    if isRemote { return knownUpstream.flatMap { $0.knownInfo(id: id, modified: place.modified) } }
    return state.withLock { $0.info }
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
      // The bundle was opened and is as it was: what is damaged is where this tile lies.
      throw ServeError(
        .damagedTile, "tile \(tile) of \(id) cannot be read (\(error.message)): check the bundle with tilecut verify")
    }
    state.withLock { $0.readTimes.add(MonotonicClock.seconds - start) }
    return bytes
  }

  public func keptTile(_ tile: TileID) throws -> [UInt8]? {
    isRemote ? try openUpstream().keptTile(tile) : try storedTile(tile)
  }

  /// True where another server may be asked for tiles that nobody wants yet.
  var fetchesAhead: Bool { knownUpstream?.settings.fetchesAhead ?? false }

  /// Has another server's tile come into the bundle; does nothing for tilesets that lie here.
  ///
  /// - Returns: the bytes of the tile that came; 0 when it is known already; nil when it cannot be had now, or bytes cost and enough were fetched ahead already.
  func fetchAhead(_ tile: TileID) throws -> Int? { isRemote ? try openUpstream().fetchAhead(tile) : 0 }

  /// What is known of another server's tile without asking for it; nil for tilesets that lie here.
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge? {
    isRemote ? try openUpstream().knowledge(of: tile) : nil
  }

  /// True for a slow disk. Not for other servers: their tiles lie in a bundle here, where it is seen when they are no longer fresh.
  public var isSlow: Bool { state.withLock { $0.readTimes.isSlow } }

  /// The same without ever waiting for a disk: for event loops. The closure also gets a way to find out where in the file the tile lies.
  func withResidentTile(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer, () -> FileBody?) throws -> Void
  ) throws -> ResidentRead {
    // Opening would wait, so only a reader that is open will do.
    guard let reader = take() else { return .wouldWait }
    let result = try reader.bundle.withResidentTile(tile) { bytes in
      try body(bytes) {
        guard let place = reader.bundle.place(of: tile, matching: bytes), let file = reader.file else { return nil }
        return FileBody(file: file, pieces: place.pieces)
      }
    }
    give(reader)
    return result
  }

  /// Looks for places; nil for a bundle without any, and for another server's tiles, which come without. Blocks.
  ///
  /// - Throws: `BundleError`.
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? {
    guard !isRemote else { return nil }
    return try reading { try PlaceIndex($0)?.search(query) }
  }

  /// Closes the readers that are at rest; they are opened again when needed.
  func closeIdle() {
    // The readers go when this array does, outside the lock: closing files takes time.
    let idle = state.withLock { state in
      defer {
        state.idle = []
        state.isOpen = false
      }
      return state.idle
    }
    _ = consume idle
    open.remove(self)
  }

  /// No reader is kept from now on.
  func retire() {
    state.withLock { $0.isRetired = true }
    // Its bundle closes when the last request for it has ended.
    upstream.withLock { $0 = nil }
    closeIdle()
  }

  private func reading<Result>(_ body: (any BundleReader) throws -> Result) throws -> Result {
    let reader = try take() ?? openReader()
    // A reader that failed is not kept: what it has seen may have changed under it.
    let result = try body(reader.bundle)
    give(reader)
    return result
  }

  /// Looks whether the tileset can be opened. Asks no other server: one that is away today has its tiles in the bundle.
  func check() throws {
    if isRemote { _ = try openUpstream() } else { _ = try info() }
  }

  private func openUpstream() throws -> Upstream {
    try upstream.withLock { upstream in
      if let upstream { return upstream }
      do {
        let bytes = try FileBytes.read(path, countMax: 1 << 20)
        let new = try Upstream(UpstreamSettings(bytes, path: path)) { [work, lane] refresh in
          work.submit(lane, urgency: .later, refresh)
        }
        upstream = new
        return new
      } catch let error as FileSystem.SystemError {
        throw ServeError(.unavailable, "\(BundlePlaces.name(path)): cannot be read: \(error); \(error.openingRemedy)")
      } catch let error as ServeError where error.code == .invalidOption {
        // Clients are told what is wrong, not where our files lie.
        throw ServeError(.unavailable, BundlePlaces.name(path) + error.message.dropFirst(path.count))
      }
    }
  }

  private func openReader() throws -> Reader {
    let reader = try Reader(BundleFile.open(path))
    let opens = state.withLock { state in
      if !state.isRetired { state.isOpen = true }
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
