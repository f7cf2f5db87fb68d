import LibC
import Support
package import TileImage
import TileIndex

/// Writes the tiles of a bundle as textures that a GPU draws as they are: ASTC in KTX 2.0 files, `zoom/column/row.ktx2`
/// in XYZ rows, with TileJSON beside them. An app that hands them to its GPU keeps four to sixteen times as many tiles
/// in memory as of decoded ones. ASTC loses a little, so this is for apps, not for archives.
///
/// 1. Divide each zoom into pieces of a column of tiles.
/// 2. Decode, encode, measure and write each tile on several threads (``ASTCCodec``, ``KTX2File``), as many at a time
///    as their pixels fit in memory.
/// 3. Add up what the pieces say in their order, and publish the folder at the end.
package struct TextureExport: Sendable {
  package var block: TextureBlock = .six
  package var effort: TextureEffort = .medium
  /// Nil means one for each core.
  package var threads: Int?
  /// For the tiles in work. A tile of 4096 x 4096 pixels takes up to 208 MB.
  package var budget = PixelBudget(byteCountMax: 512 << 20)

  package init() {}

  /// - Parameter progress: called now and then with the number of textures written so far.
  /// - Throws: ``CutError`` `.badSource` for vector tiles, `.systemError` without the encoder;
  ///   ``BundleError`` if the bundle cannot be read, a tile not be decoded, or the folder not be written.
  package func write(
    _ path: String, to output: String, replacing: Bool = false, progress: @escaping (Int) -> Void = { _ in }
  ) throws -> TextureSummary {
    let bundle = try BundleFile.open(path)
    guard let format = try bundle.tileFormat(), format != .pbf else {
      throw CutError(
        .badSource, path: path, "its tiles are no images, so that there is nothing to make textures of",
        remedy: "name a bundle of PNG, JPEG or WebP tiles")
    }
    try BundleFile.protect([path], from: output)
    try Self.check(output: output, replacing: replacing)
    let folder = try OutputFolder(target: output, replacing: replacing)
    defer { folder.remove() }
    var summary = TextureSummary()
    do {
      let ranges = try bundle.zooms().compactMap { try bundle.range(zoom: $0) }
      let threads = max(threads ?? Processors.count, 1)
      let work = OrderedWork<TileRange, TextureSummary>(Self.pieces(of: ranges), aheadMax: 2 * threads + 2) { part in
        summary.add(part)
        progress(summary.tiles)
      }
      try work.run(threads: threads) { [block, effort, budget] in
        let reader = try BundleFile.open(path)
        try reader.prepareLookups()
        let codec = try ASTCCodec(block: block, effort: effort)
        return { piece in
          var part = TextureSummary()
          try reader.forEachTile(in: piece) { tile, data in
            let need = try Texture.byteCount(tile, data, of: path, block)
            part.add(
              try budget.using(min(need, budget.byteCountMax)) {
                let texture = try Texture(tile, data, of: path, codec)
                try Self.write(texture.bytes, as: tile, in: folder.path)
                return texture
              })
          }
          return part
        }
      }
      var json = TileJSONDocument(template: "{z}/{x}/{y}.ktx2", of: bundle, ranges: ranges)
      json.extra = [.init("format", .string("ktx2"))]
      if bundle.matrixSet != .webMercatorQuad {
        json.extra.append(.init("tileMatrixSet", .string(bundle.matrixSet.uri)))
      }
      let document = json.bytes
      try document.withUnsafeBytes { try FileSystem.writeNew($0, to: "\(folder.path)/\(TileJSONDocument.name)") }
      summary.bytes += document.count
      try folder.commit()
    } catch let error as FileSystem.SystemError {
      throw OutputFile.failure(error, output)
    }
    return summary
  }

  /// Checks whether the folder could be written, and that its name is not that of a file.
  ///
  /// - Throws: ``BundleError``: `.invalidName`, `.exists`, `.writeFailed`.
  package static func check(output: String, replacing: Bool) throws {
    let name = FileSystem.split(output).name
    // No container for the name of something that is no bundle.
    let kind = try? BundleFile.kind(ofOutput: output)
    let isFileName = name.lowercased().hasSuffix(".mbtiles") || ![.folder, .mbtiles].contains(kind)
    guard !isFileName else {
      throw BundleError(
        .invalidName, path: output, "textures are files in a folder, and this is the name of a file",
        remedy: "name a folder: \((FileSystem.stem(output) + "/").shellQuoted)")
    }
    try OutputFolder.check(output, replacing: replacing)
  }

  private static let pieceRows = 32

  private static func pieces(of ranges: [TileRange]) -> AnyIterator<TileRange> {
    let pieces = ranges.lazy.flatMap { range in
      range.columns.lazy.flatMap { column in
        stride(from: range.rows.lowerBound, through: range.rows.upperBound, by: pieceRows).lazy.map { row in
          TileRange(
            zoom: range.zoom, columns: column...column, rows: row...min(row + pieceRows - 1, range.rows.upperBound))
        }
      }
    }
    return AnyIterator(pieces.makeIterator())
  }

  private static func write(_ bytes: [UInt8], as tile: TileID, in folder: String) throws {
    let column = "\(folder)/\(tile.zoom)/\(tile.column)"
    try FileSystem.makeFolders(column)
    try bytes.withUnsafeBytes { try FileSystem.writeNew($0, to: "\(column)/\(tile.row).ktx2") }
  }
}

/// What ``TextureExport`` wrote.
package struct TextureSummary: Sendable {
  package internal(set) var tiles = 0
  /// Of all files.
  package internal(set) var bytes = 0
  /// How like the tiles the textures are: peak signal-to-noise ratio of the colours over black and of alpha, in
  /// decibels.
  package var psnr: Double {
    squares > 0 ? 10 * log10(255 * 255 * Double(samples) / squares) : .infinity
  }
  private var squares = 0.0
  private var samples = 0

  fileprivate mutating func add(_ part: TextureSummary) {
    tiles += part.tiles
    bytes += part.bytes
    squares += part.squares
    samples += part.samples
  }

  fileprivate mutating func add(_ texture: Texture) {
    tiles += 1
    bytes += texture.bytes.count
    squares += texture.squares
    samples += texture.samples
  }
}

/// A tile's KTX 2.0 file, and how far its pixels are from the tile's.
private struct Texture {
  let bytes: [UInt8]
  let squares: Double
  let samples: Int

  /// The memory that a texture takes while it is made: the tile, its file, and what the file decodes to.
  static func byteCount(
    _ tile: TileID, _ data: UnsafeRawBufferPointer, of path: String, _ block: TextureBlock
  ) throws -> Int {
    try TileDrawing.decoding(tile, path) {
      let need = try ImageDecoder.need(of: data)
      return need.byteCount + 4 * need.width * need.height
        + 2 * block.byteCount(width: need.width, height: need.height)
    }
  }

  /// - Parameter path: of the bundle, for errors.
  init(_ tile: TileID, _ data: UnsafeRawBufferPointer, of path: String, _ codec: ASTCCodec) throws {
    let pixels = try TileDrawing.decoding(tile, path) { try ImageDecoder.decode(data) }
    let blocks = try codec.encode(pixels)
    bytes = KTX2File(width: pixels.width, height: pixels.height, block: codec.block, blocks: blocks).bytes
    squares = Self.squares(pixels, try codec.decode(blocks, width: pixels.width, height: pixels.height))
    samples = pixels.byteCount
  }

  private static func squares(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    let (a8, b8) = (a.bytes.assumingMemoryBound(to: UInt8.self), b.bytes.assumingMemoryBound(to: UInt8.self))
    var sum = 0.0
    for pixel in stride(from: 0, to: a.byteCount, by: 4) {
      let (alphaA, alphaB) = (Int(a8[pixel + 3]), Int(b8[pixel + 3]))
      var squares = (alphaA - alphaB) * (alphaA - alphaB)
      for band in pixel..<pixel + 3 {
        let difference = (Int(a8[band]) * alphaA - Int(b8[band]) * alphaB) / 255
        squares += difference * difference
      }
      sum += Double(squares)
    }
    return sum
  }
}
