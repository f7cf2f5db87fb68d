import Foundation
import TileImage
import TileIndex

/// Times the parts that cutting and drawing on demand are made of, on the tiles of a bundle: encoding at each level, decoding, enlarging, storing and reading at each page size.
/// One thread, whatever else the machine does: take the best of several runs.
@main
struct TileBench {
  static func main() {
    do {
      try measure()
    } catch {
      print("TileBench: \(error)")
      exit(1)
    }
  }

  private static func measure() throws {
    guard CommandLine.arguments.count == 2 else {
      print("usage: TileBench BUNDLE")
      exit(64)
    }
    let tiles = try sample(of: MBTilesReader(path: CommandLine.arguments[1]), count: 400)
    let bytes = tiles.reduce(0) { $0 + $1.bytes.count }
    print("\(tiles.count) tiles, \(bytes / tiles.count) bytes on average; milliseconds a tile")
    let pixels = try tiles.map { try $0.bytes.withUnsafeBytes { try ImageDecoder.decode($0) } }
    let decoding = try best { for tile in tiles { _ = try tile.bytes.withUnsafeBytes { try ImageDecoder.decode($0) } } }
    report("decode", decoding / Double(tiles.count))
    for level in [nil, 1, 4, 5, 6, 7, 8] {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(.png(PNGOptions(compressionLevel: level)))
        size = try pixels.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report(
        "encode, \(level.map { "level \($0)" } ?? "level chosen")", time / Double(tiles.count),
        "\(size / tiles.count) bytes")
    }
    let half = PixelBuffer(width: 128, height: 128)
    let reducing = best { for tile in pixels { Reduce.average(tile, ratio: 2, into: half, x: 0, y: 0) } }
    report("reduce 2 x 2", reducing / Double(tiles.count))
    try measureDrawing(pixels)
    for page in [4096, 8192, 16384, 32768, 65536] { try measureBundle(tiles, bytes: bytes, page: page) }
  }

  private typealias Tile = (id: TileID, bytes: [UInt8])

  /// Tiles spread evenly over the bundle.
  private static func sample(of bundle: MBTilesReader, count: Int) throws -> [Tile] {
    let step = max(try bundle.tileCount() / count, 1)
    var (tiles, index) = ([Tile](), 0)
    try bundle.forEachTile { id, bytes in
      if index % step == 0 { tiles.append((id, Array(bytes))) }
      index += 1
    }
    return tiles
  }

  /// Puts the tiles several times, under changed columns and with a changed last byte, so that none is shared, then reads them all.
  private static func measureBundle(_ tiles: [Tile], bytes: Int, page: Int) throws {
    let path = NSTemporaryDirectory() + "/tile-bench-\(page).mbtiles"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let copies = 4
    var putting = Double.infinity
    var fileBytes = 0
    for _ in 0..<3 {
      let writer = try BundleWriter(
        path: path, matrixSet: .webMercatorQuad, format: .png, replacing: true, pageBytes: page)
      var time = 0.0
      for copy in 0..<copies {
        for (index, tile) in tiles.enumerated() {
          var changed = tile.bytes
          changed[changed.count - 1] ^= UInt8(copy)
          time += try seconds { try writer.put(TileID(zoom: 20, column: index, row: copy), changed) }
        }
      }
      putting = min(putting, time)
      fileBytes = try writer.finish(BundleMetadata(name: "bench")).bytes
    }
    let count = Double(tiles.count * copies)
    let reader = try MBTilesReader(path: path)
    let reading = try best {
      for copy in 0..<copies {
        for index in tiles.indices {
          try reader.withTile(TileID(zoom: 20, column: index, row: copy)) { _ in }
        }
      }
    }
    let overhead = 100 * (Double(fileBytes) / Double(bytes * copies) - 1)
    report("pages of \(page): put", putting / count)
    report("pages of \(page): read, warm", reading / count, String(format: "%.1f%% overhead", overhead))
  }

  static func report(_ what: String, _ seconds: Double, _ more: String = "") {
    let name = what + String(repeating: " ", count: max(28 - what.count, 1))
    print(name + String(format: "%8.4f  ", seconds * 1000) + more)
  }

  static func best(_ body: () throws -> Void) rethrows -> Double {
    var result = Double.infinity
    for _ in 0..<3 { result = min(result, try seconds(body)) }
    return result
  }

  private static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start) / .seconds(1)
  }
}
