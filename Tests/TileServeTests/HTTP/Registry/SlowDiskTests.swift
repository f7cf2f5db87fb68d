import Foundation
import TestSupport
import Testing

@testable import TileServe

/// A hanging read delays only its own tileset. Blocked threads simulate a disk that does not answer.
@Suite(.ownThread) struct SlowDiskTests {
  @Test func hangingTilesetDelaysNoOther() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let gate = Gate()
      defer { gate.open() }
      let lane = try #require(served.registry["photo"]).lane
      for _ in 0..<100 { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      let waiting = try (0..<20).map { _ in try served.connect() }
      for connection in waiting { try connection.send(HTTPConnection.head("/photo/0/0/0.jpg")) }
      for index in 0..<30 {
        // Opening, reading and rendering all need threads.
        #expect(try served.get("/relief/1/0/0.png").status == 200)
        #expect(try served.get("/labels/1/0/0.\(index % 2 == 0 ? "webp" : "jpg")").status == 200)
        #expect(try served.get("/health").status == 200)
      }
      gate.open()
      for connection in waiting { #expect(try connection.response().status == 200) }
    }
  }

  /// A composite waits for its slowest layer; requests for single layers do not wait for it.
  @Test func hangingCompositeDelaysNoneOfItsLayers() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let gate = Gate()
      defer { gate.open() }
      let lane = try #require(served.registry["relief"]).compositeLane
      for _ in 0..<10 { #expect(served.registry.work.submit(lane) { gate.wait() }) }
      let waiting = try served.connect()
      try waiting.send(HTTPConnection.head("/relief,labels/1/0/0.png"))
      for _ in 0..<10 {
        #expect(try served.get("/relief/1/0/0.jpg").status == 200)
        #expect(try served.get("/photo,labels/1/0/0.png").status == 200)
      }
      gate.open()
      #expect(try waiting.response().status == 200)
    }
  }

  /// Requests beyond a lane's queue are rejected at once.
  @Test func tooManyWaitingRequestsAreRejected() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let gate = Gate()
      defer { gate.open() }
      let lane = try #require(served.registry["photo"]).lane
      // First the hanging ones, then the queue behind them.
      let running = Locked(0)
      for _ in 0..<WorkPool.laneWidth {
        #expect(
          served.registry.work.submit(lane) {
            running.withLock { $0 += 1 }
            gate.wait()
          })
      }
      #expect(eventually { running.withLock { $0 } == WorkPool.laneWidth })
      var count = 0
      while count < 5000, served.registry.work.submit(lane, { gate.wait() }) { count += 1 }
      #expect(count == WorkPool.waitingCountMax)
      let response = try served.get("/photo/0/0/0.jpg")
      #expect(response.status == 503 && response["Retry-After"] != nil, "\(response)")
      #expect(try served.get("/relief/0/0/0.png").status == 200)
      gate.open()
      #expect(try eventually { try served.get("/photo/0/0/0.jpg").status == 200 })
    }
  }

  @Test func lanesAndGroupsKeepTheirThreadLimits() async throws {
    let pool = WorkPool()
    struct Counts { var now = 0, most = 0, done = 0 }
    let total = Locked(Counts())
    let perLane = (0..<4).map { _ in Locked(Counts()) }
    let lanes = (0..<4).map { _ in pool.lane(device: 7) }
    var random = SeededGenerator(seed: 5)
    for _ in 0..<400 {
      let index = Int.random(in: 0..<4, using: &random)
      let pause = Double.random(in: 0...0.001, using: &random)
      let counts = perLane[index]
      #expect(
        pool.submit(lanes[index]) {
          counts.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
          }
          total.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
          }
          Thread.sleep(forTimeInterval: pause)
          total.withLock {
            $0.now -= 1
            $0.done += 1
          }
          counts.withLock { $0.now -= 1 }
        })
    }
    #expect(try await onThread { eventually { total.withLock { $0.done } == 400 } })
    #expect(total.withLock { $0.most } <= WorkPool.groupWidth)
    for counts in perLane { #expect((1...WorkPool.laneWidth).contains(counts.withLock { $0.most })) }
    await pool.shutdown()
  }

  /// A long queue of one lane does not delay another lane.
  @Test func lanesTakeTurns() async throws {
    let pool = WorkPool()
    let lanes = (0..<6).map { _ in pool.lane(device: 1) }
    let order = Locked<[Int]>([])
    // All threads of the disk are blocked while the queues fill, and then all but one, so that the order is defined.
    let fillers = (0..<WorkPool.groupWidth).map { _ in (lane: pool.lane(device: 1), gate: Gate()) }
    defer { for filler in fillers { filler.gate.open() } }
    for filler in fillers { #expect(pool.submit(filler.lane) { filler.gate.wait() }) }
    for _ in 0..<500 { #expect(pool.submit(lanes[0]) { order.withLock { $0.append(0) } }) }
    for index in 1..<6 { #expect(pool.submit(lanes[index]) { order.withLock { $0.append(index) } }) }
    fillers[0].gate.open()
    #expect(try await onThread { eventually { order.withLock { $0.count } == 505 } })
    let places = order.withLock { order in (1..<6).compactMap { order.firstIndex(of: $0) } }
    #expect(places.count == 5 && places.allSatisfy { $0 < 60 }, "\(places)")
    for filler in fillers { filler.gate.open() }
    await pool.shutdown()
  }

  /// A hanging disk takes no thread from another disk.
  @Test func disksAreIndependent() async throws {
    let pool = WorkPool()
    let gate = Gate()
    defer { gate.open() }
    for device in UInt64(1)...3 {
      for _ in 0..<4 {
        let lane = pool.lane(device: device)
        for _ in 0..<10 { #expect(pool.submit(lane) { gate.wait() }) }
      }
    }
    let done = Locked(0)
    for _ in 0..<50 { #expect(pool.submit(pool.lane(device: 4)) { done.withLock { $0 += 1 } }) }
    #expect(try await onThread { eventually { done.withLock { $0 } == 50 } })
    gate.open()
    await pool.shutdown()
  }
}
