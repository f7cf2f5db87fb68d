import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileImage

private let isInstalled = (try? TileEncoding.png(PNGOptions(colours: 16)).requireLibraries()) != nil

/// PNG tiles of few colours, through libimagequant.
@Suite(.ownThread, .enabled(if: isInstalled, "libimagequant is not installed")) struct ColourQuantizerTests {
  private func encoded(_ pixels: PixelBuffer, _ colours: Int) throws -> PixelBuffer {
    let bytes = try TileEncoder(.png(PNGOptions(colours: colours))).encode(pixels)
    return try bytes.withUnsafeBytes { try ImageDecoder.decode($0, format: .png) }
  }

  private func colours(_ pixels: PixelBuffer) -> Set<RGBA> {
    var found: Set<RGBA> = []
    for y in 0..<pixels.height { for x in 0..<pixels.width { found.insert(pixels[x, y]) } }
    return found
  }

  /// In dB, of colours over black and of alpha.
  private func psnr(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    var squares = 0.0
    for y in 0..<a.height {
      for x in 0..<a.width {
        let (p, q) = (a[x, y], b[x, y])
        func square(_ u: UInt8, _ v: UInt8) -> Double {
          let difference = Double(u) * Double(p.alpha) / 255 - Double(v) * Double(q.alpha) / 255
          return difference * difference
        }
        let alpha = Double(p.alpha) - Double(q.alpha)
        squares += square(p.red, q.red) + square(p.green, q.green) + square(p.blue, q.blue) + alpha * alpha
      }
    }
    return squares == 0 ? .infinity : 10 * log10(255 * 255 * 4 * Double(a.width * a.height) / squares)
  }

  @Test(arguments: [2, 3, 16, 255, 256], Pictures.allCases)
  func tilesHaveAtMostSoManyColours(_ count: Int, _ kind: Pictures) throws {
    let picture = kind.make(width: 96, height: 64, seed: 3)
    let reduced = try encoded(picture, count)
    // Two colours are the fewest that libimagequant makes; transparency is then a third.
    let isOpaque = picture.opacity == .opaque
    #expect(colours(reduced).count <= (isOpaque ? count : max(count, 3)), "\(kind)")
    for y in 0..<64 {
      for x in 0..<96 {
        let (own, found) = (picture[x, y].alpha, reduced[x, y].alpha)
        if own == 0 { #expect(found == 0, "\(kind) at \(x), \(y)") }
        if own == 255 { #expect(found == 255, "\(kind) at \(x), \(y)") }
      }
    }
  }

  /// Tiles that have few colours anyway lose nothing.
  @Test(arguments: [Pictures.twoColours, .sixteenColours, .manyFlatColours, .palette256, .fewColoursWithAlpha])
  func fewColoursStayExact(_ kind: Pictures) throws {
    let picture = kind.make(width: 256, height: 256, seed: 1)
    #expect(colours(try encoded(picture, 256)) == colours(picture))
    #expect(psnr(picture, try encoded(picture, 256)) == .infinity)
  }

  @Test func moreColoursAreNearer() throws {
    let picture = Pictures.photographic.make(width: 256, height: 256, seed: 5)
    let ratios = try [8, 32, 128, 256].map { psnr(picture, try encoded(picture, $0)) }
    #expect(ratios == ratios.sorted() && ratios[3] > 32, "\(ratios)")
  }

  /// Encoders on several threads, each with what it encoded before, write the same bytes.
  @Test func bytesDoNotDependOnTheThread() async throws {
    let pictures = (0..<8).map { Pictures.photographicWithHoles.make(width: 128, height: 128, seed: $0) }
    func bytes(_ order: [Int]) throws -> [[UInt8]] {
      let encoder = TileEncoder(.png(PNGOptions(colours: 64)))
      var tiles = [[UInt8]](repeating: [], count: pictures.count)
      for index in order { tiles[index] = try encoder.encode(pictures[index]) }
      return tiles
    }
    let expected = try bytes(Array(0..<8))
    try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
      for seed in UInt64(0)..<4 {
        group.addTask {
          var random = SeededGenerator(seed: seed)
          return try bytes((0..<8).shuffled(using: &random))
        }
      }
      for try await tiles in group { #expect(tiles == expected) }
    }
  }
}
