import Support

/// The bytes of a PMTiles archive: its file, header and directories. Whatever the file claims, reads stay inside it,
/// and memory stays within the limits of ``PMTilesDirectory`` and one tile.
final class PMTilesArchive {
  let path: String
  let header: PMTilesHeader
  /// The only directory, or the root of a tree.
  let root: PMTilesDirectory
  private let file: any ByteSource
  /// The file of an archive on this machine.
  let localFile: ResidentFile?
  private var leaves = LeafCache()
  /// Bytes of memory that the directories take.
  var directoryBytes: Int {
    (root.entries.count + leaves.entryCount) * MemoryLayout<PMTilesDirectory.Entry>.stride
  }

  /// A root and three levels of leaves; producers use one.
  static let depthMax = 4
  /// A leaf of 4,000 entries has 5 to 25 kB.
  private static let quickLeafBytesMax = 32 << 10

  /// - Throws: ``BundleError`` with `.notFound`, `.malformed` or `.readFailed`.
  convenience init(path: String) throws { try self.init(path: path, ResidentFile(Self.openFile(path), path: path)) }

  /// - Parameter path: the archive's name in messages.
  init(path: String, _ file: any ByteSource) throws {
    self.path = path
    let head = try Self.reading(path) { try file.bytes(at: 0, count: min(PMTilesHeader.byteCount, file.byteCount)) }
    let header = try head.withUnsafeBytes { try PMTilesHeader($0, fileBytes: file.byteCount, path: path) }
    root = try Self.directory(header.root, file: file, header: header, path: path)
    (self.file, self.header, localFile) = (file, header, file as? ResidentFile)
  }

  /// - Parameter contents: of the same bytes.
  init(path: String, _ file: any ByteSource, _ contents: PMTilesReader.Contents) {
    (self.path, self.file, header, root) = (path, file, contents.header, contents.root)
    localFile = file as? ResidentFile
  }

  /// A leaf directory, from the cache or the file. Its ids are checked against the entry that refers to it, so no
  /// directory can contain itself.
  ///
  /// - Parameter ids: from the id of its entry to that of the next entry.
  func leaf(_ entry: PMTilesDirectory.Entry, ids: Range<UInt64>) throws -> PMTilesDirectory {
    let (end, overflow) = entry.offset.addingReportingOverflow(UInt64(entry.byteCount))
    guard !overflow, end <= UInt64(header.leaves.count) else { throw damaged("a directory lies outside its section") }
    let section = PMTilesHeader.Section(
      offset: header.leaves.offset + Int(entry.offset), count: Int(entry.byteCount))
    let directory: PMTilesDirectory
    if let known = leaves[section] {
      directory = known
    } else {
      // Unpacking a large one takes longer than a hop to a thread that may wait.
      if localFile?.mayWait == false, section.count > Self.quickLeafBytesMax { throw ResidentFile.WouldWait() }
      directory = try Self.directory(section, file: file, header: header, path: path)
      leaves.insert(directory, for: section)
    }
    guard directory.entries[0].firstID >= ids.lowerBound, directory.entries.last!.firstID < ids.upperBound else {
      throw damaged("a directory has tiles that belong into another")
    }
    return directory
  }

  /// Where the bytes of a tile's entry lie in the file.
  func place(of entry: PMTilesDirectory.Entry) throws -> (offset: Int, count: Int) {
    let count = Int(entry.byteCount)
    guard count <= BundleAccess.tileBytesMax else { throw damaged("a tile has \(count) bytes") }
    let (end, overflow) = entry.offset.addingReportingOverflow(UInt64(count))
    guard !overflow, end <= UInt64(max(file.byteCount - header.tileData.offset, 0)) else {
      throw damaged("a tile lies beyond the end of the file")
    }
    return (header.tileData.offset + Int(entry.offset), count)
  }

  /// Passes the bytes of a tile's entry to a closure.
  ///
  /// - Parameter block: for a walk through the archive; the closure must not use it.
  func withBytes<Result>(
    _ entry: PMTilesDirectory.Entry, ahead block: PMTilesBlock? = nil,
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let (offset, count) = try place(of: entry)
    if let block {
      return try Self.reading(path) {
        try block.withBytes(of: file, at: offset, count: count) { bytes in
          guard bytes.count == count else { throw Self.shortened(path) }
          return try body(bytes)
        }
      }
    }
    // A new buffer each time, because the closure may read another tile.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
    defer { buffer.deallocate() }
    let read = try Self.reading(path) { try file.read(into: buffer, at: offset) }
    guard read == count else { throw Self.shortened(path) }
    return try body(UnsafeRawBufferPointer(buffer))
  }

  /// Passes the bytes of a section as they are to a closure, block by block.
  func forEachBlock(of section: PMTilesHeader.Section, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { block.deallocate() }
    var offset = section.offset
    while offset < section.end {
      let part = UnsafeMutableRawBufferPointer(rebasing: block[..<min(block.count, section.end - offset)])
      let read = try Self.reading(path) { try file.read(into: part, at: offset) }
      guard read == part.count else { throw Self.shortened(path) }
      try body(UnsafeRawBufferPointer(part))
      offset += part.count
    }
  }

  /// The JSON text; empty when there is none.
  func metadataText() throws -> [UInt8] {
    guard header.metadata.count > 0 else { return [] }
    return try Self.unpacked(header.metadata, "metadata", file: file, header: header, path: path)
  }

  func damaged(_ message: String) -> BundleError { Self.damaged(message, path) }
}

extension PMTilesArchive {
  private static func openFile(_ path: String) throws -> ReadOnlyFile {
    do {
      return try ReadOnlyFile(path)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch let error as ReadOnlyFile.NotAFile {
      throw BundleError(
        .malformed, path: path, error.kind == .folder ? "is a folder, not a PMTiles archive" : "is not a plain file",
        remedy: "name a PMTiles archive")
    }
  }

  private static func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    }
  }

  private static func damaged(_ message: String, _ path: String) -> BundleError {
    BundleError(.malformed, path: path, "is damaged: \(message)", remedy: "make or copy it again")
  }

  private static func shortened(_ path: String) -> BundleError {
    BundleError(.malformed, path: path, "is cut off", remedy: "copy it again")
  }

  private static func directory(
    _ section: PMTilesHeader.Section, file: any ByteSource, header: PMTilesHeader, path: String
  ) throws -> PMTilesDirectory {
    let bytes = try unpacked(section, "directory", file: file, header: header, path: path)
    do {
      return try PMTilesDirectory(bytes)
    } catch {
      throw damaged(error.message, path)
    }
  }

  /// A section, decompressed if the header's internal compression says so.
  private static func unpacked(
    _ section: PMTilesHeader.Section, _ what: String, file: any ByteSource, header: PMTilesHeader, path: String
  ) throws -> [UInt8] {
    let byteCountMax = PMTilesDirectory.byteCountMax
    guard section.count > 0 else { throw damaged("its \(what) has no bytes", path) }
    guard section.count <= byteCountMax else {
      throw damaged("its \(what) has \(section.count) bytes, more than \(byteCountMax)", path)
    }
    let bytes = try reading(path) { try file.bytes(at: section.offset, count: section.count) }
    guard bytes.count == section.count else { throw shortened(path) }
    guard header.internalCompression == .gzip else { return bytes }
    do {
      return try bytes.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: byteCountMax) }
    } catch let error as Gunzip.Failure {
      switch error {
      case .damaged: throw damaged("its \(what) cannot be unpacked", path)
      case .noMemory:
        throw BundleError(.readFailed, path: path, "there is no memory to unpack its \(what)", remedy: "try again")
      case .tooLarge: throw damaged("its \(what) has more than \(byteCountMax) bytes when unpacked", path)
      }
    }
  }
}

/// What is in memory of an archive's file, for a walk through its tiles: a block at the walk's place, and the last
/// bytes elsewhere, which are those of tiles that recur.
final class PMTilesBlock {
  /// Small enough for a processor's cache, so that what is read is there when it is used.
  private static let byteCount = 1 << 18

  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
  /// Offsets in the file of what is in the buffer; empty where the walk is, when nothing is.
  private var range = 0..<0
  private var recurring: (offset: Int, bytes: [UInt8]) = (0, [])

  deinit { buffer.deallocate() }

  /// Passes bytes of the file to a closure, which must not use this object; fewer at the end of the file.
  func withBytes<Result>(
    of file: any ByteSource, at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let end = offset + count
    if offset >= range.lowerBound, end <= range.upperBound { return try body(inBuffer(offset..<end)) }
    let follows = (range.lowerBound...range.upperBound).contains(offset) || range.lowerBound == 0
    if follows, count <= buffer.count {
      range = offset..<offset
      range = offset..<(offset + (try file.read(into: buffer, at: offset)))
      return try body(inBuffer(offset..<min(end, range.upperBound)))
    }
    if recurring.offset != offset || recurring.bytes.count != count {
      recurring = (offset, try file.bytes(at: offset, count: count))
      // The walk goes on behind a gap.
      if offset > range.upperBound { range = end..<end }
    }
    return try recurring.bytes.withUnsafeBytes(body)
  }

  private func inBuffer(_ part: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      rebasing: buffer[(part.lowerBound - range.lowerBound)..<(part.upperBound - range.lowerBound)])
  }
}

/// The most recently used leaf directories. Viewers request neighbouring tiles, which share a leaf.
struct LeafCache {
  private struct Item {
    let directory: PMTilesDirectory
    var lastUse: Int
  }

  // Leaves have about 4,000 entries of 24 bytes: 1.5 MB in all.
  static let leafCountMax = 16
  static let entryCountMax = 1 << 16

  private var items: [PMTilesHeader.Section: Item] = [:]
  private var uses = 0
  private(set) var entryCount = 0

  subscript(section: PMTilesHeader.Section) -> PMTilesDirectory? {
    mutating get {
      uses += 1
      items[section]?.lastUse = uses
      return items[section]?.directory
    }
  }

  /// Adds a directory and evicts the least recently used ones; a directory that is too large is not cached.
  mutating func insert(_ directory: PMTilesDirectory, for section: PMTilesHeader.Section) {
    let count = directory.entries.count
    guard count <= Self.entryCountMax else { return }
    while items.count >= Self.leafCountMax || entryCount + count > Self.entryCountMax {
      guard let oldest = items.min(by: { $0.value.lastUse < $1.value.lastUse }) else { break }
      entryCount -= oldest.value.directory.entries.count
      items[oldest.key] = nil
    }
    uses += 1
    items[section] = Item(directory: directory, lastUse: uses)
    entryCount += count
  }
}
