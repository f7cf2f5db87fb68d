import Foundation
import OfflineMap

/// Measures reading tiles of a bundle from tasks: an actor around one reader, and `MapBundle`, which has a pool of
/// them. The actor takes less of the processors; with the pool tasks do not wait for each other.
enum BundleTrial {
  /// The best of several rounds.
  private struct Figures {
    /// Of processor time a tile.
    var microseconds = Double.infinity
    /// In time as it passes.
    var tilesPerSecond = 0.0
  }

  static func run(_ path: String?) async {
    do {
      let path = try path ?? sample()
      let bundle = try MapBundle(path: path)
      let tiles = Array(try await bundle.tiles(in: .world).prefix(1024))
      let actor = try ReaderActor(path)
      print("microseconds of the processors a tile, and tiles a second; best of 5; \(tiles.count) tiles of \(path)")
      print("           microseconds           tiles/s")
      print("tasks      actor  MapBundle      actor  MapBundle")
      for tasks in [1, 2, 8] {
        let one = try await best(tasks, tiles) { try await actor.tile($0) }
        let pool = try await best(tasks, tiles) { try await bundle.tile($0) }
        print(
          String(
            format: "%5d %10.2f %10.2f %10.0f %10.0f", tasks, one.microseconds, pool.microseconds, one.tilesPerSecond,
            pool.tilesPerSecond))
      }
    } catch {
      print("\(error)")
    }
  }

  private static func best(
    _ tasks: Int, _ tiles: [TileID], _ read: @escaping @Sendable (TileID) async throws -> [UInt8]?
  ) async throws -> Figures {
    let count = 20_000
    var best = Figures()
    for _ in 0..<5 {
      let (start, began) = (runTime(), ContinuousClock.now)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for task in 0..<tasks {
          group.addTask {
            var bytes = 0
            for index in 0..<(count / tasks) {
              bytes += try await read(tiles[(index * 13 + task * 97) % tiles.count])?.count ?? 0
            }
            return bytes
          }
        }
        for try await bytes in group { precondition(bytes > 0) }
      }
      let seconds = (ContinuousClock.now - began) / .seconds(1)
      best.microseconds = min(best.microseconds, (runTime() - start) / 1000 / Double(count))
      best.tilesPerSecond = max(best.tilesPerSecond, Double(count) / seconds)
    }
    return best
  }

  /// The processor time of this process in nanoseconds, so that other processes do not count.
  private static func runTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  /// A bundle of 1,365 tiles of 20 kB.
  static func sample() throws -> String {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("cache-bench.mbtiles").path
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png, replacing: true)
    var bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 7, count: 20_000)
    for zoom in 0...5 {
      for tile in TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom) {
        bytes.replaceSubrange(8..<16, with: withUnsafeBytes(of: tile.hilbertID) { Array($0) })
        try writer.put(tile, bytes)
      }
    }
    _ = try writer.finish(BundleMetadata(name: "Bench"))
    return path
  }
}

private actor ReaderActor {
  private let reader: any BundleReader
  init(_ path: String) throws { reader = try BundleFile.open(path) }
  func tile(_ tile: TileID) throws -> [UInt8]? { try reader.tile(tile) }
}
