import Support
import Synchronization
import TileIndex

/// A PMTiles archive on a web server: its directories are read in parts as they are needed, and kept in memory.
final class RemoteArchive: Sendable {
  private let client: UpstreamClient
  private let address: HTTPAddress
  private let file = Mutex<RemoteFile?>(nil)
  /// One at a time finds out what there is.
  private let opening = Mutex(())
  /// When the archive was last looked at, in seconds since 1970.
  private let seen = Mutex(0)

  init(_ client: UpstreamClient, _ address: HTTPAddress) { (self.client, self.address) = (client, address) }

  /// Is told which file the archive is before anything is read from it.
  typealias Adoption = (RemoteFile) throws -> Void

  /// Reads from the archive as it is now; opens it again when it was replaced.
  func reading<Result>(
    _ adopt: Adoption, _ body: (PMTilesReader, RemoteFile) throws -> Result
  ) throws -> Result {
    for attempt in 0... {
      let file = try current(adopt)
      do {
        return try body(try PMTilesReader(name: settingsName, RemoteBytes(file: file)), file)
      } catch is RemoteFile.Replaced where attempt < 2 {
        forget(file)
      } catch is RemoteFile.Replaced {
        throw UpstreamFailure(.invalid, "replaces its archive all the time")
      } catch let error as BundleError {
        client.counts.add(.invalid)
        throw UpstreamFailure(.invalid, "has an archive that cannot be read: \(error.message)")
      }
    }
    preconditionFailure("unreachable")
  }

  /// What the archive says of a tile.
  func news(
    _ tile: TileID, _ known: GrowingBundle.Found?, _ settings: UpstreamSettings, _ adopt: Adoption
  ) throws -> UpstreamNews {
    if known != nil { try lookAgain(settings, adopt) }
    return try reading(adopt) { reader, file in
      let now = WallClock.seconds
      if let known, !file.entityTag.isEmpty, known.state.entityTag == file.entityTag {
        client.counts.add(.unchanged)
        return .unchanged(expires: now + settings.freshSeconds)
      }
      let bytes = try reader.tile(tile)
      if bytes == nil { client.counts.add(.missing) }
      let seconds = bytes == nil ? settings.missingSeconds : settings.freshSeconds
      let state = GrowingBundle.State(fetched: now, expires: now + seconds, entityTag: file.entityTag)
      return .tile(bytes, state, archive: file.identity)
    }
  }

  private var settingsName: String { client.settings.host }

  private func current(_ adopt: Adoption) throws -> RemoteFile {
    if let known = file.withLock({ $0 }) { return known }
    return try opening.withLock { _ in
      if let known = file.withLock({ $0 }) { return known }
      let opened = try RemoteFile(client, address)
      try adopt(opened)
      file.withLock { $0 = opened }
      seen.withLock { $0 = WallClock.seconds }
      return opened
    }
  }

  private func forget(_ old: RemoteFile) {
    file.withLock { if $0 === old { $0 = nil } }
  }

  /// Opens the archive again when it is next read, unless it is another by now.
  func forget(archive identity: String) {
    file.withLock { if $0?.identity == identity { $0 = nil } }
  }

  /// A tile is asked for anew because it may have changed: so may the archive, which is looked at anew at most once in the time that tiles are fresh.
  private func lookAgain(_ settings: UpstreamSettings, _ adopt: Adoption) throws {
    let now = WallClock.seconds
    let isDue = seen.withLock { seen in
      guard now - seen >= max(min(settings.freshSeconds, settings.missingSeconds), 1) else { return false }
      seen = now
      return true
    }
    guard isDue, let old = file.withLock({ $0 }) else { return }
    let new = try RemoteFile(client, address)
    // What was read of a file without a name may have changed in its middle.
    if new.identity != old.identity || new.entityTag.isEmpty {
      try adopt(new)
      file.withLock { $0 = new }
    }
  }
}
