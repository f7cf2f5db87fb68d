import Support
import TileIndex

/// Tells a source from other ones and from other states of itself, wherever it lies. The files beside it and those that
/// a VRT names are part of it.
///
/// The bytes count, not the path, so that a source may move. Of a file above ``sampledFrom`` bytes, which would take
/// long to read, only a sample counts, and with it the time of the last change.
struct SourceIdentity: Hashable, Sendable {
  /// Larger files are sampled.
  static let sampledFrom = 64 << 20
  private static let sampleCount = 64
  private static let sampleBytes = 1 << 14

  /// The source as the user named it.
  let path: String
  /// The size of the source's own file.
  let bytes: Int
  /// `content:`, `sample:` or `edition:` and a SHA-256.
  let digest: String

  init(path: String, bytes: Int, digest: String) {
    (self.path, self.bytes, self.digest) = (path, bytes, digest)
  }

  /// - Throws: ``BundleError`` if a file beside the source cannot be read.
  init(_ file: SourceFile) throws {
    (path, bytes) = (file.path, file.size)
    if let edition = file.remote?.edition {
      digest = "edition:" + FileHash.sha256(ofText: "\(file.size) \(edition)")
      return
    }
    var parts = [file]
    if file.isPlain {
      let files = [file.path] + VRTDocument.files(of: file.path)
      let others = files.dropFirst() + files.flatMap { SideFiles(path: $0).present }
      parts += try others.map { try SourceFile(path: $0) }
    }
    let isSampled = parts.contains { $0.isPlain && $0.size > Self.sampledFrom }
    let texts = parts.map { part in
      part.isPlain && part.size > Self.sampledFrom ? Self.sample(of: part) : Self.content(of: part)
    }
    digest = (isSampled ? "sample:" : "content:") + FileHash.sha256(ofText: texts.joined(separator: "\n"))
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

  private static func sample(of file: SourceFile) -> String {
    var hash = SHA256Hash()
    for index in 0..<sampleCount {
      hash.update(file.bytes(at: (file.size - sampleBytes) / (sampleCount - 1) * index, count: sampleBytes))
    }
    hash.update(file.bytes(at: file.size - sampleBytes, count: sampleBytes))
    let stamp = FileStamp(file.path)
    return
      "\(file.size) \(stamp?.seconds ?? 0).\(stamp?.nanoseconds ?? 0) \(Hexadecimal.text(hash.digest()))"
  }
}
