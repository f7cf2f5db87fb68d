import Support
import Synchronization
public import TileIndex

/// The registry of tilesets: those of some bundles and folders, kept up to date as files change, and sources of an app.
///
/// ```swift
/// let registry = try TilesetRegistry(["/maps"])
/// let tile = try registry["colorado"]?.storedTile(TileID(zoom: 9, column: 106, row: 194))
/// await registry.close()
/// ```
///
/// Bundles are opened when they are first requested. ``refresh()`` finds new, replaced and removed bundles; a server
/// calls it every second.
public final class TilesetRegistry: Sendable {
  /// The differences that a scan found.
  public struct Change: Hashable, Sendable {
    /// The ids of new tilesets.
    public var added: [String] = []
    /// The ids of tilesets with another file.
    public var replaced: [String] = []
    /// The ids of tilesets that are gone.
    public var removed: [String] = []
    /// What is newly broken, with the reason.
    public var failed: [String: String] = [:]

    /// Whether nothing has changed.
    public var isEmpty: Bool { self == Change() }
  }

  /// Files and folders, as given.
  public let paths: [String]
  /// The threads that read.
  package let work: WorkPool
  private let open = OpenTilesets()
  private let checksTiles: Bool
  /// The sources of an app, by id.
  private let provided: [String: Tileset]
  private let contents: Mutex<Contents>
  private let changeCount = Atomic(0)
  private let isClosed = Atomic(false)
  /// Held during a scan: one at a time.
  private let refreshing = Mutex(())

  /// Whether a file's name is that of tracks and places, which are drawn when they are served.
  package static func isTrack(_ path: String) -> Bool { BundlePlaces.isTrack(path) }

  /// Scans files and folders; opens nothing.
  ///
  /// - Parameters:
  ///   - sources: tilesets that an app brings, by the name in their URLs. They are read on threads of their own.
  ///   - checkingTiles: whether each tile that is read is compared with its hash, in bundles that have one of each
  ///     tile; damaged ones are then errors.
  /// - Throws: ``ServeError`` with `.invalidOption` when one of the paths is not there, or a source has a name that
  ///   URLs cannot have.
  public init(
    _ paths: [String] = [], sources: [String: any TileSource] = [:], checkingTiles: Bool = false
  ) throws {
    (self.paths, checksTiles) = (paths, checkingTiles)
    let work = WorkPool()
    self.work = work
    for id in sources.keys where id.isEmpty || BundlePlaces.documents[id] != nil {
      throw ServeError(
        .invalidOption, "\"\(id)\" cannot be the name of a source",
        remedy: "give it a name that is not one of the server's own")
    }
    provided = Dictionary(
      uniqueKeysWithValues: sources.map { ($0.key, Tileset($0.key, providedBy: $0.value, work)) })
    for path in paths where FileSystem.kind(path) == nil {
      throw ServeError(.invalidOption, "there is no such file or folder", remedy: "check the name", path: path)
    }
    let found = BundlePlaces(paths, besides: Set(provided.keys))
    var contents = Contents(tilesets: provided)
    for place in found.places {
      contents.tilesets[place.id] = Tileset(place, work, open: open, checkingTiles: checkingTiles)
    }
    contents.order()
    contents.failures = found.refused.mapValues(Failure.init(refused:))
    (contents.duplicates, contents.unlisted) = (found.duplicates, found.unlisted)
    // Descriptions are written by hand: their errors are reported at the start.
    for tileset in contents.ordered where tileset.place?.isUpstream == true {
      do {
        try tileset.source.check()
      } catch {
        contents.failures[tileset.id] = Failure(error)
      }
    }
    contents.unreported = Set(contents.failures.keys)
    self.contents = Mutex(contents)
  }

  /// All tilesets, by id.
  public var tilesets: [Tileset] { contents.withLock { $0.ordered } }

  /// The tilesets that are not known to be unreadable.
  package var readableTilesets: [Tileset] {
    let (tilesets, failures) = contents.withLock { ($0.ordered, $0.failures) }
    // The old bundle stays in service if its replacement is broken.
    return tilesets.filter { failures[$0.id] == nil || $0.knownInfo != nil }
  }

  /// What cannot be served, by id or path, with the reason.
  package var failures: [String: String] { contents.withLock { $0.failures.mapValues(\.reason) } }

  /// What is wrong where nothing can ever be served, because each path is a file that is no bundle; nil where that may
  /// change: what is locked is tried again, tracks and descriptions of upstreams may be corrected, and into a folder
  /// bundles or tiles come. A path whose id another one has does not count.
  package var permanentFaults: [BundleError]? {
    guard readableTilesets.isEmpty else { return nil }
    return contents.withLock { contents in
      let files = paths.filter { !contents.duplicates.contains($0) }
      let faults = files.compactMap { path -> BundleError? in
        let tileset = contents.ordered.first {
          $0.path == path && $0.bundle != nil && $0.place?.status.kind != .folder
        }
        let error = tileset.flatMap { contents.failures[$0.id]?.error as? BundleError }
        return error.flatMap { [.malformed, .notFound].contains($0.code) ? $0 : nil }
      }
      return faults.count == files.count ? faults : nil
    }
  }

  /// Changes whenever a tileset is added, removed or replaced, which makes stored responses obsolete.
  var generation: Int { changeCount.load(ordering: .acquiring) }

  /// The tileset of an id.
  public subscript(id: String) -> Tileset? { contents.withLock { $0.tilesets[id] } }

  /// The tileset of an id, or why it is unavailable; nil if nothing has this id.
  func look(_ id: String) -> (tileset: Tileset?, failure: String?) {
    contents.withLock { ($0.tilesets[id], $0.failure(id)?.reason) }
  }

  /// Notes that a tileset could not be opened, or that it can be opened again. The next ``refresh()`` reports it once.
  func note(_ tileset: Tileset, failure: (any Error)?) {
    let failure = failure.map(Failure.init)
    contents.withLock { contents in
      // The failure of a broken replacement is kept.
      let isCurrent = !contents.broken.contains { $0.id == tileset.id }
      guard isCurrent, contents.tilesets[tileset.id] === tileset else { return }
      if let failure, contents.failures[tileset.id]?.reason != failure.reason { contents.unreported.insert(tileset.id) }
      contents.failures[tileset.id] = failure
    }
  }

  /// Notes the bundles that are not asked any more, whoever found them too costly, and those that are asked again.
  func noteQuarantines() {
    let failures = contents.withLock { $0.failures }
    for tileset in tilesets {
      if let quarantine = tileset.source.quarantine {
        note(tileset, failure: quarantine)
      } else if tileset.knownInfo != nil, (failures[tileset.id]?.error as? BundleError)?.code == .tooCostly {
        note(tileset, failure: nil)
      }
    }
  }

  /// Opens every bundle once before the first request, so that broken ones are counted and reported as failures.
  ///
  /// Returns when the first `OpenTilesets.countMax` were opened, or after two seconds: many bundles or a sleeping
  /// disk do not delay the start. The rest is opened in the background.
  package func findBroken() async {
    let (first, whenFirst) = AsyncStream<Void>.makeStream()
    let tilesets = tilesets
    let accepted = work.submit(work.lane(device: .max - 3)) {
      for (index, tileset) in tilesets.enumerated() where !self.isClosed.load(ordering: .relaxed) {
        if index == OpenTilesets.countMax { whenFirst.finish() }
        guard tileset.knownInfo == nil else { continue }
        do {
          try tileset.source.check()
          self.note(tileset, failure: nil)
        } catch is CancellationError {
          break
        } catch {
          self.note(tileset, failure: error)
        }
        tileset.source.closeIdle()
      }
      whenFirst.finish()
    }
    guard accepted else { return }
    await withTaskGroup { group in
      group.addTask { for await _ in first {} }
      group.addTask { try? await Task.sleep(for: .seconds(2)) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Scans the folders again. Blocks.
  ///
  /// A new or changed bundle is added only if it can be opened; until then the old one stays in service.
  /// - Complexity: O(files), about 6 microseconds a file; changed bundles are opened.
  @discardableResult
  public func refresh() -> Change {
    open.tick()
    noteQuarantines()
    return refreshing.withLock { _ in
      let found = BundlePlaces(paths, besides: Set(provided.keys))
      let before = contents.withLock { $0 }
      var after = Contents(tilesets: provided)
      var change = Change()
      after.failures = found.refused.mapValues(Failure.init(refused:))
      (after.duplicates, after.unlisted) = (found.duplicates, found.unlisted)
      for place in found.places {
        let old = before.tilesets[place.id]
        if let old, old.place == place {
          after.tilesets[place.id] = old
          after.failures[place.id] = before.failures[place.id]
        } else if before.broken.contains(place) {
          after.broken.insert(place)
          after.tilesets[place.id] = old
          after.failures[place.id] = before.failures[place.id]
        } else {
          if let known = old?.place { ChangingFiles.note(known.status, place.status, place.path) }
          let new = Tileset(place, work, open: open, checkingTiles: checksTiles, replacing: old)
          do {
            try new.source.check()
            after.tilesets[place.id] = new
            if old == nil { change.added.append(place.id) } else { change.replaced.append(place.id) }
          } catch is CancellationError {
            after.tilesets[place.id] = old
          } catch {
            // A bundle that is locked or changes, or one that could not be opened for lack of file descriptors, is
            // tried again although it does not change.
            let code = (error as? BundleError)?.code
            if code != .busy, code != .changed, code != .tooManyOpenFiles { after.broken.insert(place) }
            after.tilesets[place.id] = old
            let failure = Failure(error)
            after.failures[place.id] = failure
            if before.failures[place.id]?.reason != failure.reason { change.failed[place.id] = failure.description }
          }
        }
      }
      if !found.isComplete {
        // Bundles that could not be checked are kept.
        for old in before.ordered where after.tilesets[old.id] == nil { after.tilesets[old.id] = old }
      }
      change.removed = before.ordered.map(\.id).filter { after.tilesets[$0] == nil && after.failures[$0] == nil }
      after.order()
      for (path, reason) in found.refused where before.failures[path] == nil { change.failed[path] = reason }
      contents.withLock { now in
        // Failures that were noted during the scan are kept.
        for (id, failure) in now.failures where before.failures[id]?.reason != failure.reason {
          if let tileset = after.tilesets[id], tileset === before.tilesets[id] { after.failures[id] = failure }
        }
        for id in now.unreported { change.failed[id] = after.failures[id]?.description }
        now = after
      }
      // After the contents: a response from the old contents with the new generation would stay in the cache.
      if !change.isEmpty { changeCount.add(1, ordering: .releasing) }
      for old in before.ordered where after.tilesets[old.id] !== old { old.retire() }
      return change
    }
  }

  /// Tilesets that have files open.
  package var openCount: Int { open.count }

  /// Interrupts what reads and draws, and ends the threads. Tilesets can still be read, but not served.
  public func close() async {
    isClosed.store(true, ordering: .relaxed)
    await work.shutdown()
    for tileset in tilesets { tileset.source.closeIdle() }
  }
}

extension TilesetRegistry {
  /// A tile as stored, for apps that render maps themselves; nil if the tileset has none. Reads on one of the
  /// registry's threads, never on the caller's.
  ///
  /// - Throws: ``ServeError`` with `.unknownTileset`, or `.unavailable` if too many reads wait; `BundleError`.
  public func tile(_ tile: TileID, of id: String) async throws -> Tile? {
    try await reading(id) { tileset in
      let format = try tileset.info().format
      return try tileset.storedTile(tile).map { bytes in
        Tile(bytes: bytes, format: bytes.withUnsafeBytes(TileFormat.init(sniffing:)) ?? format)
      }
    }
  }

  /// Zooms, bounds, format, title and credits of a tileset, without HTTP.
  ///
  /// - Throws: as ``tile(_:of:)``.
  public func info(of id: String) async throws -> TilesetInfo { try await reading(id) { try $0.info() } }

  private func reading<Value: Sendable>(
    _ id: String, _ body: @escaping @Sendable (Tileset) throws -> Value
  ) async throws -> Value {
    let found = look(id)
    guard let tileset = found.tileset else {
      throw found.failure.map { ServeError(.unavailable, "\(id): \($0)") }
        ?? ServeError(.unknownTileset, "there is no tileset \(id)")
    }
    return try await withCheckedThrowingContinuation { continuation in
      let accepted = work.submit(tileset.lane) {
        continuation.resume(
          with: Result {
            do {
              try Cancellation.check()
              return try body(tileset)
            } catch is CancellationError {
              throw ServeError(.unavailable, "\(id): the registry was closed", remedy: "open it again")
            }
          })
      }
      if !accepted {
        continuation.resume(
          throwing: ServeError(.unavailable, "too many reads of \(id) wait", remedy: "ask again later"))
      }
    }
  }
}
