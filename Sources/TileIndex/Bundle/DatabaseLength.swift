import Support

/// Whether an SQLite file has all its pages. SQLite itself notices only when it comes to a page that is missing, which may be hours after opening.
enum DatabaseLength {
  /// The header of a database (SQLite file format, section 1.3).
  private static let headerBytes = 100

  /// Call only where no log or journal with changes lies beside the file: the header may then be ahead of the file.
  ///
  /// - Parameters:
  ///   - realPath: the file.
  ///   - path: the file as the caller named it.
  /// - Throws: ``BundleError`` with `.malformed` when the file is shorter than its header says.
  static func check(realPath: String, path: String) throws {
    // What cannot be read here SQLite will complain about in its own words.
    guard let file = try? ReadOnlyFile(realPath), let header = try? file.bytes(at: 0, count: headerBytes),
      header.count == headerBytes, header.starts(with: BundleMagic.sqlite)
    else { return }
    func number(_ offset: Int, _ count: Int) -> Int {
      header[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }
    // The page count holds only if the last writer knew the field (section 1.3.8).
    guard number(24, 4) == number(92, 4) else { return }
    let pageBytes = number(16, 2) == 1 ? 65536 : number(16, 2)
    let expected = pageBytes * number(28, 4)
    guard expected > file.byteCount else { return }
    throw BundleError(
      .malformed, path: path, "is cut off: \(file.byteCount) of \(expected) bytes are there",
      remedy: "wait until it is copied, or copy it again")
  }
}
