import Foundation
import MemoryPressure
import OfflineMap
import TestSupport
import Testing
import TileIndex

/// A session that was started ends with its owner, and with it its workers, its sequences and its bundle.
@Suite(.ownThread) struct SessionLifetimeTests {
  private let folder: TemporaryFolder
  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("map.mbtiles", zooms: 0...4, edge: 64)
  }

  private static let viewport = Viewport(longitude: 0, latitude: 0, zoom: 2, size: (256, 256))

  @Test func nothingKeepsASessionThatWasStarted() async throws {
    weak var ended: MapSession<[UInt8]>?
    weak var closed: MapBundle?
    let loop: Task<Int, Never>
    do {
      let session = try MapSession(bundle: MapBundle(path: folder.file("map.mbtiles")), budget: 4 << 20)
      (ended, closed) = (session, session.bundle)
      let ready = session.readyTiles()
      loop = Task {
        var count = 0
        for await _ in ready { count += 1 }
        return count
      }
      session.update(Self.viewport)
      session.start(workers: 3, following: nil)
      #expect(eventually(seconds: 120) { session.visibleTiles.count == 16 })
      #expect(session.workerCount == 3)
    }
    #expect(eventually(seconds: 120) { ended == nil && closed == nil })
    // The sequence ends too; otherwise this test does.
    _ = await loop.value
  }

  /// Two hundred sessions that are let go while they load: no file stays open.
  @Test func sessionsThatAreLetGoCloseTheirFiles() throws {
    let path = folder.file("map.mbtiles")
    func openFiles() throws -> Int {
      let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      return files.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path }
    }
    guard FileManager.default.fileExists(atPath: "/proc/self/fd") else { return }
    for number in 0..<200 {
      let session = try MapSession(bundle: MapBundle(path: path), budget: 4 << 20)
      session.start(workers: 2, following: nil)
      session.update(Self.viewport)
      // The other tests of this process may keep all threads of tasks busy for a while, so not at each.
      if number == 100 { _ = eventually(seconds: 120) { !session.visibleTiles.isEmpty } }
    }
    #expect(eventually(seconds: 120) { (try? openFiles()) == 0 })
  }

  @Test(arguments: [
    (0, 0), (-1, 0), (Int.min, 0), (1, 0), (1000, 0), (4 << 20, 4 << 20), (4 << 20, -1), (4 << 20, Int.max),
    (Int.max, Int.min), (4 << 20, (4 << 20) - 100),
  ])
  func budgetsWithoutRoomAreRefused(budget: Int, encoded: Int) throws {
    let bundle = try MapBundle(path: folder.file("map.mbtiles"))
    #expect {
      try MapSession(bundle: bundle, budget: budget, encodedBytes: encoded) { ($0, byteCount: $0.count) }
    } throws: { error in
      guard let error = error as? BundleError else { return false }
      return error.code == .mismatch && error.message.contains("no room") && error.remedy != nil
    }
  }

  /// A budget without an end, and tiles whose costs are no numbers of bytes.
  @Test(arguments: [1, 0, -1, Int.min, Int.max, 1 << 50]) func costsThatNoTileHas(_ cost: Int) throws {
    let bundle = try MapBundle(path: folder.file("map.mbtiles"))
    let session = try MapSession(bundle: bundle, budget: .max, encodedBytes: 1 << 20) { ($0, byteCount: cost) }
    session.start(workers: 2, following: nil)
    session.update(Self.viewport)
    #expect(eventually(seconds: 120) { session.visibleTiles.count == 16 })
    // A tile larger than any budget is told as one.
    #expect(session.byteCount >= 0 && (session.failedTiles.isEmpty || cost == .max))
    session.memoryWarning()
    for level in [PressureLevel.critical, .warning, .normal] { session.adjust(to: level) }
    session.update(Viewport(longitude: 100, latitude: 20, zoom: 2, size: (256, 256)))
    #expect(eventually(seconds: 120) { session.visibleTiles.count { $0.tileID.zoom == 4 } >= 16 })
  }
}
