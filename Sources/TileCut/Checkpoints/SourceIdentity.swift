import Support
import TileIndex

/// Tells a source from other ones and from other states of itself, wherever it lies. The files beside it and those that
/// a VRT names are part of it.
///
/// The bytes count, not the path, so that a source may move. Where the files have more than ``sampledFrom`` bytes
/// together, which would take long to read, of large ones only a sample counts, and with it the time of the last
/// change.
struct SourceIdentity: Hashable, Sendable {
  /// Bytes that are read whole; each file has an equal share in it.
  static let sampledFrom = 64 << 20
  private static let sampleCount = 64
  private static let sampleBytes = 1 << 14

  /// The source as the user named it.
  let path: String
  /// The size of the source's own file.
  let bytes: Int
  /// `content:`, `sample:` or `edition:` and a SHA-256.
  let digest: String
  /// Sizes and times of the files, hashed: while they are the same, the files need not be read again. Nil for a source
  /// that is no file.
  let stamps: String?

  init(path: String, bytes: Int, digest: String, stamps: String? = nil) {
    (self.path, self.bytes, self.digest, self.stamps) = (path, bytes, digest, stamps)
  }

  /// - Parameters:
  ///   - known: what was found before; its digest is taken over if the files have the same sizes and times.
  ///   - count: of the sources that are read.
  /// - Throws: ``CutError`` if a file beside the source cannot be read.
  init(_ file: SourceFile, known: SourceIdentity? = nil, of count: Int = 1) throws {
    (path, bytes) = (file.path, file.size)
    if let edition = file.remote?.edition {
      digest = "edition:" + FileHash.sha256(ofText: "\(file.size) \(edition)")
      stamps = nil
      return
    }
    let others = file.isPlain ? Self.others(of: file.path) : []
    stamps =
      file.isPlain ? FileHash.sha256(ofText: ([file.path] + others).map(Self.stamp).joined(separator: "\n")) : nil
    if let known, let stamps, known.stamps == stamps {
      digest = known.digest
      return
    }
    let partCount = count * (1 + others.count)
    let (bytesMax, samples) = (Self.sampledFrom / partCount, max(Self.sampleCount / partCount, 2))
    var anyIsSampled = false
    var texts: [String] = []
    // One at a time: a VRT may name more files than may be open.
    for path in [nil] + others.map(Optional.some) {
      let part = try path.map { try SourceFile(path: $0) } ?? file
      let isSampled = part.isPlain && part.size > max(bytesMax, 2 * Self.sampleBytes)
      texts.append(isSampled ? Self.sample(of: part, samples) : Self.content(of: part))
      if isSampled { anyIsSampled = true }
    }
    digest = (anyIsSampled ? "sample:" : "content:") + FileHash.sha256(ofText: texts.joined(separator: "\n"))
  }

  /// A source all of whose bytes count, by hashes that are known or cached elsewhere.
  init(path: String, hashing sha256: (String) throws -> String) throws {
    let texts = try ([path] + Self.others(of: path)).map { try sha256($0) }
    self.init(
      path: path, bytes: FileStamp(path)?.bytes ?? 0,
      digest: "content:" + FileHash.sha256(ofText: texts.joined(separator: "\n")))
  }

  /// The other files of a source: those that a VRT names, and those beside any of them.
  static func others(of path: String) -> [String] {
    let files = [path] + VRTDocument.files(of: path)
    return files.dropFirst() + files.flatMap { SideFiles(path: $0).present }
  }

  private static func content(of file: SourceFile) -> String {
    var hash = SHA256Hash()
    // A server that names no edition is not asked for everything.
    let end = file.remote == nil ? file.size : min(file.size, sampleBytes)
    var offset = 0
    while offset < end {
      let bytes = file.bytes(at: offset, count: min(1 << 20, end - offset))
      guard !bytes.isEmpty else { break }
      hash.update(bytes)
      offset += bytes.count
    }
    return "\(file.size) \(Hexadecimal.text(hash.digest()))"
  }

  /// - Parameter count: of the samples, at least 2.
  private static func sample(of file: SourceFile, _ count: Int) -> String {
    var hash = SHA256Hash()
    for index in 0..<count {
      hash.update(file.bytes(at: (file.size - sampleBytes) / (count - 1) * index, count: sampleBytes))
    }
    hash.update(file.bytes(at: file.size - sampleBytes, count: sampleBytes))
    return "\(stamp(of: file.path)) \(Hexadecimal.text(hash.digest()))"
  }

  static func stamp(of path: String) -> String {
    let stamp = FileStamp(path)
    return "\(stamp?.bytes ?? 0) \(stamp?.seconds ?? 0).\(stamp?.nanoseconds ?? 0)"
  }
}
