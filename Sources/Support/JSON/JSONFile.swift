/// A JSON document in a file.
package enum JSONFile {
  /// The file cannot be read; says why, in lower case.
  package struct Unreadable: Error, CustomStringConvertible {
    package let description: String
    /// True when there is nothing of this name.
    package let isMissing: Bool
  }

  /// Nobody writes documents of this size by hand or program.
  private static let bytesMax = 1 << 30

  /// - Throws: ``Unreadable``, or ``JSONValue/SyntaxError``.
  package static func read(_ path: String, duplicates: JSONValue.DuplicateNames = .refused) throws -> JSONValue {
    try JSONValue(parsing: try bytes(path), duplicates: duplicates)
  }

  /// - Throws: ``Unreadable``.
  package static func bytes(_ path: String) throws -> [UInt8] {
    do {
      let file = try ReadOnlyFile(path)
      guard file.byteCount <= bytesMax else { throw Unreadable(description: "it is too large", isMissing: false) }
      return try file.bytes(at: 0, count: file.byteCount)
    } catch let error as FileSystem.SystemError {
      throw Unreadable(description: "\(error)", isMissing: error.isMissing)
    } catch is ReadOnlyFile.NotAFile {
      throw Unreadable(description: "it is not a plain file", isMissing: false)
    }
  }
}
