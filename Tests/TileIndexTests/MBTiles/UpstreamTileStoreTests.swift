import CSQLite
import Foundation
import TestSupport
import Testing

@testable import TileIndex

@Suite(.ownThread) struct UpstreamTileStoreTests {
  private func state(_ fetched: Int, fresh: Int = 100, tag: String = "") -> UpstreamTileStore.State {
    UpstreamTileStore.State(fetched: fetched, expires: fetched + fresh, entityTag: tag)
  }

  private func blob(_ seed: Int, _ count: Int) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(seed))
    return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  @Test func storesTilesAndAbsentTiles() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("kept.mbtiles")
    let (one, none) = (TileID(unchecked: 3, 5, 2), TileID(unchecked: 3, 5, 3))
    let bytes = blob(1, 500)
    do {
      let bundle = try UpstreamTileStore(
        path: path, metadata: [.init(name: "name", value: "Kept"), .init(name: "format", value: "png")],
        byteCountMax: 10 << 20)
      #expect(try bundle.find(one, now: 0) == nil)
      #expect(try bundle.store(one, bytes, state(1000, tag: "\"a\"")))
      #expect(try bundle.store(none, nil, state(1000)))
      #expect(try bundle.find(one, now: 1000) == .init(bytes: bytes, state: state(1000, tag: "\"a\"")))
      #expect(try bundle.find(none, now: 1000) == .init(bytes: nil, state: state(1000)))
      try bundle.refresh(one, fetched: 2000, expires: 2500)
      #expect(try bundle.find(one, now: 2000)?.state.expires == 2500)
      // A tile becomes absent, and an absent tile becomes present.
      #expect(try bundle.store(one, nil, state(3000)))
      #expect(try bundle.find(one, now: 3000)?.bytes == nil)
      #expect(try bundle.store(none, bytes, state(3000)))
    }
    // Reopened, and opened as an ordinary bundle.
    let again = try UpstreamTileStore(path: path, metadata: [], byteCountMax: 10 << 20)
    #expect(try again.find(none, now: 0)?.bytes == bytes)
    #expect(try again.metadata().contains { $0.name == "name" && $0.value == "Kept" })
    let reader = try BundleFile.open(path)
    #expect(try reader.tile(none) == bytes)
    #expect(try reader.tile(one) == nil)
    #expect(reader.metadata.format == .png)
    #expect(try reader.zooms() == [3])
  }

  /// The file is another program's by now: what is in it is read within the limits of any bundle.
  @Test func contentsOfStrangersAreLimited() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("kept.mbtiles")
    let tile = TileID(unchecked: 3, 5, 2)
    func open() throws -> UpstreamTileStore { try UpstreamTileStore(path: path, metadata: [], byteCountMax: 10 << 20) }
    func refusal(_ read: (UpstreamTileStore) throws -> Void) -> BundleError? {
      #expect(throws: BundleError.self) { try read(open()) }
    }
    #expect(try open().store(tile, blob(1, 500), state(1000)))
    let database = try Database(path)
    for (name, value) in [("json", "zeroblob(2000000)"), ("n", "1"), ("n", "2")] {
      try database.run("DROP INDEX IF EXISTS metadata_name; INSERT INTO metadata VALUES ('\(name)', \(value))")
    }
    #expect(refusal { _ = try $0.metadata() }?.code == .malformed)
    try database.run(
      """
      DELETE FROM metadata; WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO metadata SELECT 'n' || i, i FROM n
      """)
    #expect(refusal { _ = try $0.metadata() }?.message.contains("more than 1000 rows") == true)
    try database.run("UPDATE tiles SET tile_data = zeroblob(66 << 20)")
    #expect(refusal { _ = try $0.find(tile, now: 1000) }?.code == .malformed)
    // Rows without end are nobody's store.
    try database.run(
      """
      ALTER TABLE upstream RENAME TO other;
      CREATE VIEW upstream AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT other.* FROM n, other
      """)
    #expect(refusal { _ in }?.code == .exists)
  }

  /// Also when two connections fill the same bundle.
  @Test func tilesOfTwoArchivesAreNeverMixed() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("kept.mbtiles")
    let (first, second) = (TileID(unchecked: 3, 5, 2), TileID(unchecked: 3, 5, 3))
    let bundle = try UpstreamTileStore(path: path, metadata: [], byteCountMax: 10 << 20)
    let other = try UpstreamTileStore(path: path, metadata: [], byteCountMax: 10 << 20)
    #expect(try !bundle.adopt(archive: "one"))
    #expect(try bundle.store(first, blob(1, 500), state(1000, tag: "one"), of: "one"))
    #expect(try !other.adopt(archive: "one"))
    #expect(try other.find(first, now: 1000) != nil)
    #expect(try other.adopt(archive: "two"))
    #expect(try bundle.find(first, now: 1000) == nil && BundleFile.open(path).tile(first) == nil)
    #expect(throws: UpstreamTileStore.ArchiveReplaced.self) {
      try bundle.store(second, blob(2, 500), state(1000, tag: "one"), of: "one")
    }
    #expect(try other.store(second, blob(3, 500), state(1000, tag: "two"), of: "two"))
    #expect(try bundle.find(second, now: 1000)?.bytes == blob(3, 500))
  }

  /// Other connections see each tile as soon as it is stored.
  @Test func tilesAreReadableOnceStored() throws {
    let folder = try TemporaryFolder()
    let bundle = try UpstreamTileStore(path: folder.file("a.mbtiles"), metadata: [], byteCountMax: 10 << 20)
    for column in 0..<8 {
      let tile = TileID(unchecked: 3, column, 1)
      #expect(try bundle.store(tile, blob(column, 300), state(1)))
      #expect(try BundleFile.open(folder.file("a.mbtiles")).tile(tile) == blob(column, 300))
    }
  }

  @Test func otherBundlesAreNotModified() throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("own.mbtiles", zooms: 0...1, seed: 1)
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.file("own.mbtiles")))
    let error = #expect(throws: BundleError.self) {
      try UpstreamTileStore(path: folder.file("own.mbtiles"), metadata: [], byteCountMax: 1 << 20)
    }
    #expect(error?.code == .exists)
    // The bundle is unchanged.
    #expect(try BundleFile.open(folder.file("own.mbtiles")).zooms() == [0, 1])
    let after = try Data(contentsOf: URL(fileURLWithPath: folder.file("own.mbtiles")))
    #expect(before == after)
    try Data("no database at all, but long enough to be looked at".utf8).write(
      to: URL(fileURLWithPath: folder.file("text.mbtiles")))
    #expect(throws: BundleError.self) {
      try UpstreamTileStore(path: folder.file("text.mbtiles"), metadata: [], byteCountMax: 1 << 20)
    }
    #expect(throws: BundleError.self) {
      try UpstreamTileStore(path: folder.file("no/such/folder.mbtiles"), metadata: [], byteCountMax: 1 << 20)
    }
  }

  /// The file keeps its maximum size, and recently used tiles stay.
  @Test func leastRecentlyUsedTilesAreEvicted() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("small.mbtiles")
    let bundle = try UpstreamTileStore(path: path, metadata: [], byteCountMax: 1 << 20)
    let day = 86_400
    let favourite = TileID(unchecked: 9, 0, 0)
    #expect(try bundle.store(favourite, blob(0, 5000), state(0)))
    for index in 1...600 {
      let now = index * day
      #expect(try bundle.find(favourite, now: now)?.bytes == blob(0, 5000), "\(index)")
      #expect(try bundle.store(TileID(unchecked: 9, index % 512, 1 + index / 512), blob(index, 5000), state(now)))
      #expect(bundle.byteCount <= 1 << 20)
    }
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    #expect(try #require(size) < (1 << 20) + (1 << 17))
    #expect(bundle.evicted > 300)
    #expect(try bundle.find(TileID(unchecked: 9, 1, 1), now: 600 * day) == nil)
    #expect(try bundle.find(TileID(unchecked: 9, 600 % 512, 2), now: 600 * day) != nil)
  }

  @Test func storesNothingWhenFullAndStopping() throws {
    let folder = try TemporaryFolder()
    let bundle = try UpstreamTileStore(
      path: folder.file("small.mbtiles"), metadata: [], byteCountMax: 1 << 20, whenFull: .stop)
    var kept = 0
    for index in 0..<300 where try bundle.store(TileID(unchecked: 9, index, 0), blob(index, 5000), state(1)) {
      kept += 1
    }
    #expect((100..<210).contains(kept) && bundle.evicted == 0 && bundle.byteCount <= 1 << 20)
    for index in 0..<kept { #expect(try bundle.find(TileID(unchecked: 9, index, 0), now: 1) != nil) }
  }

  @Test func concurrentAccessIsSafe() async throws {
    let folder = try TemporaryFolder()
    let bundle = try UpstreamTileStore(path: folder.file("a.mbtiles"), metadata: [], byteCountMax: 10 << 20)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          for index in 0..<50 {
            let tile = TileID(unchecked: 8, index, part)
            let bytes = blob(part * 100 + index, 400)
            let isKept = try bundle.store(tile, bytes, state(1))
            let found = try bundle.find(tile, now: 1)
            #expect(isKept && found?.bytes == bytes)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Of tiles that came in one second those stay that are asked for.
  @Test func tilesInUseStay() throws {
    let folder = try TemporaryFolder()
    let store = try UpstreamTileStore(path: folder.file("a.mbtiles"), metadata: [], byteCountMax: 2_000_000)
    let state = UpstreamTileStore.State(fetched: 1_700_000_000, expires: 1_800_000_000)
    func id(_ number: Int) -> TileID { TileID(unchecked: 12, number, 0) }
    let bytes = [UInt8](repeating: 7, count: 15_000)
    for number in 0..<600 {
      #expect(try store.store(id(number), bytes, state))
      for hot in 0..<10 where hot <= number {
        #expect(try store.find(id(hot), now: 1_700_000_000) != nil, "\(hot) of \(number)")
      }
    }
    #expect(store.evicted > 300)
  }
}
