import CTIFFShim

/// How a TIFF directory stores its pixels (TIFF 6.0, sections 3-16), checked against the file before anything is
/// allocated.
struct TIFFLayout: Sendable {
  enum SampleFormat: Sendable {
    case unsigned, signed, float
  }

  let width: Int
  let height: Int
  /// The size of a tile, or of a full-width strip.
  let blockWidth: Int
  let blockHeight: Int
  let isTiled: Bool
  let samples: Int
  /// Bits of a sample; all bands have the same.
  let bits: Int
  let format: SampleFormat
  /// Each band has its own blocks (PlanarConfiguration 2).
  let isSeparate: Bool
  let photometric: Photometric
  /// The file has a photometric interpretation.
  let hasPhotometric: Bool
  let compression: Int
  let extraSamples: [ExtraSample]
  let orientation: Int
  let isReducedImage: Bool
  let isMask: Bool
  /// libjpeg converts YCbCr to RGB.
  let isRGBFromJPEG: Bool
  /// Bytes of a decoded block of one plane, as libtiff returns it.
  let storedBlockBytes: Int

  struct Photometric: Hashable, Sendable {
    let code: Int
    static let minIsWhite = Photometric(code: 0)
    static let minIsBlack = Photometric(code: 1)
    static let rgb = Photometric(code: 2)
    static let palette = Photometric(code: 3)
    static let mask = Photometric(code: 4)
    static let ycbcr = Photometric(code: 6)
  }

  enum ExtraSample: Sendable {
    case unspecified, associatedAlpha, unassociatedAlpha
  }

  var columns: Int { (width + blockWidth - 1) / blockWidth }
  var rows: Int { (height + blockHeight - 1) / blockHeight }
  var planes: Int { isSeparate ? samples : 1 }
  /// Samples of one pixel in a block.
  var samplesPerBlockPixel: Int { isSeparate ? 1 : samples }
  /// Bytes from one stored row of a block to the next.
  var storedRowBytes: Int { (blockWidth * samplesPerBlockPixel * bits + 7) / 8 }

  /// libtiff's number of a block of a plane.
  func blockNumber(column: Int, row: Int, plane: Int) -> UInt32 {
    UInt32(plane * columns * rows + row * columns + column)
  }

  /// `tile 3,2` or `strip 17`, for messages.
  func blockName(column: Int, row: Int) -> String {
    isTiled ? "tile \(column),\(row)" : "strip \(row)"
  }

  /// What to do about pixels that libtiff cannot decode. Most builds of it decode JPEG of 8 bits alone.
  var decodingRemedy: String {
    compression == 7 && bits != 8
      ? "compress it otherwise where it can be read: gdal_translate -co COMPRESS=DEFLATE"
      : "the file is damaged; copy or make it again"
  }

  /// The largest decoded block in bytes.
  static let blockBytesMax = 256 << 20

  /// Reads the layout of the handle's directory.
  ///
  /// - Throws: ``CutError`` `.badSource` for impossible sizes, an unknown compression, or more blocks than the file has
  ///   bytes.
  init(_ handle: TIFFHandle, file: SourceFile) throws {
    func bad(_ message: String, _ remedy: String = "the file is damaged; copy or make it again") -> CutError {
      CutError(.badSource, path: file.path, message, remedy: remedy)
    }
    var facts = ctiff_layout()
    guard ctiff_read_layout(handle.pointer, &facts) != 0 else { throw bad("has no image size") }
    guard facts.codec_known != 0 else {
      let name = ctiff_compression_name(facts.compression).map { "\(String(cString: $0)) (\(facts.compression))" }
      throw bad(
        "is compressed by method \(name ?? "\(facts.compression)"), which libtiff here cannot decode",
        "convert it, for instance with gdal_translate -co COMPRESS=DEFLATE")
    }
    guard (1...UInt32(Int32.max)).contains(facts.width), (1...UInt32(Int32.max)).contains(facts.height) else {
      throw bad("claims an impossible size of \(facts.width) x \(facts.height) pixels")
    }
    guard facts.samples >= 1, facts.bits >= 1, facts.bits <= 64 else {
      throw bad("claims \(facts.samples) samples of \(facts.bits) bits a pixel")
    }
    guard (1...UInt32(Int32.max)).contains(facts.block_width), (1...UInt32(Int32.max)).contains(facts.block_height)
    else {
      throw bad("claims impossible blocks of \(facts.block_width) x \(facts.block_height) pixels")
    }
    switch facts.format {
    case 1, 4: format = .unsigned
    case 2: format = .signed
    case 3: format = .float
    default:
      throw bad("has complex samples", "convert it to a greyscale or RGB image first")
    }
    (width, height) = (Int(facts.width), Int(facts.height))
    (blockWidth, blockHeight) = (Int(facts.block_width), Int(facts.block_height))
    isTiled = facts.tiled != 0
    (samples, bits) = (Int(facts.samples), Int(facts.bits))
    isSeparate = facts.planar == 2 && samples > 1
    photometric = Photometric(code: Int(facts.photometric))
    hasPhotometric = facts.has_photometric != 0
    compression = Int(facts.compression)
    orientation = Int(facts.orientation)
    isReducedImage = facts.subfile_type & 1 != 0
    isMask = facts.subfile_type & 4 != 0
    isRGBFromJPEG = facts.is_rgb_from_jpeg != 0
    storedBlockBytes = facts.block_bytes > UInt64(Int32.max) ? Int(Int32.max) : Int(facts.block_bytes)
    extraSamples = withUnsafeBytes(of: facts.extra) { codes in
      (0..<min(Int(facts.extra_count), 16)).map { i in
        switch codes.load(fromByteOffset: i * 2, as: UInt16.self) {
        case 1: .associatedAlpha
        case 2: .unassociatedAlpha
        default: .unspecified
        }
      }
    }
    guard storedBlockBytes > 0 else { throw bad("has blocks of no size: \(handle.takeError())") }
    // Every block takes at least its offset and length in the file.
    guard Int(facts.block_count) <= file.size else {
      throw bad("is cut short: \(facts.block_count) blocks cannot lie in a file of \(file.size) bytes")
    }
    let (needed, overflow) = (columns * rows).multipliedReportingOverflow(by: planes)
    guard !overflow, Int(facts.block_count) >= needed else {
      throw bad("claims \(facts.block_count) blocks, too few for \(width) x \(height) pixels")
    }
  }
}

/// Checks where all blocks of a directory lie before any is decoded.
struct TIFFBlockSurvey {
  /// Whether some block is missing in the file; it will be transparent.
  private(set) var isSparse = false
  /// Of those that were checked.
  private(set) var missingCount = 0
  /// How many were checked.
  private(set) var checkedCount = 0

  /// Of more blocks than this only every n-th is checked, and the file counts as sparse.
  private static let blockCountMax = 1 << 20

  /// - Throws: ``CutError`` `.badSource` if a block ends after the end of the file or an uncompressed one is too short:
  ///   the file is truncated or its header is wrong.
  init(_ layout: TIFFLayout, handle: TIFFHandle, file: SourceFile) throws {
    let count = layout.columns * layout.rows * layout.planes
    let step = (count + Self.blockCountMax - 1) / Self.blockCountMax
    isSparse = step > 1
    var written = false
    for number in stride(from: 0, to: count, by: max(1, step)) {
      var offset: UInt64 = 0
      var bytes: UInt64 = 0
      checkedCount += 1
      guard ctiff_block_range(handle.pointer, UInt32(number), &offset, &bytes) != 0 else {
        throw Self.bad(file, "does not say where block \(number) lies: \(handle.takeError())")
      }
      if bytes == 0 || offset == 0 {
        isSparse = true
        missingCount += 1
        continue
      }
      written = true
      let row = number % (layout.columns * layout.rows) / layout.columns
      let needed = Self.uncompressedBytes(layout, row: row)
      if let needed, bytes < needed {
        throw Self.bad(file, "has \(bytes) of the \(needed) bytes of block \(number)")
      }
      let (end, overflow) = offset.addingReportingOverflow(needed ?? bytes)
      guard !overflow, end <= UInt64(file.size) else {
        throw Self.bad(file, "is cut short: block \(number) of \(count) ends at byte \(end) of \(file.size)")
      }
    }
    // The few that were written may all lie between those that were checked.
    if !written, step > 1 { written = (0..<count).contains { Self.isWritten($0, handle) } }
    guard written else { throw Self.bad(file, "holds no pixels: none of its \(count) blocks was written") }
  }

  private static func isWritten(_ number: Int, _ handle: TIFFHandle) -> Bool {
    var (offset, bytes): (UInt64, UInt64) = (0, 0)
    return ctiff_block_range(handle.pointer, UInt32(number), &offset, &bytes) != 0 && offset != 0 && bytes != 0
  }

  private static func bad(_ file: SourceFile, _ message: String) -> CutError {
    CutError(.badSource, path: file.path, message, remedy: "copy or make the file again")
  }

  /// Bytes of an uncompressed block, or nil if blocks are compressed.
  private static func uncompressedBytes(_ layout: TIFFLayout, row: Int) -> UInt64? {
    // Subsampled YCbCr is packed differently.
    guard layout.compression == 1, layout.photometric != .ycbcr else { return nil }
    let rows = layout.isTiled ? layout.blockHeight : min(layout.blockHeight, layout.height - row * layout.blockHeight)
    return UInt64(rows) * UInt64(layout.storedRowBytes)
  }
}
