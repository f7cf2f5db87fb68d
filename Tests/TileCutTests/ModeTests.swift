import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

@Suite("The most frequent colour", .ownThread)
struct ModeTests {
  private func buffer(_ words: [UInt32], width: Int) -> PixelBuffer {
    let pixels = PixelBuffer(width: width, height: words.count / width)
    for (i, word) in words.enumerated() { pixels.bytes.storeBytes(of: word, toByteOffset: i * 4, as: UInt32.self) }
    return pixels
  }

  @Test("Of a block of children the most frequent pixel becomes the parent's", arguments: [0, 1])
  func reduce(phase: Int) {
    let (a, b, c) = (rgba(1, 0, 0), rgba(2, 0, 0), rgba(3, 0, 0))
    let child = buffer([a, b, a, b, 0, 0, b, b, b, a, 0, c, a, b, c, c], width: 8)
    let parent = PixelBuffer(width: 4, height: 1)
    Reduce.mode(child, ratio: 2, into: parent, x: 0, y: 0, phase: phase)
    let words = (0..<4).map { parent.bytes.load(fromByteOffset: $0 * 4, as: UInt32.self) }
    // Blocks: a b, b a; a b, 0 c; 0 0, a b; b b, c c. Phase 0 prefers the upper left pixel, 1 the lower right.
    #expect(words == (phase == 0 ? [a, a, 0, b] : [a, c, 0, c]))
    let even = buffer([a, b, b, b], width: 2)
    Reduce.mode(even, ratio: 2, into: parent, x: 0, y: 0, phase: phase)
    #expect(parent.bytes.load(as: UInt32.self) == b)
    let half = buffer([0, 0, c, c], width: 2)
    Reduce.mode(half, ratio: 2, into: parent, x: 0, y: 0, phase: phase)
    #expect(parent.bytes.load(as: UInt32.self) == c)
    let few = buffer([0, 0, 0, c], width: 2)
    Reduce.mode(few, ratio: 2, into: parent, x: 0, y: 0, phase: phase)
    #expect(parent.bytes.load(as: UInt32.self) == 0)
  }

  @Test(
    "A warped tile has the colour that covers most of each pixel, and no other colour", arguments: [2.0, 3.3, 1.0, 0.4])
  func warp(scale: Double) throws {
    let colours = (0..<5).map { rgba($0 * 50, 255 - $0 * 50, 9) }
    let size = 400
    let words = (0..<size * size).map { i in
      let (x, y) = (i % size, i / size)
      return x < 20 && y < 20 ? 0 : colours[(x / 7 + y / 5 * 3) % 5]
    }
    let matrix = TileMatrixSet.webMercatorQuad[10]
    let cell = matrix.cellSize / scale
    let source = ArraySource(
      width: size, height: size, alphaKind: .mask, crs: .webMercator,
      affine: Affine(a: cell, b: 0, c: 0, d: 0, e: -cell, f: Double(size) * cell)
    ) { x, y in
      let word = words[y * size + x]
      return SIMD4((0..<4).map { UInt8(word >> UInt32(8 * $0) & 255) })
    }
    let warper = try Warper(
      source: source, target: .webMercator, grid: PixelGrid(matrix, wraps: true), resampling: .mode)
    let corner = matrix.pixelCoordinates(of: SIMD2(0, Double(size) * cell))
    let tile = PixelRect(x: Int(corner.x), y: Int(corner.y.rounded()), width: 64, height: 64)
    let pixels = PixelBuffer(width: 64, height: 64)
    _ = try warper.warp(tile, into: pixels)
    var (checked, wrong) = (0, 0)
    for y in 0..<64 {
      for x in 0..<64 {
        let found = pixels.bytes.load(fromByteOffset: (y * 64 + x) * 4, as: UInt32.self)
        #expect(found == 0 || colours.contains(found))
        // The footprint in source pixels, counted in hundredths of its area.
        let origin = (x: (Double(tile.x + x) - corner.x) * scale, y: (Double(tile.y + y) - corner.y) * scale)
        var votes: [UInt32: Int] = [:]
        for j in 0..<20 {
          for i in 0..<20 {
            let sx = Int(origin.x + (Double(i) + 0.5) / 20 * scale)
            let sy = Int(origin.y + (Double(j) + 0.5) / 20 * scale)
            if sx < size, sy < size, words[sy * size + sx] != 0 { votes[words[sy * size + sx], default: 0] += 1 }
          }
        }
        let ranked = votes.sorted { $0.value > $1.value }
        guard found != 0, let first = ranked.first, ranked.count == 1 || first.value > ranked[1].value + 20 else {
          continue
        }
        checked += 1
        if found != first.key { wrong += 1 }
      }
    }
    #expect(checked > 1000 && wrong == 0, "\(wrong) of \(checked)")
  }
}
