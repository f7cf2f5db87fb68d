import Gazetteer
import LibC
import Support
import Synchronization
public import TileIndex

/// One bundle of the registry, or a tileset of an upstream. A bundle is opened when it is first requested, and again
/// for each thread that reads it at the same time.
public final class Tileset: TileSource {
  /// The bundle's path, and the state of the file when it was found.
  let place: BundlePlaces.Place
  /// True if Last-Modified identifies this state of the tileset: not after a change in place, before the next scan has
  /// found the new date.
  var hasOwnDate: Bool { hadOwnDate && state.withLock { $0.edition == 0 } }
  private let hadOwnDate: Bool
  /// The latest date of all earlier states with this id.
  private let latestDate: Int
  /// The name in URLs.
  public var id: String { place.id }
  /// The file or folder.
  public var path: String { place.path }
  public var revision: SourceRevision {
    if place.status.kind == .folder { renewFolder() }
    return knownUpstream?.revision ?? edition
  }
  /// Changes with every change of the file that a reader notices; not with what an upstream fetches.
  public var edition: SourceRevision { SourceRevision(number: editionNumber.load(ordering: .acquiring)) }
  private let editionNumber = Atomic(SourceRevision.next().number)
  /// True for tilesets of upstreams, where any tile may take seconds.
  let isRemote: Bool
  let lane: WorkPool.Lane
  /// For composites with this tileset, so that a slow bundle among the others does not delay requests for this one
  /// alone.
  let compositeLane: WorkPool.Lane
  /// A quarter of the threads of its disk.
  let slots = ReadingSlots(count: WorkPool.laneWidth)
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
    /// Opens readers that share what those of the same edition have open.
    var opener: (@Sendable () -> any BundleReader)?
    /// The places of a bundle that has no index of them, once somebody has searched.
    var places: PlaceList?
    /// By the clock of ``OpenTilesets``.
    var lastUse: UInt64 = 0
    var isRetired = false
    var readTimes = ReadTimes()
    /// True while it counts as open; readers that are returned later are closed.
    var isOpen = false
    /// Counts the changes of the file that were noticed, each of which ends all readers.
    var edition = 0
    /// The file that the readers have open.
    var file: FileSystem.Status?
    /// `BundleReader.version` of the last read.
    var version: UInt64 = 0
    /// True while a thread waits for the file to be still.
    var isWaiting = false
    /// Look-ups that cost far more than the file's size explains, and the file as it was at the last of them.
    var costlyCount = 0
    var costlyFile: (path: String, signature: FileSystem.Status?)?
    /// Of a folder: when its revision was renewed.
    var renewed = MonotonicClock.seconds
  }

  /// An open reader of the bundle. Used by one thread at a time, whichever holds it.
  final class Reader: @unchecked Sendable {
    let bundle: any BundleReader
    /// ``State/edition`` before it was opened.
    fileprivate let edition: Int

    fileprivate init(_ bundle: any BundleReader, edition: Int) { (self.bundle, self.edition) = (bundle, edition) }

    var version: UInt64 { bundle.version }
  }

  private let state = Mutex(State())
  /// True while ``TileService/infos()`` has it opened.
  let isBeingOpened = Atomic(false)
  /// Idle readers that are kept; each holds a descriptor and some of SQLite's page cache.
  private static let idleCountMax = 6

  /// - Parameter old: the previous tileset with this id.
  init(
    _ place: BundlePlaces.Place, _ work: WorkPool, open: OpenTilesets, replacing old: Tileset? = nil,
    on grid: TrackReader.Grid = TrackReader.Grid()
  ) {
    (self.place, self.grid) = (place, grid)
    let dateBefore = old?.latestDate ?? .min
    hadOwnDate = place.hasOwnDate && place.modified > dateBefore
    latestDate = max(place.modified, dateBefore)
    self.open = open
    self.work = work
    isRemote = place.isUpstream
    if isRemote {
      (lane, compositeLane) = work.remoteLanes()
    } else {
      lane = work.lane(device: place.status.identity.device)
      compositeLane = work.lane(device: place.status.identity.device)
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

  /// True if no client may be told to keep its tiles.
  var forbidsKeeping: Bool { knownUpstream?.forbidsKeeping.load(ordering: .relaxed) ?? false }
  /// The upstream, if it was opened.
  var knownUpstream: Upstream? { isRemote ? upstream.withLock { $0 } : nil }

  var lastUse: UInt64 { state.withLock { $0.lastUse } }
  /// What is known without opening.
  package var knownInfo: TilesetInfo? {
    if isRemote { return knownUpstream.flatMap { $0.knownInfo(id: id, modified: place.modified) } }
    return state.withLock { $0.info }
  }

  /// The warnings of a bundle that was opened, at the first call.
  func takeWarnings() -> [BundleError] {
    guard !isRemote else { return [] }
    return state.withLock { state in
      guard let info = state.info, !state.isWarned else { return [] }
      state.isWarned = true
      return info.warnings
    }
  }

  public func info() throws -> TilesetInfo { try info(waiting: true) }

  /// - Parameter waiting: whether to wait for a moment while the file changes.
  private func info(waiting: Bool) throws -> TilesetInfo {
    if isRemote { return try openUpstream().info(id: id, modified: place.modified) }
    if let known = knownInfo { return known }
    let (info, edition) = try reading(waiting: waiting) { bundle, edition in
      let modified = edition == 0 ? place.modified : (try? FileSystem.status(path))?.modified ?? place.modified
      return (try TilesetInfo(id: id, modified: modified, bundle), edition)
    }
    state.withLock { if $0.edition == edition { $0.info = info } }
    return info
  }

  public func storedTile(_ tile: TileID) throws -> [UInt8]? {
    if isRemote { return try openUpstream().tile(tile) }
    let start = MonotonicClock.seconds
    let bytes: [UInt8]?
    do {
      bytes = try reading { bundle, _ in try bundle.tile(tile) }
    } catch let error as BundleError where error.code == .malformed && (try? FileSystem.status(path)) == place.status {
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
  func withResidentTile<Value>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> ResidentRead<Value> {
    // Opening a reader may wait for a disk.
    guard quarantine == nil, let reader = take() else { return .wouldWait }
    let before = reader.version
    do {
      let read = try reader.bundle.withResidentTile(tile, body)
      guard reader.version == before else { return .wouldWait }
      note(before)
      give(reader)
      return read
    } catch let error as BundleError where error.code == .changed {
      endEdition(of: reader)
      return .wouldWait
    }
  }

  /// Searches the places; nil for a bundle without any, and for upstreams. Blocks.
  ///
  /// - Throws: `BundleError`, ``ServeError``.
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? {
    guard !isRemote, try info().hasPlaces else { return nil }
    if let places = state.withLock({ $0.places }) { return places.search(query) }
    return try reading { bundle, edition in
      if let index = try PlaceIndex(bundle) { return try index.search(query) }
      // Read once, not for each letter that somebody types.
      let places = PlaceList(try bundle.places().valid)
      state.withLock { if $0.edition == edition { $0.places = places } }
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
        state.opener = nil
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

  /// Reads from one state of the bundle: again, from the new one, if it changes meanwhile.
  ///
  /// - Parameter waiting: whether to wait for a moment while the file changes.
  /// - Throws: ``ServeError`` with `.unavailable` if it changes all the time.
  private func reading<Result>(
    waiting: Bool = true, _ body: (any BundleReader, _ edition: Int) throws -> Result
  ) throws -> Result {
    try Cancellation.check()
    if let quarantine { throw quarantine }
    return try slots.reading { try readingOneState(waiting: waiting, body) }
  }

  private func readingOneState<Result>(
    waiting: Bool, _ body: (any BundleReader, _ edition: Int) throws -> Result
  ) throws -> Result {
    for _ in 0..<Self.attemptsMax {
      let reader: Reader
      do {
        reader = try take() ?? (waiting ? openReaderWhenStill() : openReader())
      } catch let error as BundleError where error.code == .changed {
        continue
      } catch let error as BundleError where error.code == .tooCostly {
        throw afterCostlyRead(of: error.path) ?? error
      } catch {
        // What was interrupted says nothing of the bundle.
        try Cancellation.check()
        throw error
      }
      // A reader that failed is not kept: the file may have changed.
      do {
        for _ in 0..<Self.attemptsMax {
          let before = reader.version
          let result = try body(reader.bundle, reader.edition)
          guard reader.version == before else { continue }
          note(before)
          give(reader)
          return result
        }
      } catch let error as BundleError where error.code == .changed {
        endEdition(of: reader)
      } catch let error as BundleError where error.code == .tooCostly {
        throw afterCostlyRead(of: error.path) ?? error
      } catch {
        try Cancellation.check()
        if let error = error as? BundleError, error.code == .notFound, error.path != path {
          throw ServeError(.missingShard, "\(id): its shard \(Folder.name(error.path)) is not there")
        }
        throw error
      }
    }
    throw ServeError(.unavailable, "\(id) changes all the time", remedy: "ask again later")
  }

  private static let attemptsMax = 8

  /// Why the bundle is not asked any more: its look-ups have cost too much too often. It is asked again when the file
  /// changes, a shard's or its own.
  var quarantine: BundleError? {
    guard let file = state.withLock({ $0.costlyCount >= Self.costlyCountMax ? $0.costlyFile : nil }) else { return nil }
    guard (try? FileSystem.status(file.path)) == file.signature else {
      state.withLock { $0.costlyCount = 0 }
      return nil
    }
    return BundleError(
      .tooCostly, path: path,
      "\(Self.costlyCountMax) look-ups cost far more than a file of its size needs, so it is not asked any more",
      remedy: "make it again with its tiles in a table; it is served again when its file changes")
  }

  private static let costlyCountMax = 3

  /// Counts a look-up that cost more steps than a scan of the whole file. How long it took does not matter.
  private func afterCostlyRead(of path: String) -> BundleError? {
    let signature = try? FileSystem.status(path)
    state.withLock { state in
      state.costlyCount += 1
      state.costlyFile = (path, signature)
    }
    guard let quarantine else { return nil }
    closeIdle()
    return quarantine
  }

  /// Notes the state of which something was read. Tiles drawn of an earlier one count no more.
  private func note(_ version: UInt64) {
    state.withLock { state in
      guard state.version != version else { return }
      state.version = version
      state.places = nil
      editionNumber.store(SourceRevision.next().number, ordering: .releasing)
    }
  }

  /// Ends all readers of an edition of which one has found that it is gone.
  private func endEdition(of reader: Reader) { endEdition { $0.edition == reader.edition } }

  private func endEdition(where isPresent: (State) -> Bool) {
    let ended = state.withLock { state -> [Reader] in
      guard isPresent(state) else { return [] }
      state.edition += 1
      state.file = nil
      editionNumber.store(SourceRevision.next().number, ordering: .releasing)
      defer { (state.idle, state.opener, state.places, state.info) = ([], nil, nil, nil) }
      return state.idle
    }
    // Closes files, outside the lock.
    _ = consume ended
  }

  /// The tiles of a folder are files of their own, and looking at all of them would take longer than drawing: what was
  /// drawn of them counts for a second.
  private func renewFolder() {
    let now = MonotonicClock.seconds
    state.withLock { state in
      guard now - state.renewed >= 1 else { return }
      state.renewed = now
      editionNumber.store(SourceRevision.next().number, ordering: .releasing)
    }
  }

  /// Checks whether the tileset can be opened. Sends no request to an upstream: without it the cached tiles are still
  /// served.
  func check() throws {
    if isRemote { _ = try openUpstream() } else { _ = try info(waiting: false) }
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

  /// Opens a reader, and waits for a moment if the file changes. Only one thread waits: others would keep it from
  /// answering what can be answered.
  private func openReaderWhenStill() throws -> Reader {
    do {
      return try openReader()
    } catch let error as BundleError where error.code == .busy {
      let waits = state.withLock { state in
        guard !state.isWaiting else { return false }
        state.isWaiting = true
        return true
      }
      guard waits else { throw error }
      defer { state.withLock { $0.isWaiting = false } }
      let end = MonotonicClock.seconds + ChangingFiles.quietSeconds
      while MonotonicClock.seconds < end {
        // Often, to see the locks of a writer that holds them for milliseconds.
        usleep(3000)
        try Cancellation.check()
        do {
          return try openReader()
        } catch let error as BundleError where error.code == .busy || error.code == .changed {}
      }
      throw error
    }
  }

  private func openReader() throws -> Reader {
    let file = try? FileSystem.status(path)
    let (known, edition, before) = state.withLock { ($0.opener, $0.edition, $0.file) }
    // No reader may have been open while it changed.
    if let before, let file { ChangingFiles.note(before, file, path) }
    let bundle: any BundleReader =
      try known?() ?? (place.isTrack ? TrackReader(path: path, on: grid) : BundleFile.open(path))
    let reader = Reader(bundle, edition: edition)
    guard let file, FileIdentity(path: path) == file.identity else {
      throw BundleError(.changed, path: path, "was replaced while it was opened", remedy: "open it again")
    }
    // The path may lead to another file than that of the other readers, before a scan has found it.
    let (isOfEdition, other) = state.withLock { state -> (Bool, FileSystem.Status?) in
      guard state.edition == edition else { return (false, nil) }
      if let known = state.file, known.identity != file.identity { return (false, known) }
      state.file = file
      return (true, nil)
    }
    if let other { endEdition { $0.file == other } }
    guard isOfEdition else { return try openReader() }
    let opens = state.withLock { state in
      if !state.isRetired { state.isOpen = true }
      if state.isOpen, state.edition == edition { state.opener = bundle.opener }
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
      if state.isOpen, state.edition == reader.edition, state.idle.count < Self.idleCountMax {
        state.idle.append(reader)
      }
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
