import Foundation
import Support
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// ASTC textures in KTX 2.0 files.
@Suite(.ownThread) struct TextureTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Waves over a disc with a soft edge, transparent outside.
  private func picture(_ edge: Int) -> PixelBuffer {
    let pixels = PixelBuffer(width: edge, height: edge)
    for y in 0..<edge {
      for x in 0..<edge {
        let distance = hypot(Double(x - edge / 2), Double(y - edge / 2)) / Double(edge)
        let alpha = min(max((0.45 - distance) * 40, 0), 1)
        let wave = SIMD3(sin(Double(x) / 19), cos(Double(y) / 23), sin(Double(x + y) / 31)) * 90 + 128
        if alpha * 255 >= 1 {
          pixels[x, y] = SIMD4(UInt8(wave.x), UInt8(wave.y), UInt8(wave.z), UInt8(alpha * 255))
        }
      }
    }
    return pixels
  }

  private func bundle(_ format: TileEncoding = .png(PNGOptions()), edge: Int = 256, tileBytes: Int = .max) throws
    -> String
  {
    let path = folder.file("map.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: .webMercatorQuad, format: format.format, replacing: true)
    let tile = Array(try TileEncoder(format).encode(picture(edge)).prefix(tileBytes))
    for (zoom, column, row) in [(1, 0, 0), (1, 1, 1), (2, 3, 2)] {
      try writer.put(TileID(zoom: zoom, column: column, row: row), tile)
    }
    var metadata = BundleMetadata(name: "map")
    metadata.attribution = "Us"
    _ = try writer.finish(metadata)
    return path
  }

  /// The fields of the specification's sections 3.1 to 3.5, read anew.
  @Test(arguments: TextureBlock.allCases, [256, 100])
  func filesFollowTheSpecification(_ block: TextureBlock, _ edge: Int) throws {
    let pixels = picture(edge)
    let blocks = try ASTCCodec(block: block, effort: .fast).encode(pixels)
    let file = KTX2File(width: edge, height: edge, block: block, blocks: blocks).bytes
    func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << (8 * $1) } }
    #expect(Array(file[..<12]) == [0xab] + Array("KTX 20".utf8) + [0xbb, 0x0d, 0x0a, 0x1a, 0x0a])
    // VK_FORMAT_ASTC_4x4_SRGB_BLOCK and its kin; typeSize, size, depth, layers, faces, levels, supercompression.
    let format = [TextureBlock.four: 158, .five: 162, .six: 166, .eight: 172][block]
    #expect(stride(from: 12, to: 48, by: 4).map(word) == [format!, 1, edge, edge, 0, 0, 1, 1, 0])
    let (descriptor, values) = ((word(48), word(52)), (word(56), word(60)))
    #expect((64..<80).allSatisfy { file[$0] == 0 }, "no supercompression global data")
    let level = (offset: word(80), bytes: word(88), whole: word(96))
    #expect(level.bytes == blocks.count && level.whole == blocks.count && level.offset % 16 == 0)
    #expect(level.offset + level.bytes == file.count && Array(file[level.offset...]) == blocks)
    let side = (edge + block.width - 1) / block.width
    #expect(blocks.count == side * side * 16)
    // The data format descriptor follows the level index, then the key/value data.
    #expect(descriptor == (104, 44) && word(104) == 44 && word(108) == 0 && word(112) == 2 | 40 << 16)
    #expect(word(116) == 162 | 1 << 8 | 2 << 16 && word(120) == (block.width - 1) * 0x101 && word(124) == 16)
    #expect(word(132) == 127 << 16 && word(136) == 0 && word(140) == 0 && word(144) == 0xffff_ffff)
    #expect(values.0 == 148 && values.0 + values.1 <= level.offset)
    var offset = values.0
    var found: [String] = []
    while offset < values.0 + values.1 {
      let count = word(offset)
      found.append(String(decoding: file[offset + 4..<offset + 4 + count], as: UTF8.self))
      offset += 4 + (count + 3) / 4 * 4
    }
    #expect(found == ["KTXorientation\0rd\0", "KTXwriter\0tilecut\0"] && offset == values.0 + values.1)
  }

  @Test func largerBlocksAreLessLikeTheTile() throws {
    let path = try bundle()
    var ratios: [Double] = []
    var sizes: [Int] = []
    for block in TextureBlock.allCases {
      var export = TextureExport()
      (export.block, export.effort) = (block, .fast)
      let summary = try export.write(path, to: folder.file("\(block.rawValue)/"))
      #expect(summary.tiles == 3)
      ratios.append(summary.psnr)
      sizes.append(summary.bytes)
    }
    #expect(ratios == ratios.sorted(by: >) && ratios[0] > 42 && ratios[2] > 36 && ratios[3] > 32, "\(ratios)")
    #expect(sizes == sizes.sorted(by: >))
  }

  /// Threads wait for memory, and the files are the same.
  @Test func tilesInWorkFitInMemory() throws {
    let path = try bundle(edge: 300)
    let need = 2 * 300 * 300 * 4 + 2 * 50 * 50 * 16
    var summaries: [(Double, Int)] = []
    for threads in [1, 4] {
      var export = TextureExport()
      (export.effort, export.threads) = (.fast, threads)
      export.budget = PixelBudget(byteCountMax: 2 * need)
      let summary = try export.write(path, to: folder.file("\(threads)/"))
      summaries.append((summary.psnr, summary.bytes))
      #expect(export.budget.use.peak <= 2 * need && export.budget.use.peak >= need && summary.tiles == 3)
    }
    #expect(summaries[0] == summaries[1])
    for tile in ["1/0/0", "1/1/1", "2/3/2"] {
      #expect(try folder.bytes("1/\(tile).ktx2") == folder.bytes("4/\(tile).ktx2"))
    }
    // Where one tile takes more than there is, it is made alone.
    var export = TextureExport()
    (export.effort, export.threads, export.budget) = (.fast, 4, PixelBudget(byteCountMax: need / 2))
    #expect(try export.write(path, to: folder.file("small/")).tiles == 3)
  }

  private static let basis = ProjectFiles.path(".build/alktx2")
  private static let hasBasis =
    Command(installed: "python3").flatMap {
      try? $0.run(["-c", "import alktx2"], environment: ["PYTHONPATH": basis]).status
    } == 0

  /// Basis Universal reads the files and their blocks, and sees the tile.
  @Test(
    .enabled(if: hasBasis, "alktx2 is not there (scripts/install-python-tools.sh)"),
    arguments: TextureBlock.allCases)
  func anotherDecoderSeesTheTile(_ block: TextureBlock) throws {
    var export = TextureExport()
    export.block = block
    let path = try bundle()
    _ = try export.write(path, to: folder.file("out/"))
    let script = """
      import alktx2, sys
      data = open(sys.argv[1], "rb").read()
      info = alktx2.inspect_ktx2(data)
      print(info["basis_tex_format_name"], info["width"], info["height"], info["is_srgb"])
      open(sys.argv[2], "wb").write(alktx2.decode_ktx2_to_bytes(data, format="png")[0])
      """
    let run = try #require(Command(installed: "python3"))
      .run(
        ["-c", script, folder.file("out/1/0/0.ktx2"), folder.file("seen.png")], environment: ["PYTHONPATH": Self.basis])
    #expect(run.status == 0 && run.stdout == "ASTC LDR \(block.rawValue) 256 256 True\n", "\(run)")
    let seen = try folder.bytes("seen.png").withUnsafeBytes { try ImageDecoder.decode($0) }
    let tile = picture(256)
    var squares = 0.0
    for y in 0..<256 {
      for x in 0..<256 where tile[x, y].w == 255 {
        let apart = SIMD4<Double>(seen[x, y]) - SIMD4<Double>(tile[x, y])
        squares += (apart * apart).sum() / 4
      }
    }
    let opaque = (0..<65_536).count { tile[$0 % 256, $0 / 256].w == 255 }
    let psnr = 10 * log10(255 * 255 * Double(opaque) / squares)
    #expect(psnr > [.four: 42, .five: 39, .six: 35, .eight: 31][block]!, "\(psnr)")
  }

  /// A GPU's filter mixes the colours of neighbours whatever their alpha; black there would make dark edges.
  @Test func transparentPixelsBesideVisibleOnesHaveTheirColour() throws {
    let pixels = PixelBuffer(width: 48, height: 48)
    for y in 0..<48 { for x in 0..<23 { pixels[x, y] = SIMD4(250, 240, 230, 255) } }
    let codec = try ASTCCodec(block: .six)
    let drawn = try codec.decode(codec.encode(pixels), width: 48, height: 48)
    for y in 0..<48 {
      #expect(drawn[22, y].w == 255 && drawn[23, y].w < 8)
      #expect(drawn[22, y].x > 240 && drawn[23, y].x > 200, "\(drawn[22, y]), \(drawn[23, y])")
    }
  }

  @Test func foldersAreTheSameOnAnyNumberOfThreads() throws {
    let path = try bundle(.webp(WebPOptions()), edge: 512)
    var export = TextureExport()
    for threads in [1, 3] {
      export.threads = threads
      _ = try export.write(path, to: folder.file("out\(threads)/"))
    }
    for name in ["tiles.json", "1/0/0.ktx2", "1/1/1.ktx2", "2/3/2.ktx2"] {
      #expect(try folder.bytes("out1/\(name)") == folder.bytes("out3/\(name)"), "\(name)")
    }
    let document = try String(contentsOfFile: folder.file("out1/tiles.json"), encoding: .utf8)
    for member in [#""format":"ktx2""#, #""minzoom":1"#, #""maxzoom":2"#, #""attribution":"Us""#, "{z}/{x}/{y}.ktx2"] {
      #expect(document.contains(member), "\(document)")
    }
    #expect(throws: BundleError.self) { try export.write(path, to: folder.file("out1/")) }
    _ = try export.write(path, to: folder.file("out1/"), replacing: true)
  }

  @Test func documentsSayForWhichScreensTheTexturesAre() throws {
    let path = try folder.writeBundle(
      "dense.mbtiles", zooms: 0...1, edge: 512,
      metadata: BundleMetadata(name: "dense", extra: ["tileSize": "256", "scale": "2"]))
    _ = try TextureExport().write(path, to: folder.file("out/"))
    let document = try JSONValue(parsing: Array(folder.bytes("out/tiles.json")))
    #expect(document["tileSize"] == .number("256") && document["scale"] == .number("2"), "\(document.text)")
    try BundleConvert().write(BundleFile.open(path), to: folder.file("tiles/"))
    let plain = try JSONValue(parsing: Array(folder.bytes("tiles/tiles.json")))
    #expect(plain["scale"] == .number("2") && plain["bounds"] == document["bounds"])
  }

  /// A damaged tile is named, and nothing is left behind.
  @Test func damagedTilesAreNamed() throws {
    let path = try bundle(tileBytes: 200)
    let error = #expect(throws: BundleError.self) { try TextureExport().write(path, to: folder.file("out/")) }
    #expect(error?.description.contains("1/0/0") == true, "\(String(describing: error))")
    #expect(!folder.names.contains { $0.contains("out") }, "\(folder.names)")
  }
}
