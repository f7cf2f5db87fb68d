import LibC
import Support
import Synchronization
import TileIndex

/// A bundle. It is opened when it is first requested, and again for each thread that reads it at the same time.
final class BundleSource: ServedSource {
  /// The bundle's path, and the state of the file when it was found.
  private let place: BundlePlaces.Place
  private var id: String { place.id }
  private var path: String { place.path }
  /// Not after a change in place, before the next scan has found the new date.
  var hasOwnDate: Bool { hadOwnDate && state.withLock { $0.edition == 0 } }
  private let hadOwnDate: Bool
  var revision: SourceRevision {
    if place.status.kind == .folder { renewFolder() }
    return edition
  }
  /// Changes with every change of the file that a reader notices.
  var edition: SourceRevision { SourceRevision(number: editionNumber.load(ordering: .acquiring)) }
  private let editionNumber = Atomic(SourceRevision.next().number)
  /// A quarter of the threads of its disk.
  let slots = ReadingSlots(count: WorkPool.laneWidth)
  private let open: OpenTilesets
  /// Opens the first reader of an edition.
  private let openBundle: @Sendable (_ path: String) throws -> any BundleReader
  /// Whether tiles are compared with their hashes, where the bundle has one of each.
  private let checksTiles: Bool

  private struct State {
    var info: TilesetInfo?
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
  /// Idle readers that are kept; each holds a descriptor and some of SQLite's page cache.
  private static let idleCountMax = 6

  /// - Parameter openBundle: for what is no bundle of tiles.
  init(
    _ place: BundlePlaces.Place, open: OpenTilesets, hasOwnDate: Bool, checkingTiles: Bool = false,
    _ openBundle: (@Sendable (_ path: String) throws -> any BundleReader)? = nil
  ) {
    (self.place, self.open) = (place, open)
    self.openBundle = openBundle ?? { try BundleFile.open($0, checkingTiles: checkingTiles) }
    (hadOwnDate, checksTiles) = (hasOwnDate, checkingTiles)
  }

  var lastUse: UInt64 { state.withLock { $0.lastUse } }
  var knownInfo: TilesetInfo? { state.withLock { $0.info } }

  func info() throws -> TilesetInfo { try info(waiting: true) }

  /// - Parameter waiting: whether to wait for a moment while the file changes.
  private func info(waiting: Bool) throws -> TilesetInfo {
    if let known = knownInfo { return known }
    let (info, edition) = try reading(waiting: waiting) { bundle, edition in
      let modified = edition == 0 ? place.modified : (try? FileSystem.status(path))?.modified ?? place.modified
      var info = try TilesetInfo(id: id, modified: modified, bundle)
      info.warnings += place.warnings
      if checksTiles, !bundle.storesTileHashes { info.warnings.append(Self.notChecked(bundle)) }
      return (info, edition)
    }
    state.withLock { if $0.edition == edition { $0.info = info } }
    return info
  }

  /// A warning.
  private static func notChecked(_ bundle: any BundleReader) -> BundleError {
    BundleError(
      .notHashed, path: bundle.path, "has no hash of each tile, so that its tiles are sent unchecked",
      remedy: "make it again as MBTiles with hashes of its tiles")
  }

  /// Bodies that were not sent because their hash is another one.
  var damagedCount: Int { damagedReads.load(ordering: .relaxed) }
  private let damagedReads = Atomic(0)

  func storedTile(_ tile: TileID) throws -> [UInt8]? {
    let start = MonotonicClock.seconds
    let bytes: [UInt8]?
    do {
      bytes = try reading { bundle, _ in try bundle.tile(tile) }
    } catch let error as BundleError where error.code == .damagedTile {
      damagedReads.add(1, ordering: .relaxed)
      throw ServeError(.damagedTile, "\(id): \(error.message)", remedy: "verify the bundle to find all such tiles")
    } catch let error as BundleError where error.code == .malformed && (try? FileSystem.status(path)) == place.status {
      // The bundle could be opened and did not change: only this tile is damaged.
      throw ServeError(
        .damagedTile,
        "tile \(tile) of \(id) cannot be read (\(error.path == path ? "" : "\(Folder.name(error.path ?? path)) ")"
          + "\(error.message)): verify the bundle")
    }
    state.withLock { $0.readTimes.add(MonotonicClock.seconds - start) }
    return bytes
  }

  /// True for a slow disk.
  var isSlow: Bool { state.withLock { $0.readTimes.isSlow } }

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

  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? {
    guard try info().hasPlaces else { return nil }
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

  func retire() {
    state.withLock { $0.isRetired = true }
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
        throw afterCostlyRead(of: error.path ?? path) ?? error
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
        throw afterCostlyRead(of: error.path ?? path) ?? error
      } catch {
        try Cancellation.check()
        if let error = error as? BundleError, error.code == .notFound, let shard = error.path, shard != path {
          throw ServeError(.missingShard, "\(id): its shard \(Folder.name(shard)) is not there")
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

  func check() throws { _ = try info(waiting: false) }

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
    let bundle = try known?() ?? openBundle(path)
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
