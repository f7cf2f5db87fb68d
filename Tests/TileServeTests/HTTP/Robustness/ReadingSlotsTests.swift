import Support
import TestSupport
import Testing

@testable import TileServe

/// A tileset that never answers holds a quarter of its disk's threads, also as a layer of composites.
@Suite(.ownThread) struct ReadingSlotsTests {
  private let pool = WorkPool()
  private let slots = ReadingSlots(count: WorkPool.laneWidth)
  private let gate = Gate()
  private let readCount = Locked(0)

  /// Starts requests that read behind the gate, each two in a lane of their own.
  private func start(_ count: Int, of cancellations: [Cancellation]? = nil) {
    var lane = pool.lane(device: 1)
    for number in 0..<count {
      if number % 2 == 0 { lane = pool.lane(device: 1) }
      let cancellation = cancellations?[number] ?? pool.cancellation()
      let accepted = pool.submit(lane, request: cancellation) { [slots, gate, readCount] in
        guard !cancellation.isCancelled else { return }
        try ReadingSlots.puttingAside {
          try slots.reading {
            gate.wait()
            readCount.withLock { $0 += 1 }
          }
        }
      }
      #expect(accepted)
    }
  }

  private func expectRest() {
    #expect(eventually { pool.urgentCount == 0 && slots.asideCount == 0 })
  }

  @Test func otherTilesetsOfTheDiskAreRead() async throws {
    start(4 * WorkPool.groupWidth)
    let waiting = 4 * WorkPool.groupWidth - WorkPool.laneWidth
    #expect(eventually { slots.asideCount == waiting && pool.urgentCount == WorkPool.laneWidth })
    let isDone = Locked(false)
    #expect(pool.submit(pool.lane(device: 1)) { isDone.withLock { $0 = true } })
    #expect(eventually { isDone.withLock { $0 } })
    #expect(slots.asideCount == waiting && readCount.withLock { $0 } == 0)
    gate.open()
    #expect(eventually { readCount.withLock { $0 } == 4 * WorkPool.groupWidth })
    expectRest()
    await pool.shutdown()
  }

  /// What was put aside may need the tileset no more: others get its slot.
  @Test func slotsAreHandedOn() async throws {
    let cancellations = (0..<20).map { _ in pool.cancellation() }
    start(20, of: cancellations)
    #expect(eventually { slots.asideCount == 20 - WorkPool.laneWidth })
    for (number, cancellation) in cancellations.enumerated() where number % 3 != 0 { cancellation.cancel() }
    gate.open()
    expectRest()
    #expect((7...9).contains(readCount.withLock { $0 }))
    await pool.shutdown()
  }

  @Test func allEndWithThePool() async throws {
    start(20)
    #expect(eventually { slots.asideCount == 20 - WorkPool.laneWidth })
    let end = Task { await pool.shutdown() }
    #expect(eventually { pool.cancellation().isCancelled })
    gate.open()
    await end.value
    #expect(readCount.withLock { $0 } == WorkPool.laneWidth && slots.asideCount == 0)
  }

  /// All reads for one tile have one slot, until the last.
  @Test func slotsAreHeldForSeveralReads() throws {
    let one = ReadingSlots(count: 1)
    func isCrowded() -> Bool {
      do {
        try ReadingSlots.puttingAside { try one.reading {} }
        return false
      } catch {
        return true
      }
    }
    try ReadingSlots.puttingAside {
      try ReadingSlots.holding {
        for _ in 0..<3 { try one.reading {} }
        // As another thread would find it.
        #expect(ReadingSlots.holding { isCrowded() })
      }
      #expect(!isCrowded())
      try one.reading { #expect(isCrowded()) }
    }
    // Work that is never put aside.
    try one.reading { try one.reading {} }
    #expect(!isCrowded())
  }

  /// Other work reads a bundle when the time of a shutdown is over: the requests that were put aside for it are
  /// answered. Opening the bundle for a list needs no slot that others could have.
  @Test func requestsThatWereAsideAreAnsweredAtTheEnd() async throws {
    let folder = try TemporaryFolder()
    for name in ["a", "b"] { try folder.writeSingleTile("\(name).mbtiles", SampleTiles.image(1)) }
    let (gate, heldCount) = (gate, Locked(0))
    try await serving([folder.path]) {
      $0.limits.drainSeconds = 1
    } _: { (served) async throws in
      defer { gate.open() }
      let (tileset, work) = (try #require(served.registry["b"]), served.registry.work)
      let slots = tileset.bundle!.slots
      for _ in 0..<WorkPool.laneWidth {
        let accepted = work.submit(work.lane(device: 9)) {
          try slots.reading {
            heldCount.withLock { $0 += 1 }
            gate.wait()
          }
        }
        #expect(accepted)
      }
      #expect(eventually { heldCount.withLock { $0 } == WorkPool.laneWidth })
      let connections = try (0..<4).map { _ in
        let connection = try served.connect()
        try connection.send(HTTPConnection.head("/a,b/0/0/0.png"))
        return connection
      }
      #expect(eventually { slots.asideCount == 4 })
      tileset.source.closeIdle()
      try tileset.source.check()
      #expect(try served.get("/tilesets.json").text.contains(#""id":"b""#))
      let answers = Unshared(connections)
      try await served.server.shutdown()
      for connection in answers.value {
        let response = try await onThread { [one = Unshared(connection)] in try one.value.response() }
        #expect(response.status == 503 && response["Connection"] == "close", "\(response)")
      }
    }
  }

  /// Composites of other bundles with a view that has no end: those bundles are served, and the server ends.
  @Test func compositesWithAnEndlessView() async throws {
    let folder = try TemporaryFolder()
    for number in 1...4 { try folder.writeSingleTile("good\(number).mbtiles", SampleTiles.image(number)) }
    // Queries may go on for minutes.
    try folder.writeEndlessView("v.mbtiles", megabytes: 256)
    try await serving([folder.path]) {
      // Nobody waits for that.
      $0.limits.drainSeconds = 3600
    } _: { (served) async throws in
      let bad = try #require(served.registry["v"])
      let connections = try (0..<12).map { number in
        let connection = try served.connect()
        try connection.send(HTTPConnection.head("/good\(number % 4 + 1),v/4/\(number)/0.png"))
        return connection
      }
      // Two of them read, and the rest wait aside.
      #expect(eventually { bad.bundle!.slots.asideCount >= 8 })
      // Encoded again, by a thread of the disk.
      #expect(try served.get("/good1/0/0/0.webp").status == 200)
      let answers = Unshared(connections)
      try await served.server.shutdown(afterSeconds: 1)
      for connection in answers.value {
        let response = try await onThread { [one = Unshared(connection)] in try one.value.response() }
        #expect(response.status == 503, "\(response)")
      }
      // Queries that had come to the end of their budget would have been counted.
      #expect(bad.source.quarantine == nil)
    }
  }
}
