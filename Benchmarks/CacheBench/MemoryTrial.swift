import Foundation
import TileIndex
import TilePrefetch

/// Loads buffers of 16 to 256 KiB at random and prints the process's memory: `base` and `peak`, kilobytes of RssAnon.
enum MemoryTrial {
  static func run(_ arguments: [String]) {
    guard arguments.count == 3, arguments[0] == "memory", let budget = Int(arguments[1]), let count = Int(arguments[2])
    else { fatalError("usage: CacheBench memory BUDGET OPERATIONS") }
    let cache = TileCache<TileID, [UInt8]>(byteCountMax: budget)
    var state: UInt64 = 1
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let base = ProcessMemory.anonymousKilobytes
    var peak = base
    for step in 0..<count {
      let tile = TileID(unchecked: 10, random(64), random(64))
      if step % 50 == 0 {
        let range = TileRange(zoom: 10, columns: tile.column...(tile.column + 3), rows: tile.row...(tile.row + 5))
        cache.show(range, focus: MapFocus(around: range))
      }
      let size = (16 << 10) + random(240 << 10)
      _ = try? cache.value(for: tile, byteCount: size) {
        // Written, so that its pages are resident.
        ([UInt8](repeating: UInt8(step & 255), count: size), byteCount: size)
      }
      if step % 256 == 0 { peak = max(peak, ProcessMemory.anonymousKilobytes) }
    }
    let statistics = cache.statistics
    precondition(statistics.bytesPeak <= budget)
    print("base \(base) peak \(peak) kept \(statistics.bytes / 1024) evictions \(statistics.evictions)")
  }
}

/// The memory of this process.
enum ProcessMemory {
  /// RssAnon; 0 where the system does not report it.
  static var anonymousKilobytes: Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
