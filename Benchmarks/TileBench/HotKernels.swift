import Foundation
import TileImage
import TileIndex

/// The kernels that a cut spends its time in, each alone on a fixed picture, so that an instruction counter can compare
/// them with earlier states (`make bench-check`).
enum HotKernels {
  static let names = [
    "none", "encode-fast", "encode-balanced", "encode-small", "encode-palette", "reduce", "reduce-linear", "insert",
  ]
  private static let rounds = 20

  /// Runs one kernel some times; "none" only makes the picture, which is to be subtracted.
  static func run(_ name: String) throws {
    guard names.contains(name) else {
      print("kernels: \(names.joined(separator: ", "))")
      exit(64)
    }
    let picture = name == "encode-palette" ? drawing() : imagery()
    var done = 0
    switch name {
    case "reduce":
      let half = PixelBuffer(width: 128, height: 128)
      for _ in 0..<rounds {
        Reduce.average(picture, ratio: 2, into: half, x: 0, y: 0)
        done += 1
      }
    case "reduce-linear":
      let half = PixelBuffer(width: 128, height: 128)
      for _ in 0..<rounds {
        Reduce.averageLinear(picture, ratio: 2, into: half, x: 0, y: 0)
        done += 1
      }
    case "insert":
      let path = NSTemporaryDirectory() + "/hot-kernels-\(getpid()).mbtiles"
      let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: .png, replacing: true)
      defer { writer.discard() }
      for index in 0..<rounds * 50 {
        var tile: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
        tile += [UInt8](repeating: UInt8(index & 255), count: 2000 + index * 37 % 9000)
        try writer.put(TileID(zoom: 12, column: index, row: 7), tile)
        done += 1
      }
    case "none": break
    default:
      let effort = PNGEffort(rawValue: String(name.dropFirst("encode-".count))) ?? .balanced
      let encoder = TileEncoder(.png(PNGOptions(effort: effort)))
      for _ in 0..<rounds { done += try encoder.encode(picture).count }
    }
    print("\(name) \(done)")
  }

  /// Smooth colours with fine noise, as imagery has them.
  private static func imagery() -> PixelBuffer {
    var state: UInt32 = 1
    return filled { x, y in
      state = state &* 1_664_525 &+ 1_013_904_223
      let noise = Int(state >> 28)
      let red = 90 + (x * x / 640 + y / 3) % 100 + noise
      let green = 80 + (x / 4 + y * y / 900) % 110 + noise
      let blue = 60 + (x + y) / 6 % 90 + noise / 2
      return 0xff00_0000 | UInt32(blue) << 16 | UInt32(green) << 8 | UInt32(red)
    }
  }

  /// Areas and lines of a few colours.
  private static func drawing() -> PixelBuffer {
    filled { x, y in
      if (x * 3 + y) % 61 == 0 || y % 47 == 0 { return 0xff40_5060 }
      return (x * x + y * y) / 9000 % 2 == 0 ? 0xffe0_f0f8 : 0xffd0_c8a0 + UInt32((x / 40 + y / 50) % 8)
    }
  }

  private static func filled(_ colour: (Int, Int) -> UInt32) -> PixelBuffer {
    let picture = PixelBuffer(width: 256, height: 256)
    for y in 0..<256 {
      for x in 0..<256 { picture.bytes.storeBytes(of: colour(x, y), toByteOffset: (y * 256 + x) * 4, as: UInt32.self) }
    }
    return picture
  }
}
