import NIOCore
import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What the connections of one event loop share. Used on that loop only.
final class LoopState {
  let limits: ConnectionLimits
  let shard: Metrics.Shard
  let accessLog: AccessLog?
  private(set) var isDraining = false
  /// Where bodies are read that are too large to keep: one has been sent, as a rule, when the next comes, and its memory is still in the processor's cache.
  var room = ByteBuffer()
  let pages = PagePipe()
  private var turns = TurnTaking()
  private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
  private var dateSecond = -1
  private var dateText = ""
  private var dateBytes: [UInt8] = []

  init(limits: ConnectionLimits, shard: Metrics.Shard, accessLog: AccessLog?) {
    self.limits = limits
    self.shard = shard
    self.accessLog = accessLog
  }

  var connectionCount: Int { connections.count }

  func insert(_ connection: ConnectionHandler) {
    connections[ObjectIdentifier(connection)] = connection
    shard.opened()
  }

  func remove(_ connection: ConnectionHandler) {
    if connections.removeValue(forKey: ObjectIdentifier(connection)) != nil { shard.closed() }
  }

  /// Ends the connection that has been idle longest; false when none is.
  func makeRoom() -> Bool {
    var oldest: (connection: ConnectionHandler, since: NIODeadline)?
    for connection in connections.values {
      guard let since = connection.idleSince else { continue }
      if let known = oldest, known.since <= since { continue }
      oldest = (connection, since)
    }
    oldest?.connection.drop()
    return oldest != nil
  }

  /// Ends what has outlived its time. Called every second.
  func tick() {
    let now = NIODeadline.now()
    // A copy: connections leave while they are looked at.
    for connection in Array(connections.values) { connection.tick(now: now) }
  }

  /// Called after each answer that was ready and went straight to the system.
  func tookTurn() {
    guard turns.answered() else { return }
    let start = NIODeadline.now()
    sched_yield()
    turns.gaveTurn(at: start, until: .now())
  }

  /// From now on every answer is its connection's last.
  func drain() {
    isDraining = true
    for connection in Array(connections.values) { connection.drain() }
  }

  func dropAll() {
    for connection in Array(connections.values) { connection.drop() }
  }

  /// The moment, as the Date field wants it; made once a second.
  func date() -> String {
    makeDate()
    return dateText
  }

  /// The same as bytes.
  func dateField() -> [UInt8] {
    makeDate()
    return dateBytes
  }

  private func makeDate() {
    let second = WallClock.seconds
    guard second != dateSecond else { return }
    dateSecond = second
    dateText = HTTPDate.text(second)
    dateBytes = Array(dateText.utf8)
  }
}
