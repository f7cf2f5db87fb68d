import CDeflate
import TestSupport
import Testing

@testable import TileImage

/// Zlib streams of literals, read back by libdeflate, and the choice between them and libdeflate's own.
@Suite(.ownThread) struct HuffmanDeflaterTests {
  /// Compresses, checks the size against the bound, and decompresses.
  private func roundTrip(_ input: [UInt8]) throws -> (compressed: Int, output: [UInt8]) {
    let capacity = HuffmanDeflater().byteCountMax(input.count)
    // No byte behind the bound may change.
    var stream = [UInt8](repeating: 0xa5, count: capacity + 8)
    let count = input.withUnsafeBytes { input in
      stream.withUnsafeMutableBytes {
        HuffmanDeflater().compress(
          input.baseAddress ?? UnsafeRawPointer($0.baseAddress!), count: input.count, into: $0.baseAddress!,
          capacity: capacity)
      }
    }
    #expect(stream[capacity...].allSatisfy { $0 == 0xa5 })
    let decompressor = try #require(libdeflate_alloc_decompressor())
    defer { libdeflate_free_decompressor(decompressor) }
    var output = [UInt8](repeating: 0, count: input.count)
    let result = libdeflate_zlib_decompress(decompressor, stream, count, &output, output.count, nil)
    #expect(result == LIBDEFLATE_SUCCESS)
    return (count, output)
  }

  @Test(arguments: [0, 1, 2, 3, 255, 32_767, 32_768, 32_769, 49_151, 49_152, 65_537, 200_000])
  func bytesOfAnyCountAreThoseThatWereCompressed(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let uniform = [UInt8](repeating: 7, count: count)
    let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    let small = (0..<count).map { _ in
      UInt8.random(in: 0...3, using: &random) &* UInt8.random(in: 0...3, using: &random)
    }
    for input in [uniform, noise, small] {
      let (compressed, output) = try roundTrip(input)
      #expect(output == input)
      #expect(compressed <= HuffmanDeflater().byteCountMax(count))
    }
  }

  /// Frequencies that grow like Fibonacci's numbers give the longest words.
  @Test func wordsStayWithinTheLimit() throws {
    var frequencies: [UInt32] = [1, 1]
    while frequencies.count < 24 { frequencies.append(frequencies.suffix(2).reduce(0, +)) }
    for lengthMax in [5, 7, 14, 15] {
      let code = PrefixCode(frequencies: frequencies, lengthMax: lengthMax)
      #expect(code.lengths.allSatisfy { (1...UInt8(lengthMax)).contains($0) })
      // Complete: every sequence of bits is a sequence of words.
      #expect(code.lengths.reduce(0) { $0 + 1 << (lengthMax - Int($1)) } == 1 << lengthMax)
    }
    let input = (0..<22).flatMap { [UInt8](repeating: UInt8($0), count: Int(frequencies[$0])) }
    #expect(try roundTrip(input).output == input)
  }

  @Test func theShortestCodeIsFound() {
    // Huffman's own way: the two rarest become one, and their words a bit longer.
    var random = SeededGenerator(seed: 4)
    let frequencies = (0..<257).map { _ in UInt32.random(in: 0...500, using: &random) }
    var heap = frequencies.filter { $0 > 0 }
    var bits: UInt32 = 0
    while heap.count > 1 {
      heap.sort(by: >)
      let sum = heap.removeLast() + heap.removeLast()
      bits += sum
      heap.append(sum)
    }
    let code = PrefixCode(frequencies: frequencies, lengthMax: 15)
    #expect(zip(frequencies, code.lengths).reduce(0) { $0 + $1.0 * UInt32($1.1) } == bits)
  }

  @Test func repeatsAreEstimatedFromRows() {
    var random = SeededGenerator(seed: 9)
    let row = (0..<769).map { _ in UInt8.random(in: 0...9, using: &random) }
    let repeated = (0..<256).flatMap { _ in row }
    let noise = (0..<256 * 769).map { _ in UInt8.random(in: 0...255, using: &random) }
    let estimate = RepeatEstimate()
    #expect(estimate.share(repeated, height: 256, rowBytes: 769) > 0.8)
    #expect(estimate.share(noise, height: 256, rowBytes: 769) < 0.001)
    // Images of few rows.
    #expect(estimate.share(row, height: 1, rowBytes: 769) < 0.2)
    #expect(estimate.share(Array(repeated.prefix(3 * 769)), height: 3, rowBytes: 769) > 0.5)
  }

  /// Noise has no repeats: Huffman codes alone, which cannot be as small as libdeflate's on a picture with many.
  @Test(arguments: [PNGEffort.fast, .balanced])
  func tilesWithoutRepeatsAreCompressedWithoutASearch(effort: PNGEffort) throws {
    let noise = Pictures.opaqueNoise.make(width: 64, height: 64, seed: 3)
    let rows = PNGScanlines()
    rows.pack(noise, as: .rgb)
    let filtered = rows.filtered(pixelBytes: 3)
    let expected = try roundTrip([UInt8](UnsafeRawBufferPointer(start: filtered, count: rows.byteCount))).compressed
    let png = try TileEncoder(.png(PNGOptions(effort: effort))).encode(noise)
    #expect(png.count == expected + 8 + 25 + 12 + 12)
    #expect(try decode(png).difference(from: noise) == nil)
  }
}
