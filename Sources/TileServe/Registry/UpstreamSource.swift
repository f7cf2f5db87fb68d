import Support
import Synchronization
import TileIndex

/// The tileset of another server, by the description in a file. Any tile may take seconds.
final class UpstreamSource: ServedSource {
  private let place: BundlePlaces.Place
  private let work: WorkPool
  private let lane: WorkPool.Lane
  /// Created at the first request.
  private let opened = Mutex<Upstream?>(nil)
  private let initialRevision = SourceRevision.next()

  init(_ place: BundlePlaces.Place, _ work: WorkPool, _ lane: WorkPool.Lane) {
    (self.place, self.work, self.lane) = (place, work, lane)
  }

  var upstream: Upstream? { opened.withLock { $0 } }
  var revision: SourceRevision { upstream?.revision ?? initialRevision }
  /// Does not change with what is fetched.
  var edition: SourceRevision { initialRevision }
  var knownInfo: TilesetInfo? {
    upstream?.knownInfo(id: place.id, modified: place.modified).map(withWarnings)
  }

  func info() throws -> TilesetInfo { withWarnings(try open().info(id: place.id, modified: place.modified)) }

  private func withWarnings(_ info: TilesetInfo) -> TilesetInfo {
    var info = info
    info.warnings += place.warnings
    return info
  }

  func storedTile(_ tile: TileID) throws -> [UInt8]? { try open().tile(tile) }
  func keptTile(_ tile: TileID) throws -> [UInt8]? { try open().keptTile(tile) }
  func fetchAhead(_ tile: TileID) throws -> Int? { try open().fetchAhead(tile) }
  func knowledge(of tile: TileID) throws -> Upstream.Knowledge? { try open().knowledge(of: tile) }
  /// Without the other server its cached tiles are still served.
  func check() throws { _ = try open() }
  /// Its bundle is closed when the last request for it has ended.
  func retire() { opened.withLock { $0 = nil } }

  private func open() throws -> Upstream {
    try opened.withLock { opened in
      if let opened { return opened }
      let path = place.path
      do {
        let bytes = try FileSystem.bytes(of: path, countMax: 1 << 20)
        let new = try Upstream(UpstreamSettings(bytes, path: path)) { [work, lane] refresh in
          work.submit(lane, urgency: .later, refresh)
        }
        opened = new
        return new
      } catch let error as FileSystem.SystemError {
        throw ServeError(
          .unavailable, "\(Folder.name(path)): cannot be read: \(error)", remedy: error.openingRemedy)
      } catch let error as ServeError where error.code == .invalidOption {
        // Clients are told what is wrong, without paths.
        throw ServeError(
          .unavailable, "\(Folder.name(path)): \(error.message)", remedy: error.remedy)
      }
    }
  }
}
