import NIOCore
import Support

/// What the connections of one event loop share. Used on that loop only.
final class LoopState {
  let limits: ConnectionLimits
  let shard: Metrics.Shard
  let accessLog: AccessLog?
  private(set) var isDraining = false
  /// Nil if it is switched off.
  let fastPath: FastPath.Loop?
  private var unfinished = Queue<ConnectionHandler>()
  private var hasTurnScheduled = false
  private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
  private var dateSecond = -1
  private var dateText = ""
  private var dateBytes: [UInt8] = []

  init(limits: ConnectionLimits, shard: Metrics.Shard, accessLog: AccessLog?, fastPath: FastPath.Loop?) {
    self.limits = limits
    self.shard = shard
    self.accessLog = accessLog
    self.fastPath = fastPath
  }

  var connectionCount: Int { connections.count }

  func insert(_ connection: ConnectionHandler) {
    connections[ObjectIdentifier(connection)] = connection
    shard.opened()
  }

  func remove(_ connection: ConnectionHandler) {
    if connections.removeValue(forKey: ObjectIdentifier(connection)) != nil { shard.closed() }
  }

  /// Lets a connection with more requests than one turn answers go on after the others. The event loop reads what has
  /// arrived for all before the next few of them.
  func wait(forTurnOf connection: ConnectionHandler, _ eventLoop: any EventLoop) {
    unfinished.append(connection)
    if !hasTurnScheduled { scheduleTurns(eventLoop) }
  }

  private func scheduleTurns(_ eventLoop: any EventLoop) {
    hasTurnScheduled = true
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    // Later than now: tasks that are due are run before input is read, also those that they submit.
    eventLoop.scheduleTask(in: .microseconds(100)) {
      let loop = bound.value
      for _ in 0..<min(Self.turnsMax, loop.unfinished.count) { loop.unfinished.popFirst()?.takeTurn() }
      loop.hasTurnScheduled = false
      if !loop.unfinished.isEmpty { loop.scheduleTurns(eventLoop) }
    }
  }

  private static let turnsMax = 2

  /// Closes the connection that has been idle longest; false if none is idle.
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

  /// Closes connections that have exceeded their limits. Called every second.
  func tick() {
    let now = NIODeadline.now()
    // A copy, because connections are removed during the iteration.
    for connection in Array(connections.values) { connection.tick(now: now) }
  }

  /// From now on every response is its connection's last.
  func leave() { isDraining = true }

  /// Closes idle connections too.
  func drain() {
    leave()
    for connection in Array(connections.values) { connection.drain() }
  }

  /// Ends what ``drain()`` began.
  func stopDraining() { isDraining = false }

  /// Answers what is in progress with 503, and closes all other connections.
  func refuseAll() {
    for connection in Array(connections.values) { connection.refuse() }
  }

  func dropAll() {
    for connection in Array(connections.values) { connection.drop() }
  }

  /// The value of the Date field; computed once a second.
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
