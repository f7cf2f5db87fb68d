import Foundation
import TestSupport
import Testing

/// The memory of a cut depends on `--memory`, not on the size of the raster.
@Suite(.ownThread) struct CutMemoryTests {
  /// A sparse BigTIFF of 65,536 x 65,536 pixels that is zoom 8 exactly: tiles of 512 pixels, of which a few have
  /// pixels. Written by hand; the blocks share their bytes.
  private static func sparseTIFF(edge: Int, every: Int) -> Data {
    var file = Data("II".utf8)
    func number(_ value: Int, _ bytes: Int) -> Data { Data((0..<bytes).map { UInt8(value >> (8 * $0) & 255) }) }
    func doubles(_ values: [Double]) -> Data {
      values.reduce(Data()) { $0 + number(Int(bitPattern: UInt(truncatingIfNeeded: $1.bitPattern)), 8) }
    }
    file += number(43, 2) + number(8, 2) + number(0, 2) + number(16, 8)
    let across = edge / 512
    let pixel = 2 * 20_037_508.342789244 / 65536
    let tags: [(tag: Int, type: Int, values: Data, count: Int)] = [
      (256, 4, number(edge, 4), 1), (257, 4, number(edge, 4), 1),
      (258, 3, number(8, 2) + number(8, 2) + number(8, 2), 3), (259, 3, number(1, 2), 1), (262, 3, number(2, 2), 1),
      (277, 3, number(3, 2), 1), (322, 3, number(512, 2), 1), (323, 3, number(512, 2), 1),
      (324, 16, Data(), across * across),
      (325, 16, Data(), across * across), (33550, 12, doubles([pixel, pixel, 0]), 3),
      (33922, 12, doubles([0, 0, 0, -20_037_508.342789244, 20_037_508.342789244, 0]), 6),
      (
        34735, 3, [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857].reduce(Data()) { $0 + number($1, 2) }, 16
      ),
    ]
    var beyond = 16 + 8 + 20 * tags.count + 8
    var entries = number(tags.count, 8)
    var rest = Data()
    let blockBytes = 512 * 512 * 3
    let lists = across * across * 8
    let dataStart = beyond + 2 * lists + 256
    let present = (0..<(across * across)).map { ($0 % across + $0 / across * 3) % every == 0 }
    for tag in tags {
      var values = tag.values
      if tag.tag == 324 { values = present.reduce(into: Data()) { $0 += number($1 ? dataStart : 0, 8) } }
      if tag.tag == 325 { values = present.reduce(into: Data()) { $0 += number($1 ? blockBytes : 0, 8) } }
      entries += number(tag.tag, 2) + number(tag.type, 2) + number(tag.count, 8)
      if values.count <= 8 {
        entries += values + Data(count: 8 - values.count)
      } else {
        entries += number(beyond, 8)
        rest += values
        beyond += values.count
      }
    }
    file += entries + number(0, 8) + rest
    file += Data(count: dataStart - file.count)
    file += Data((0..<blockBytes).map { UInt8(truncatingIfNeeded: $0 / 3 + $0 / 1536) })
    return file
  }

  @Test func memoryStaysWithinItsBudget() throws {
    let folder = try TemporaryFolder()
    var peaks: [Int] = []
    for (edge, every) in [(4096, 4), (65536, 1021)] {
      let raster = try folder.write("\(edge).tif", bytes: [UInt8](Self.sparseTIFF(edge: edge, every: every)))
      let run = try Command(built: "tilecut").run(
        ["cut", raster, "-o", folder.file("\(edge).mbtiles"), "--memory", "64MB", "--threads", "2", "--format", "jpeg"])
      #expect(run.status == 0, "\(run)")
      #expect(run.peakBytes < 128_000_000, "\(run)")
      peaks.append(run.peakBytes)
    }
    #expect(peaks[1] < peaks[0] + 16_000_000, "\(peaks)")
  }
}
