extension JSONValue {
  /// Where and why a text is not JSON.
  package struct SyntaxError: Error, Hashable, CustomStringConvertible {
    /// Counts from 1.
    package let line: Int
    /// In bytes, counts from 1.
    package let column: Int
    package let message: String
    package var description: String { "line \(line): \(message)" }

    init(_ failure: JSONReader.Failure, in bytes: [UInt8]) {
      self.init(failure, byteCount: bytes.count) { bytes[$0] }
    }

    /// - Complexity: reads what lies before the error again.
    init(_ failure: JSONReader.Failure, in source: any ByteSource) {
      self.init(failure, byteCount: source.byteCount) { range in
        ((try? source.bytes(at: range.lowerBound, count: range.count)) ?? [])[...]
      }
    }

    private init(
      _ failure: JSONReader.Failure, byteCount: Int, _ bytes: (Range<Int>) -> ArraySlice<UInt8>
    ) {
      let (end, newline) = (min(failure.byte, byteCount), UInt8(ascii: "\n"))
      var (lines, lineStart) = (0, 0)
      for start in stride(from: 0, to: end, by: 1 << 16) {
        let piece = bytes(start..<min(start + 1 << 16, end))
        lines += piece.count { $0 == newline }
        if let last = piece.lastIndex(of: newline) { lineStart = start + last - piece.startIndex + 1 }
      }
      (line, column) = (lines + 1, end - lineStart + 1)
      message = failure.byte >= byteCount ? "the text ends early" : failure.message
    }
  }

  /// Reads a document that people or other programs wrote, in UTF-8 with or without a byte order mark. Invalid UTF-8
  /// becomes U+FFFD.
  ///
  /// - Throws: ``SyntaxError``: for what is not JSON, for more than 128 nested arrays and objects or more than
  ///   `valuesMax` values, and for a name that occurs twice in an object unless `duplicates` allows it.
  /// - Complexity: O(bytes), and memory in proportion.
  package init(
    parsing bytes: [UInt8], duplicates: DuplicateNames = .refused, valuesMax: Int = .max
  ) throws(SyntaxError) {
    var rules = JSONReader.Rules.documents
    (rules.duplicates, rules.valuesMax) = (duplicates, valuesMax)
    do throws(JSONReader.Failure) {
      self = try JSONReader.read(bytes, skipping: bytes.starts(with: UTF8Mark.bytes) ? UTF8Mark.bytes.count : 0, rules)
    } catch {
      throw SyntaxError(error, in: bytes)
    }
  }
}

/// A JSON document in a file.
package enum JSONFile {
  /// Why the file cannot be read, in lower case.
  package struct Unreadable: Error, CustomStringConvertible {
    package let description: String
    /// True when there is no such file.
    package let isMissing: Bool
    /// True for a file that may not be read.
    package private(set) var isForbidden = false
  }

  /// Larger documents are refused, so that a wrong file does not fill the memory.
  package static let bytesMax = 1 << 30

  /// - Throws: ``Unreadable``, or ``JSONValue/SyntaxError``.
  package static func read(
    _ path: String, duplicates: JSONValue.DuplicateNames = .refused, bytesMax: Int = bytesMax
  ) throws -> JSONValue {
    try JSONValue(parsing: try bytes(path, bytesMax: bytesMax), duplicates: duplicates)
  }

  /// - Throws: ``Unreadable``.
  package static func bytes(_ path: String, bytesMax: Int = bytesMax) throws -> [UInt8] {
    let file = try open(path)
    guard file.byteCount <= bytesMax else {
      throw Unreadable(description: "it has more than \(bytesMax >> 20) MB", isMissing: false)
    }
    do {
      return try file.bytes(at: 0, count: file.byteCount)
    } catch let error as FileSystem.SystemError {
      throw Unreadable(description: "\(error)", isMissing: false)
    }
  }

  /// - Throws: ``Unreadable``.
  package static func open(_ path: String) throws -> ReadOnlyFile {
    do {
      return try ReadOnlyFile(path)
    } catch let error as FileSystem.SystemError {
      throw Unreadable(description: "\(error)", isMissing: error.isMissing, isForbidden: error.isForbidden)
    } catch is ReadOnlyFile.NotAFile {
      throw Unreadable(description: "it is not a plain file", isMissing: false)
    }
  }
}
