import Support
import Synchronization
import TileIndex

/// A tileset of another server, kept here as a bundle that grows: what came once is served from then on, also without a network.
///
/// 1. Outside the zooms and bounds of its description there is nothing. 2. What is kept and fresh is handed out. 3. What is kept and no longer fresh is
/// handed out too, and asked for anew in the background. 4. The rest is fetched, kept, handed out; several who want the same tile wait for one request.
final class Upstream: Sendable {
  let settings: UpstreamSettings
  let bundle: GrowingBundle
  let client: UpstreamClient
  let archive: RemoteArchive?
  /// And how often they were found to have changed: what was read before that is not noted after it.
  let knownFacts = Mutex<(facts: Facts?, changeCount: Int)>((nil, 0))
  private let pending = Mutex<[TileID: Fetch]>([:])
  /// Has work done in the background when there is nothing better to do; false when too much waits.
  private let later: @Sendable (@escaping @Sendable () -> Void) -> Bool
  private let change = Mutex((revision: SourceRevision.next(), renewed: MonotonicClock.seconds, seconds: 0))

  /// A request under way that others wait for.
  private struct Fetch {
    let answer = Pending<[UInt8]?>()
    /// False for one that is given up where somebody who wants the tile would wait for the upstream's next free moment.
    let isPatient = UpstreamClient.isPatient
  }

  /// Larger answers are no tiles.
  static let tileBytesMax = 8 << 20

  /// Opens the bundle; asks nobody.
  ///
  /// - Throws: `BundleError`.
  init(
    _ settings: UpstreamSettings, later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool
  ) throws {
    self.settings = settings
    self.later = later
    client = UpstreamClient(settings)
    if case .archive(let address) = settings.address { archive = RemoteArchive(client, address) } else { archive = nil }
    bundle = try GrowingBundle(
      path: settings.file, metadata: Self.metadata(settings), byteCountMax: settings.fileBytesMax,
      whenFull: settings.whenFull)
  }

  /// Another one whenever a tile that was handed out became another, and every five minutes: what was drawn from tiles is then drawn anew, and it is seen
  /// which of them are no longer fresh.
  var revision: SourceRevision {
    let now = MonotonicClock.seconds
    return change.withLock { change in
      if now - change.renewed >= Self.revisionSeconds { (change.revision, change.renewed) = (.next(), now) }
      return change.revision
    }
  }
  private static let revisionSeconds = 300.0
  /// When that was, in seconds since 1970; 0 for never.
  var changed: Int { change.withLock { $0.seconds } }

  /// A tile's bytes; nil when there is none.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` when it is not kept and cannot be had now; `BundleError`.
  func tile(_ tile: TileID) throws -> [UInt8]? {
    guard try covers(tile) else { return nil }
    let now = WallClock.seconds
    if let kept = try bundle.find(tile, now: now) {
      // A clock that was set back must not make everything fresh for years.
      if now >= kept.state.expires || kept.state.fetched > now + 86_400 { refreshLater(tile) }
      return kept.bytes
    }
    return try fetch(tile)
  }

  /// A tile's bytes when they are kept, fresh or not; asks nobody.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` when nothing is known of the tileset; `BundleError`.
  func keptTile(_ tile: TileID) throws -> [UInt8]? {
    try covers(tile) ? try bundle.find(tile, now: WallClock.seconds)?.bytes : nil
  }

  /// Fetches a tile that nobody has asked for yet, unless it is kept.
  ///
  /// - Returns: the bytes of the tile that came; 0 when it is known already, or there is none; nil when it cannot be had now, the description does not allow it, or it has to wait
  ///   until more was asked for: where bytes cost, what comes ahead is at most half of that, 1.5 times the bytes in all.
  func fetchAhead(_ tile: TileID) throws -> Int? {
    guard try covers(tile), try bundle.find(tile, now: WallClock.seconds) == nil else { return 0 }
    guard settings.fetchesAhead, !client.isAway else { return nil }
    let counts = client.counts
    var reserved = 0
    if settings.isMetered {
      // Of an archive a part of the directory may have to come before the tile.
      guard let bytes = counts.reserveAhead(bodyCount: archive == nil ? 1 : 2) else { return nil }
      reserved = bytes
    }
    defer { counts.releaseAhead(reserved) }
    return try UpstreamCounts.$isAhead.withValue(true) {
      try UpstreamClient.$isPatient.withValue(false) { try fetch(tile)?.count ?? 0 }
    }
  }

  /// What is known here of a tile.
  enum Knowledge {
    case tile([UInt8])
    case none
    /// The server would have to be asked.
    case unknown
  }

  /// What is known of a tile; asks nobody for it, now or later.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` when nothing is known of the tileset; `BundleError`.
  func knowledge(of tile: TileID) throws -> Knowledge {
    guard try covers(tile) else { return .none }
    guard let found = try bundle.find(tile, now: WallClock.seconds) else { return .unknown }
    return found.bytes.map { .tile($0) } ?? .none
  }

  private func covers(_ tile: TileID) throws -> Bool {
    guard let zooms = try zooms(), zooms.contains(tile.zoom) else { return false }
    guard let bounds = settings.bounds else { return true }
    return TileMatrixSet.webMercatorQuad.geographicBounds(of: tile).intersection(bounds) != nil
  }

  /// The zooms of the description; otherwise those of the archive.
  private func zooms() throws -> ClosedRange<Int>? { try settings.zooms ?? facts().zooms }

  private func refreshLater(_ tile: TileID) {
    guard !client.isAway, pending.withLock({ $0[tile] == nil }) else { return }
    _ = later { UpstreamClient.$isPatient.withValue(false) { _ = try? self.fetch(tile) } }
  }

  /// Asks the server for a tile, or waits for who asks already.
  private func fetch(_ tile: TileID) throws -> [UInt8]? {
    let own = Fetch()
    while true {
      let other = pending.withLock { pending -> Fetch? in
        if let other = pending[tile] { return other }
        pending[tile] = own
        return nil
      }
      guard let other else { break }
      do {
        return try other.answer.wait()
      } catch  where own.isPatient && !other.isPatient {
        // It may have been given up only because it could not begin at once.
      }
    }
    let result = Result { try exchange(tile) }
    pending.withLock { _ = $0.removeValue(forKey: tile) }
    own.answer.finish(result)
    return try result.get()
  }

  private func exchange(_ tile: TileID) throws -> [UInt8]? {
    do {
      for _ in 0..<Self.attemptsMax {
        let known = try bundle.find(tile, now: WallClock.seconds)
        let news: UpstreamNews
        if let archive {
          news = try archive.news(tile, known, settings, adopt)
        } else {
          news = try client.news(tile, known)
        }
        switch news {
        case .unchanged(let expires):
          try? bundle.refresh(tile, fetched: WallClock.seconds, expires: expires)
          return known?.bytes
        case .tile(let bytes, let state, let identity):
          do {
            if try !bundle.store(tile, bytes, state, of: identity) { client.counts.couldNotKeep() }
          } catch is GrowingBundle.ArchiveReplaced {
            if let identity { archive?.forget(archive: identity) }
            continue
          } catch {
            // A tile that cannot be kept can be shown all the same.
            client.counts.couldNotKeep()
          }
          if let known, known.bytes != bytes { noteChange() }
          return bytes
        }
      }
      throw UpstreamFailure(.invalid, "replaces its archive all the time")
    } catch let failure as UpstreamFailure {
      // What is known stays good while nobody can say better: looked up again, since it may have been of an archive that is no more.
      if let known = try bundle.find(tile, now: WallClock.seconds) { return known.bytes }
      throw failure.error(settings.host)
    }
  }

  private static let attemptsMax = 3

  /// Makes the bundle one of this archive. A failure to do so is one to read: better no tile than tiles of two archives.
  func adopt(_ file: RemoteFile) throws {
    guard try bundle.adopt(archive: file.identity, entityTag: file.entityTag) else { return }
    knownFacts.withLock { $0 = (nil, $0.changeCount + 1) }
    noteChange()
  }

  private func noteChange() {
    change.withLock { $0 = (SourceRevision.next(), MonotonicClock.seconds, WallClock.seconds) }
  }
}

/// What a server says of a tile.
enum UpstreamNews {
  /// What is kept is still right, and fresh until then.
  case unchanged(expires: Int)
  /// Nil: there is no such tile. With the archive that says so, where it is one.
  case tile([UInt8]?, GrowingBundle.State, archive: String?)
}
