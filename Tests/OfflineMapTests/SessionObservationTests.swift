import MemoryPressure
import Observation
import TestSupport
import Testing
import TileIndex

@testable import OfflineMap

/// What a session tells without being asked, and what it does by itself.
@Suite(.ownThread) struct SessionObservationTests {
  private let folder: TemporaryFolder
  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("map.mbtiles", zooms: 0...4, edge: 64)
  }

  private static let viewport = Viewport(longitude: 0, latitude: 0, zoom: 2, size: (256, 256))

  private func session() throws -> MapSession<[UInt8]> {
    try MapSession(bundle: MapBundle(path: folder.file("map.mbtiles")), budget: 4 << 20)
  }

  /// How often observers of a property are told during the body, which they are once after each time they read it.
  private func changes(_ read: () -> Void, during body: () throws -> Void) rethrows -> Int {
    let count = Locked(0)
    withObservationTracking(read) { count.withLock { $0 += 1 } }
    try body()
    return count.withLock { $0 }
  }

  /// A view that moves, each tile of the screen that is loaded, and less memory change what is to be drawn.
  @Test func whatIsDrawnIsObservable() throws {
    let session = try session()
    let draw = { _ = session.visibleTiles }
    #expect(changes(draw, during: { session.update(Self.viewport, phase: .rest) }) == 1)
    let load = try #require(session.loader.next())
    #expect(changes(draw, during: { session.finish(load, session.tiles.load(load.key)) }) == 1)
    #expect(session.visibleTiles.count == 1)
    #expect(changes(draw, during: session.memoryWarning) == 1)
    #expect(changes({ _ = session.failedTiles }, during: session.memoryWarning) == 1)
    #expect(changes({ _ = session.bundle }, during: session.memoryWarning) == 0)
  }

  @Test func failuresAreObservable() throws {
    let session = try session()
    session.update(Self.viewport, phase: .rest)
    let load = try #require(session.loader.next())
    let error = BundleError(.malformed, path: "map.mbtiles", "is damaged")
    let told = changes({ _ = session.failedTiles }, during: { session.finish(load, .failed(error)) })
    #expect(told == 1 && session.failedTiles.map(\.tileID) == [load.key])
  }

  /// An observer may read the session at once, on the thread that changes it.
  @Test func observersMayReadAtOnce() throws {
    let (session, seen) = (try session(), Locked<Int?>(nil))
    withObservationTracking {
      _ = session.visibleTiles
    } onChange: {
      seen.withLock { $0 = session.visibleTiles.count }
    }
    session.update(Self.viewport, phase: .rest)
    #expect(seen.withLock { $0 } == 0)
  }

  /// The system's memory, as a test says that it is.
  private final class Memory: PressureReadings {
    private let used = Locked(0.5)
    func say(_ share: Double) { used.withLock { $0 = share } }
    func readings() -> [PressureReading] { [PressureReading(.machine, used: used.withLock { $0 })] }
  }

  /// The app tells nothing: the budget follows the system's memory, as long as the session exists.
  @Test func theBudgetFollowsTheSystem() throws {
    let memory = Memory()
    var marks = PressureGauge.Marks()
    marks.recoverySeconds = 0
    let monitor = MemoryPressureMonitor(memory, marks: marks, pollSeconds: 0.01)
    defer { monitor.stop() }
    weak var ended: MapSession<[UInt8]>?
    do {
      let session = try session()
      ended = session
      let budget = session.tiles.decoded.byteCountMax
      session.start(workers: 1, following: monitor)
      for (share, part) in [(0.85, 2), (0.95, 4), (0.5, 1)] {
        memory.say(share)
        #expect(eventually(seconds: 120) { session.tiles.decoded.byteCountMax == budget / part }, "\(share)")
      }
    }
    #expect(eventually(seconds: 120) { ended == nil })
  }
}
