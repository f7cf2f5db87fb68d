import Synchronization
public import TileIndex

/// One bundle on a shelf. It is opened when it is first asked for, and again for each thread that reads it at the same time.
public final class Tileset: TileSource {
  /// Where the bundle lies, and what lay there when it was found.
  let place: BundlePlaces.Place
  /// The name in URLs.
  public var id: String { place.id }
  /// The file or folder.
  public var path: String { place.path }
  public let revision = SourceRevision.next()
  let lane: WorkPool.Lane
  /// For composites over this tileset: another bundle of theirs that stalls does not hold up this one alone.
  let compositeLane: WorkPool.Lane
  private let open: OpenTilesets

  private struct State {
    var info: TilesetInfo?
    /// Readers that nobody uses at the moment.
    var idle: [Reader] = []
    /// By the clock of ``OpenTilesets``.
    var lastUse: UInt64 = 0
    var isRetired = false
    /// True while it counts among the open tilesets; readers that come back later are closed.
    var isOpen = false
  }

  /// Used by one thread at a time, whichever holds it.
  private final class Reader: @unchecked Sendable {
    let bundle: any BundleReader
    /// Its file, once something is sent from it.
    lazy var file = bundle.descriptor.flatMap(SendableFile.init(duplicating:))

    init(_ bundle: any BundleReader) { self.bundle = bundle }
  }

  private let state = Mutex(State())
  /// Idle readers that are kept; each holds a descriptor and some of SQLite's page cache.
  private static let idleCountMax = 6

  init(_ place: BundlePlaces.Place, _ work: WorkPool, open: OpenTilesets) {
    self.place = place
    lane = work.lane(device: place.status.device)
    compositeLane = work.lane(device: place.status.device)
    self.open = open
  }

  /// The readers that are open and at rest.
  var openReaderCount: Int { state.withLock { $0.idle.count } }
  var lastUse: UInt64 { state.withLock { $0.lastUse } }
  /// What is known without opening.
  package var knownInfo: TilesetInfo? { state.withLock { $0.info } }

  public func info() throws -> TilesetInfo {
    if let known = knownInfo { return known }
    return try reading { reader in
      let info = try TilesetInfo(id: id, modified: place.modified, reader)
      state.withLock { $0.info = info }
      return info
    }
  }

  public func storedTile(_ tile: TileID) throws -> [UInt8]? {
    try reading { try $0.tile(tile) }
  }

  /// Looks for places; nil for a bundle without any. Blocks.
  ///
  /// - Throws: `BundleError`.
  func places(_ query: PlaceQuery) throws -> [PlaceMatch]? {
    try reading { try PlaceIndex($0)?.search(query) }
  }

  /// Hands a tile's bytes to a closure; nil when there is no such tile. May block.
  func withStoredTile<Result>(
    _ tile: TileID, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result? {
    try reading { try $0.withTile(tile, body) }
  }

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
    closeIdle()
  }

  private func reading<Result>(_ body: (any BundleReader) throws -> Result) throws -> Result {
    let reader = try take() ?? openReader()
    // A reader that failed is not kept: what it has seen may have changed under it.
    let result = try body(reader.bundle)
    give(reader)
    return result
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
