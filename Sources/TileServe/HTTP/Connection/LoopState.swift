import NIOCore

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
  private var answersInTurn = 0
  private var yieldsAgain = NIODeadline.uptimeNanoseconds(0)
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
  ///
  /// With those a loop that is always asked for more would never wait for anything, and keep its processor until the system takes it away after milliseconds.
  /// The clients are on the same machine as a rule: what they were sent is in the processor's cache if they get it now.
  func tookTurn() {
    answersInTurn += 1
    guard answersInTurn >= Self.answersInTurnMax else { return }
    answersInTurn = 0
    let start = NIODeadline.now()
    guard start >= yieldsAgain else { return }
    sched_yield()
    // Clients read what there is and wait for more. Whoever stays longer has work of its own, and would be given every turn to its end.
    if NIODeadline.now() - start > Self.clientsTurnMax { yieldsAgain = start + Self.yieldPause }
  }

  /// Fewer cost requests a second, more make the slowest ones slower (docs/performance.md).
  private static let answersInTurnMax = 32
  private static let clientsTurnMax = TimeAmount.milliseconds(2)
  private static let yieldPause = TimeAmount.milliseconds(100)

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
