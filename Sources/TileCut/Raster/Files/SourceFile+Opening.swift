import LibC
import Support

extension SourceFile {
  /// The name that stands for standard input.
  static let standardInput = "-"
  /// The most bytes taken from standard input, or from a server for a format that is decoded from its start.
  static let spoolBytesMax = 16 << 30

  /// Opens a source by its name: a path, `-` for standard input, or a URL.
  ///
  /// Standard input is copied to a scratch file, because rasters are read from all places. So is what a server has that
  /// is no TIFF.
  /// - Throws: ``CutError`` naming the source or the scratch directory.
  static func source(
    named path: String, scratchDirectory: String, cache: @autoclosure () -> RemoteCache
  ) throws -> SourceFile {
    if path == standardInput {
      return try spooled(STDIN_FILENO, path: "standard input", directory: scratchDirectory)
    }
    guard RemoteSourceFile.isURL(path) else { return try SourceFile(path: path) }
    let cache = cache()
    let prefix: [UInt8]
    switch try RemoteSourceFile.open(path, cache: cache) {
    case .file(let file, let start):
      if RasterFormat(start) == .tiff { return SourceFile(file) }
      prefix = start
    case .wholeOnly(let start):
      guard RasterFormat(start) != .tiff else {
        throw CutError(
          .unreadableSource, path: RemoteSourceFile.label(path),
          "its server sends no ranges of bytes, only the whole file",
          remedy: "download it first")
      }
      prefix = start
    }
    guard let format = RasterFormat(prefix) else {
      throw CutError(
        .badSource, path: RemoteSourceFile.label(path), "is no raster of a known format",
        remedy: "give the address of a GeoTIFF, PNG, JPEG, WebP or JPEG 2000 file")
    }
    guard format != .vrt else {
      throw CutError(
        .badSource, path: RemoteSourceFile.label(path), "is a VRT, whose sources lie elsewhere",
        remedy: "download it, or name its sources")
    }
    let scratch = try ScratchFile(directory: scratchDirectory)
    let size = try RemoteSourceFile.download(path, into: scratch, bytesMax: spoolBytesMax, cache: cache)
    return SourceFile(scratch, size: size, path: RemoteSourceFile.label(path))
  }

  /// Copies everything that can be read from a descriptor to a scratch file.
  static func spooled(
    _ descriptor: Int32, path: String, directory: String, bytesMax: Int = spoolBytesMax
  ) throws -> SourceFile {
    guard isatty(descriptor) == 0 else {
      throw CutError(
        .unreadableSource, path: path, "is a terminal", remedy: "send a raster into it", repair: .sendRaster)
    }
    let scratch = try ScratchFile(directory: directory)
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { chunk.deallocate() }
    var size = 0
    while true {
      let count = read(descriptor, chunk, 1 << 20)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw CutError(
          .unreadableSource, path: path, "cannot be read: \(FileSystem.SystemError(number: errno))",
          remedy: "check what is sent into it")
      }
      if count == 0 { break }
      guard size + count <= bytesMax else {
        throw CutError(
          .unreadableSource, path: path, "has more than \(bytesMax >> 30) GB",
          remedy: "store it in a file, and name that")
      }
      try scratch.write(chunk, count: count, at: size)
      size += count
    }
    return SourceFile(scratch, size: size, path: path)
  }
}
