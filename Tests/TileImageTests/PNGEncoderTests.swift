import TestSupport
import Testing
import TileIndex

@testable import TileImage

@Suite(.ownThread) struct PNGEncoderTests {
  static let sizes = [(1, 1), (2, 3), (3, 1), (7, 5), (8, 8), (16, 1), (1, 300), (33, 31), (300, 2), (65, 90)]

  @Test(arguments: Pictures.allCases)
  func everyKindOfImageRoundTrips(_ kind: Pictures) throws {
    let encoder = TileEncoder(.png(PNGOptions()))
    for (index, (width, height)) in Self.sizes.enumerated() {
      let picture = kind.make(width: width, height: height, seed: UInt64(index))
      let decoded = try decode(encoder.encode(picture))
      #expect(decoded.difference(from: picture) == nil, "\(kind) \(width) x \(height), seed \(index)")
    }
  }

  @Test(arguments: [Pictures.photographic, .cartography, .palette256, .photographicWithHoles], PNGEffort.allCases)
  func wholeTilesRoundTrip(_ kind: Pictures, _ effort: PNGEffort) throws {
    let picture = kind.make(width: 256, height: 256, seed: 1)
    let bytes = try TileEncoder(.png(PNGOptions(effort: effort))).encode(picture)
    #expect(try decode(bytes).difference(from: picture) == nil)
  }

  /// Of all pictures together: one alone may get larger by chance.
  @Test func moreEffortGivesSmallerTiles() throws {
    let kinds: [Pictures] = [.photographic, .cartography, .palette256, .photographicWithHoles]
    let sizes = try PNGEffort.allCases.map { effort in
      try kinds.reduce(0) { sum, kind in
        let picture = kind.make(width: 256, height: 256, seed: 1)
        return sum + (try TileEncoder(.png(PNGOptions(effort: effort))).encode(picture).count)
      }
    }
    #expect(sizes[1] < sizes[0] && sizes[2] < sizes[1], "\(sizes)")
  }

  /// Rows enlarged twofold downwards repeat themselves as differences from the row above: half of them are zero.
  @Test func enlargedImagesAreFilteredByTheRowAbove() throws {
    let small = Pictures.photographic.make(width: 128, height: 64, seed: 3)
    let tall = PixelBuffer(width: 128, height: 128)
    for y in 0..<128 { for x in 0..<128 { tall[x, y] = small[x, y / 2] } }
    let rows = PNGScanlines()
    rows.pack(tall, as: .rgb)
    let filtered = rows.filteredInBands(pixelBytes: 3)
    let filters = (0..<128).map { filtered.load(fromByteOffset: $0 * rows.rowBytes, as: UInt8.self) }
    #expect(filters.filter { $0 == 2 }.count >= 64, "\(filters)")
  }

  @Test(arguments: 0..<40)
  func randomSizesRoundTrip(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let kind = Pictures.allCases.randomElement(using: &random)!
    let width = Int.random(in: 1...130, using: &random)
    let height = Int.random(in: 1...60, using: &random)
    let level = Int.random(in: 1...12, using: &random)
    let effort = PNGEffort.allCases.randomElement(using: &random)!
    let picture = kind.make(width: width, height: height, seed: seed)
    let bytes = try TileEncoder(.png(PNGOptions(effort: effort, compressionLevel: level))).encode(picture)
    #expect(
      try decode(bytes).difference(from: picture) == nil, "\(kind) \(width) x \(height), level \(level), seed \(seed)")
  }

  /// The smallest form that holds the pixels: colour type and bit depth of IHDR.
  @Test(arguments: [
    (Pictures.uniform, 3, 1), (.transparent, 3, 1), (.twoColours, 3, 1), (.fourColours, 3, 2), (.fewGreys, 3, 2),
    (.sixteenColours, 3, 4), (.manyFlatColours, 3, 8), (.palette256, 3, 8), (.palette257, 2, 8), (.grey, 0, 8),
    (.greyWithAlpha, 4, 8), (.photographic, 2, 8), (.opaqueNoise, 2, 8), (.noise, 6, 8), (.photographicWithHoles, 6, 8),
    (.fewColoursWithAlpha, 3, 4),
  ])
  func formIsTheSmallest(_ kind: Pictures, colourType: UInt8, bitDepth: UInt8) throws {
    let bytes = try TileEncoder(.png(PNGOptions())).encode(kind.make(width: 90, height: 70, seed: 3))
    #expect(bytes[25] == colourType)
    #expect(bytes[24] == bitDepth)
  }

  @Test func onlyTheNecessaryChunksAreWritten() throws {
    let encoder = TileEncoder(.png(PNGOptions()))
    func chunks(_ kind: Pictures) throws -> [String] {
      Self.chunks(try encoder.encode(kind.make(width: 60, height: 60, seed: 1))).map(\.type)
    }
    #expect(try chunks(.photographic) == ["IHDR", "IDAT", "IEND"])
    #expect(try chunks(.sixteenColours) == ["IHDR", "PLTE", "IDAT", "IEND"])
    #expect(try chunks(.fewColoursWithAlpha) == ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"])
  }

  @Test func translucentColoursComeFirstInThePalette() throws {
    let picture = PixelBuffer(width: 20, height: 10)
    picture.fill(RGBA(red: 9, green: 8, blue: 7))
    for x in 0..<20 { picture[x, 1] = RGBA(red: UInt8(x), green: 100, blue: 0) }
    picture[5, 5] = .transparent
    picture[6, 5] = RGBA(red: 1, green: 1, blue: 1, alpha: 77)
    let chunks = Self.chunks(try TileEncoder(.png(PNGOptions())).encode(picture))
    #expect(chunks.first { $0.type == "PLTE" }?.length == 23 * 3)
    #expect(chunks.first { $0.type == "tRNS" }?.length == 2)
  }

  @Test func filteringIsChosenByCompressedSize() throws {
    /// The compressed sizes of all rows filtered and unfiltered, at the levels that the encoder uses.
    func sizes(_ picture: PixelBuffer) throws -> (filtered: Int, plain: Int) {
      let rows = PNGScanlines()
      rows.pack(picture, as: .rgb)
      func size(_ data: UnsafeRawPointer, _ compressor: any ZlibCompressor) -> Int {
        let capacity = compressor.byteCountMax(rows.byteCount)
        let output = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        defer { output.deallocate() }
        return compressor.compress(data, count: rows.byteCount, into: output, capacity: capacity)
      }
      let filtered = rows.filteredInBands(pixelBytes: 3)
      let estimate = RepeatEstimate().share(filtered, height: rows.height, rowBytes: rows.rowBytes)
      let compression = try PNGEffort.balanced.filteredCompression(repeats: estimate, share: { 0 })
      let filteredSize: Int
      switch compression {
      case .level(let level): filteredSize = size(filtered, try Deflater(level: level))
      case .huffman: filteredSize = size(rows.filtered(pixelBytes: 3), HuffmanDeflater())
      }
      return (
        filteredSize,
        size(rows.unfiltered(), try Deflater(level: PNGEffort.balanced.unfilteredLevel))
      )
    }
    // Signature, IHDR, IEND and the overhead of IDAT.
    let overhead = 8 + 25 + 12 + 12
    let encoder = TileEncoder(.png(PNGOptions()))

    let photograph = Pictures.photographic.make(width: 128, height: 128, seed: 5)
    let ofPhotograph = try sizes(photograph)
    #expect(ofPhotograph.filtered < ofPhotograph.plain)
    #expect(try encoder.encode(photograph).count == ofPhotograph.filtered + overhead)

    // Three antialiased symbols with more than 256 colours, repeated on a flat background.
    let symbols = (0..<3).map { Pictures.opaqueNoise.make(width: 12, height: 10, seed: $0) }
    let map = PixelBuffer(width: 128, height: 128)
    map.fill(RGBA(red: 240, green: 240, blue: 220))
    var random = SeededGenerator(seed: 1)
    for _ in 0..<40 {
      map.copy(
        symbols.randomElement(using: &random)!, x: Int.random(in: 0..<116, using: &random),
        y: Int.random(in: 0..<118, using: &random))
    }
    let ofMap = try sizes(map)
    #expect(ofMap.plain < ofMap.filtered)
    #expect(try encoder.encode(map).count == ofMap.plain + overhead)
  }

  @Test func encodingDoesNotDependOnEarlierTiles() throws {
    let fresh = try TileEncoder(.png(PNGOptions())).encode(Pictures.cartography.make(width: 64, height: 64, seed: 9))
    let used = TileEncoder(.png(PNGOptions()))
    for kind in Pictures.allCases { _ = try used.encode(kind.make(width: 70, height: 40, seed: 2)) }
    #expect(try used.encode(Pictures.cartography.make(width: 64, height: 64, seed: 9)) == fresh)
  }

  @Test func uniformTilesAreKeptByColourAndSize() throws {
    let encoder = TileEncoder(.png(PNGOptions()))
    // Twice, with more colours than the encoder keeps.
    for round in 0..<2 {
      for value in 0..<80 {
        let picture = PixelBuffer(width: 5 + value % 3, height: 4)
        picture.fill(RGBA(red: UInt8(value), green: 3, blue: 200, alpha: 255 - UInt8(value % 2)))
        #expect(try decode(encoder.encode(picture)).difference(from: picture) == nil, "round \(round), colour \(value)")
      }
    }
  }

  @Test func emptyImageIsRejected() {
    let encoder = TileEncoder(.png(PNGOptions()))
    let error = #expect(throws: ImageError.self) { try encoder.encode(PixelBuffer(width: 0, height: 4)) }
    #expect(error?.code == .encodingFailed)
    #expect(encoder.format == .png)
  }

  private static func chunks(_ file: [UInt8]) -> [(type: String, length: Int)] {
    var chunks: [(String, Int)] = []
    var offset = 8
    while offset + 12 <= file.count {
      let length = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      chunks.append((String(decoding: file[offset + 4..<offset + 8], as: UTF8.self), length))
      offset += 12 + length
    }
    return chunks
  }
}
