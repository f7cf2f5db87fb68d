import Dispatch
import Support
import Synchronization
import TileIndex

/// A tileset of another server (an upstream), cached in a bundle: a fetched tile is served from there, also
/// without a network.
///
/// 1. Outside the zooms and bounds of its description no tile exists.
/// 2. A fresh cached tile is served.
/// 3. A stale cached tile is served too, and revalidated in the background.
/// 4. Other tiles are fetched, stored and served; concurrent requests for one tile share one fetch.
final class Upstream: Sendable {
  let settings: UpstreamSettings
  let bundle: UpstreamTileStore
  let client: UpstreamClient
  let archive: RemoteArchive?
  /// With the number of changes: facts that were read before a change are not stored after it.
  let knownFacts = Mutex<(facts: Facts?, changeCount: Int)>((nil, 0))
  private let pending = Mutex<[TileID: Fetch]>([:])
  /// What the last answer with a tile allows clients, and the last one without.
  private let allowed = Mutex((tile: ClientCaching.usual, missing: ClientCaching.usual))

  /// What clients are told of tiles, or of those that do not exist.
  func clientCaching(missing: Bool) -> ClientCaching { allowed.withLock { missing ? $0.missing : $0.tile } }

  private func note(_ caching: ClientCaching, missing: Bool) {
    allowed.withLock { if missing { $0.missing = caching } else { $0.tile = caching } }
  }
  /// Submits background work of low priority; false if too much waits.
  private let later: @Sendable (@escaping @Sendable () -> Void) -> Bool
  private let change = Mutex((revision: SourceRevision.next(), renewed: MonotonicClock.seconds, seconds: 0))

  /// A request in flight that others wait for.
  private struct Fetch {
    let answer = Pending<[UInt8]?>()
    /// False for a prefetch, which is given up if it would have to wait for the upstream's rate limit.
    let isPatient = UpstreamClient.isPatient
  }

  /// Opens the bundle; sends no request.
  ///
  /// - Throws: `BundleError`.
  init(
    _ settings: UpstreamSettings, later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Bool
  ) throws {
    self.settings = settings
    self.later = later
    client = UpstreamClient(settings)
    if case .archive(let address) = settings.address { archive = RemoteArchive(client, address) } else { archive = nil }
    bundle = try UpstreamTileStore(
      path: settings.file, metadata: Self.metadata(settings), byteCountMax: settings.fileBytesMax,
      whenFull: settings.whenFull)
  }

  /// Changes whenever a served tile changed, and every five minutes: tiles rendered from it are then rendered again,
  /// and stale ones are found.
  var revision: SourceRevision {
    let now = MonotonicClock.seconds
    return change.withLock { change in
      if now - change.renewed >= Self.revisionSeconds { (change.revision, change.renewed) = (.next(), now) }
      return change.revision
    }
  }
  private static let revisionSeconds = 300.0
  /// When it last changed, in seconds since 1970; 0 for never.
  var changed: Int { change.withLock { $0.seconds } }

  /// A tile's bytes; nil when there is none.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` if it is not cached and cannot be fetched now; `BundleError`.
  func tile(_ tile: TileID) throws -> [UInt8]? {
    guard try covers(tile) else { return nil }
    let now = WallClock.seconds
    if let kept = try stored(tile) {
      // A clock that was set back must not make everything fresh for years.
      note(ClientCaching(kept.state), missing: kept.bytes == nil)
      if now >= kept.state.expires || kept.state.fetched > now + 86_400 { refreshLater(tile) }
      return kept.bytes
    }
    return try fetch(tile)
  }

  /// A tile's bytes if they are cached, fresh or stale; sends no request.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` if nothing is known of the tileset; `BundleError`.
  func keptTile(_ tile: TileID) throws -> [UInt8]? {
    try covers(tile) ? try stored(tile)?.bytes : nil
  }

  /// Prefetches a tile unless it is cached.
  ///
  /// - Returns: the bytes of the fetched tile; 0 if it is known already or does not exist; nil if it cannot be fetched
  ///   now, the description does not allow it, or it has to wait for more requests: on a metered upstream, prefetched
  ///   bytes are at most half of the requested ones.
  func fetchAhead(_ tile: TileID) throws -> Int? {
    guard try covers(tile), try stored(tile) == nil else { return 0 }
    guard settings.fetchesAhead, !client.isAway else { return nil }
    let counts = client.counts
    var reserved = 0
    if settings.isMetered {
      // For an archive a part of the directory may be needed before the tile.
      guard let bytes = counts.reserveAhead(bodyCount: archive == nil ? 1 : 2) else { return nil }
      reserved = bytes
    }
    defer { counts.releaseAhead(reserved) }
    return try UpstreamCounts.$isAhead.withValue(true) {
      try UpstreamClient.$isPatient.withValue(false) { try fetch(tile)?.count ?? 0 }
    }
  }

  /// What is known locally of a tile.
  enum Knowledge {
    case tile([UInt8])
    case none
    /// Only the upstream knows.
    case unknown
  }

  /// What is known of a tile; sends no request, now or later.
  ///
  /// - Throws: ``ServeError`` with `.unavailable` if nothing is known of the tileset; `BundleError`.
  func knowledge(of tile: TileID) throws -> Knowledge {
    guard try covers(tile) else { return .none }
    guard let found = try stored(tile) else { return .unknown }
    return found.bytes.map { .tile($0) } ?? .none
  }

  /// What is stored of a tile. A part of a picture, which other programs may have stored, counts as
  /// nothing: the tile is fetched again.
  private func stored(_ tile: TileID) throws -> UpstreamTileStore.Found? {
    guard let found = try bundle.find(tile, now: WallClock.seconds) else { return nil }
    let isWhole = found.bytes?.withUnsafeBytes { WholeTile.isWhole($0, expecting: settings.format) } ?? true
    return isWhole ? found : nil
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

  /// Requests a tile from the server, or waits for a request in flight.
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
        // The other request may have been given up because it could not begin at once.
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
        let known = try stored(tile)
        let news: UpstreamNews
        if let archive {
          news = try archive.news(tile, known, settings, adopt)
        } else {
          news = try client.news(tile, known)
        }
        switch news {
        case .unchanged(let expires):
          note(ClientCaching(seconds: expires - WallClock.seconds), missing: false)
          try? bundle.refresh(tile, fetched: WallClock.seconds, expires: expires)
          return known?.bytes
        case .tile(let bytes, let state, let identity, let mayBeKept):
          note(mayBeKept ? ClientCaching(state) : .none, missing: bytes == nil)
          guard mayBeKept else { return bytes }
          do {
            if try !bundle.store(tile, bytes, state, of: identity) { client.counts.couldNotKeep() }
          } catch is UpstreamTileStore.ArchiveReplaced {
            if let identity { archive?.forget(archive: identity) }
            continue
          } catch {
            // A tile that cannot be stored can still be served.
            client.counts.couldNotKeep()
          }
          if let known, known.bytes != bytes { noteChange() }
          return bytes
        }
      }
      throw UpstreamFailure(.invalid, "replaces its archive all the time")
    } catch let failure as UpstreamFailure {
      // The cached tile stays in use while the upstream fails. It is looked up again, since it may have belonged to an
      // archive that was replaced.
      if let known = try stored(tile) { return known.bytes }
      throw failure.error(settings.host)
    }
  }

  private static let attemptsMax = 3

  /// Ties the bundle to this archive. A failure is a failed read: tiles of two archives are never mixed.
  func adopt(_ file: RemoteFile) throws {
    guard try bundle.adopt(archive: file.identity) else { return }
    knownFacts.withLock { $0 = (nil, $0.changeCount + 1) }
    noteChange()
  }

  private func noteChange() {
    change.withLock { $0 = (SourceRevision.next(), MonotonicClock.seconds, WallClock.seconds) }
  }
}

/// What an upstream's answers allow clients of this server. A server that wants each use checked, or its answers not
/// kept, wants that of them too.
enum ClientCaching: Int {
  /// As the server's settings say.
  case usual
  case revalidated
  case none

  /// - Parameter seconds: how long the answer is fresh.
  init(seconds: Int) { self = seconds <= Freshness.secondsMin ? .revalidated : .usual }

  init(_ state: UpstreamTileStore.State) { self.init(seconds: state.expires - state.fetched) }

  /// The value of Cache-Control; nil for that of the settings.
  var field: String? {
    switch self {
    case .usual: nil
    case .revalidated: "no-cache"
    case .none: "no-store"
    }
  }
}

/// A result that one thread computes and others wait for.
final class Pending<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  /// Held until the result is set: all waiting threads are released at once.
  private let group = DispatchGroup()

  init() { group.enter() }

  /// Sets the result, once.
  func finish(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    group.leave()
  }

  /// Blocks until the result is set.
  func wait() throws -> Value {
    group.wait()
    return try result.withLock { $0! }.get()
  }
}
