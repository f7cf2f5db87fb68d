import NIOCore
import Synchronization

/// The connections that are open, so that they can be ended when their time is over.
final class OpenConnections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func insert(_ channel: any Channel) { channels.withLock { $0[ObjectIdentifier(channel)] = channel } }
  func remove(_ channel: any Channel) { channels.withLock { $0[ObjectIdentifier(channel)] = nil } }

  /// Ends all of them; returns how many there were.
  func closeAll() -> Int {
    let all = channels.withLock { Array($0.values) }
    for channel in all { channel.close(mode: .all, promise: nil) }
    return all.count
  }
}
