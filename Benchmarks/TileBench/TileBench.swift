import Foundation
import TileImage
import TileIndex

/// Measures the steps of cutting and rendering on the tiles of a bundle: encoding at each level, decoding, enlarging,
/// storing and reading at each page size. Runs on one thread and takes the best of several runs.
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
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "stages" where arguments.count == 2:
      return try CutStages.measure(raster: arguments[1], effort: .balanced)
    case "kernel" where arguments.count == 2: return try HotKernels.run(arguments[1])
    default: break
    }
    guard arguments.count == 1 else {
      print("usage: TileBench BUNDLE | stages RASTER | kernel NAME")
      exit(64)
    }
    let tiles = try sample(of: MBTilesReader(path: arguments[0]), count: 400)
    let bytes = tiles.reduce(0) { $0 + $1.bytes.count }
    print("\(tiles.count) tiles, \(bytes / tiles.count) bytes on average; milliseconds a tile")
    let pixels = try tiles.map { try $0.bytes.withUnsafeBytes { try ImageDecoder.decode($0) } }
    let decoding = try best { for tile in tiles { _ = try tile.bytes.withUnsafeBytes { try ImageDecoder.decode($0) } } }
    report("decode", decoding / Double(tiles.count))
    for effort in PNGEffort.allCases {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(.png(PNGOptions(effort: effort)))
        size = try pixels.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report("encode, \(effort.rawValue)", time / Double(tiles.count), "\(size / tiles.count) bytes")
    }
    for level in [1, 4, 5, 6, 7, 8] {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(.png(PNGOptions(compressionLevel: level)))
        size = try pixels.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report(
        "encode, level \(level)", time / Double(tiles.count), "\(size / tiles.count) bytes")
    }
    let half = PixelBuffer(width: 128, height: 128)
    let reducing = best { for tile in pixels { Reduce.average(tile, ratio: 2, into: half, x: 0, y: 0) } }
    report("reduce 2 x 2", reducing / Double(tiles.count))
    let linear = best { for tile in pixels { Reduce.averageLinear(tile, ratio: 2, into: half, x: 0, y: 0) } }
    report("reduce 2 x 2 in linear light", linear / Double(tiles.count))
    for encoding in [
      TileEncoding.png(PNGOptions(colours: 256)), .png(PNGOptions(colours: 64)), .jpeg(JPEGOptions()),
      .webp(WebPOptions(lossless: false)), .webp(WebPOptions()),
    ] where (try? encoding.requireLibraries()) != nil {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(encoding)
        size = try pixels.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report("encode, \(encoding)", time / Double(tiles.count), "\(size / tiles.count) bytes")
    }
    try measureDrawing(pixels)
    for page in [4096, 8192, 16384, 32768, 65536, nil] { try measureBundle(tiles, bytes: bytes, page: page) }
  }

  private typealias Tile = (id: TileID, bytes: [UInt8])

  /// Tiles at regular intervals of the bundle.
  private static func sample(of bundle: MBTilesReader, count: Int) throws -> [Tile] {
    let step = max(try bundle.tileCount() / count, 1)
    var (tiles, index) = ([Tile](), 0)
    try bundle.forEachTile { id, bytes in
      if index % step == 0 { tiles.append((id, Array(bytes))) }
      index += 1
    }
    return tiles
  }

  /// Nil stands for the page size that the writer chooses.
  ///
  /// Stores the tiles several times, at different columns and with a changed last byte so that none is shared, then
  /// reads them all.
  private static func measureBundle(_ tiles: [Tile], bytes: Int, page: Int?) throws {
    let path = NSTemporaryDirectory() + "/tile-bench-\(page ?? 0).mbtiles"
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
    let name = page.map { "pages of \($0)" } ?? "pages as chosen"
    report("\(name): put", putting / count)
    report("\(name): read, warm", reading / count, String(format: "%.1f%% overhead", overhead))
  }

  /// The work of a server beyond the deepest zoom: enlarges and encodes a quarter of each tile, opaque and with a
  /// transparent corner.
  private static func measureDrawing(_ tiles: [PixelBuffer]) throws {
    let count = Double(tiles.count)
    let quarter = Enlarge.Cell(index: 1, count: 2)
    let target = PixelBuffer(width: 256, height: 256)
    let flattened = tiles.map { copy(of: $0) { $0.composite(over: .white) } }
    let holed = flattened.map { tile in
      copy(of: tile) { for i in 0..<64 { $0.bytes.storeBytes(of: 0, toByteOffset: i * 4, as: UInt32.self) } }
    }
    report(
      "enlarge, opaque",
      best { for tile in flattened { Enlarge.draw(tile, column: quarter, row: quarter, into: target) } } / count)
    report(
      "enlarge, with alpha",
      best { for tile in holed { Enlarge.draw(tile, column: quarter, row: quarter, into: target) } } / count)
    let enlarged = flattened.map { tile in
      let result = PixelBuffer(width: 256, height: 256)
      Enlarge.draw(tile, column: quarter, row: quarter, into: result)
      return result
    }
    for (name, encoding) in encodings {
      var size = 0
      let time = try best {
        let encoder = TileEncoder(encoding)
        size = try enlarged.reduce(0) { $0 + (try encoder.encode($1)).count }
      }
      report("enlarged, \(name)", time / count, "\(size / tiles.count) bytes")
    }
  }

  private static var encodings: [(String, TileEncoding)] {
    [1, 2, 3, 4, 5].map { (level: Int) in ("PNG \(level)", .png(PNGOptions(compressionLevel: level))) } + [
      ("JPEG", .jpeg(JPEGOptions()))
    ]
      + [0, 1, 2, 4].map { ("WebP lossless \($0)", .webp(WebPOptions(effort: $0))) }
      + [0, 2, 4].map { ("WebP lossy \($0)", .webp(WebPOptions(lossless: false, effort: $0))) }
  }

  private static func copy(of pixels: PixelBuffer, change: (PixelBuffer) -> Void) -> PixelBuffer {
    let copy = PixelBuffer(width: pixels.width, height: pixels.height)
    copy.copy(from: pixels)
    change(copy)
    return copy
  }

  private static func report(_ what: String, _ seconds: Double, _ more: String = "") {
    let name = what + String(repeating: " ", count: max(28 - what.count, 1))
    print(name + String(format: "%8.4f  ", seconds * 1000) + more)
  }

  private static func best(_ body: () throws -> Void) rethrows -> Double {
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
