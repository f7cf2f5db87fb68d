import Foundation
import Support

/// Reads the pieces of a file: one piece, or JSON Lines (docs/ledger.md, The command). The memory it needs is that of a line.
package final class EvidenceFile {
  private let name: String
  private let handle: FileHandle
  private let pieceBytesMax: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var line = 0
  private var isAtEnd = false
  private var isWhole: Bool?
  /// Bytes read so far; of a pipe nobody knows how many will come.
  package private(set) var bytesRead = 0
  package let bytesTotal: Int?

  private static let chunkBytes = 1 << 20

  /// - Parameter path: `-` is standard input.
  /// - Throws: `LedgerError` with code `input`.
  package init(path: String, evidenceBytesMax: Int) throws(LedgerError) {
    name = path
    // A wrapper escapes what it wraps and says more.
    pieceBytesMax = evidenceBytesMax * 2 + 65_536
    if path == "-" {
      (handle, bytesTotal) = (.standardInput, nil)
    } else {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
        let handle = FileHandle(forReadingAtPath: path)
      else {
        throw LedgerError(
          .input, at: path,
          isFolder.boolValue ? "is a folder; name the files in it" : "cannot be read; check the name and permissions")
      }
      self.handle = handle
      let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
      bytesTotal = size
    }
  }

  /// The next piece; nil at the end.
  package func next() throws -> EvidencePiece? {
    if isWhole == nil {
      try lookAhead()
      isWhole = Self.isOnePiece(buffer, isAll: isAtEnd)
    }
    if isWhole == true {
      guard line == 0 else { return nil }
      line = 1
      while buffer.count <= pieceBytesMax, try fill() {}
      return piece(buffer[...])
    }
    while true {
      guard let end = try endOfLine() else { return nil }
      line += 1
      let text = buffer[start..<end]
      start = min(end + 1, buffer.count)
      if text.contains(where: { $0 > 0x20 }) { return piece(text) }
    }
  }

  /// Reads enough to see the first line and what comes behind it, unless the line is longer than a piece may be.
  private func lookAhead() throws {
    while buffer.count < Self.chunkBytes, try fill() {}
    // What some programs put in front of UTF-8.
    if buffer.starts(with: UTF8Mark.bytes) { buffer.removeFirst(UTF8Mark.bytes.count) }
    var end: Int?
    var searched = buffer.firstIndex { $0 > 0x20 } ?? buffer.count
    while true {
      end = newline(from: searched)
      searched = buffer.count
      guard end == nil, buffer.count <= pieceBytesMax, try fill() else { break }
    }
    guard let end else { return }
    while buffer.count - end < Self.chunkBytes, try fill() {}
  }

  /// Where the line that begins at `start` ends; nil behind the last one. Of a line that is too long only the beginning is kept.
  private func endOfLine() throws -> Int? {
    var searched = start
    while true {
      if let end = newline(from: searched) { return end }
      if start > 0 {
        buffer.removeFirst(start)
        start = 0
      }
      if buffer.count > pieceBytesMax + Self.chunkBytes { buffer.removeLast(buffer.count - pieceBytesMax - 1) }
      searched = buffer.count
      if try !fill() { return start < buffer.count ? buffer.count : nil }
    }
  }

  /// - Complexity: O(bytes), many at a time.
  private func newline(from start: Int) -> Int? {
    buffer.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      return memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base }
    }
  }

  private func fill() throws -> Bool {
    guard !isAtEnd else { return false }
    guard let data = try handle.read(upToCount: Self.chunkBytes), !data.isEmpty else {
      isAtEnd = true
      return false
    }
    bytesRead += data.count
    buffer.append(contentsOf: data)
    return true
  }

  private func piece(_ bytes: ArraySlice<UInt8>) -> EvidencePiece {
    let isTooLarge = bytes.count > pieceBytesMax
    return EvidencePiece(source: name, line: line, bytes: isTooLarge ? [] : Array(bytes), isTooLarge: isTooLarge)
  }

  /// DER, a JSON document of several lines, or wrapped base64, judged by the beginning.
  ///
  /// - Parameter isAll: Whether nothing comes behind these bytes.
  private static func isOnePiece(_ bytes: [UInt8], isAll: Bool) -> Bool {
    guard let first = bytes.firstIndex(where: { $0 > 0x20 }) else { return false }
    if bytes[first] == 0x30, first + 1 < bytes.count, bytes[first + 1] >= 0x80 { return true }
    let line = bytes[first...].prefix { $0 != 0x0a && $0 != 0x0d }
    // A line that is longer than a piece may be is refused by itself, and says nothing of those behind it.
    if line.endIndex == bytes.count && !isAll { return false }
    // One damaged line, or a title, is no reason to take all the others for a part of it: they look like pieces of their own.
    guard let next = bytes[line.endIndex...].firstIndex(where: { $0 > 0x20 }), bytes[next] != UInt8(ascii: "{") else {
      return false
    }
    let others = bytes[line.endIndex...].split(separator: 0x0a, maxSplits: 2, omittingEmptySubsequences: true).prefix(2)
    guard !others.contains(where: isSigned) else { return false }
    if bytes[first] == UInt8(ascii: "{") { return goesOn(bytes, from: first, beyond: next) }
    return isWrappedBase64(line) && isWrappedBase64(bytes[next...].prefix { $0 != 0x0a && $0 != 0x0d })
  }

  /// Whether JSON that the first line begins goes on with what begins at `next`: an object that was cut off does not, a document of many lines does,
  /// whatever is wrong with it further on.
  private static func goesOn(_ bytes: [UInt8], from first: Int, beyond next: Int) -> Bool {
    do {
      _ = try JSONReader.read(bytes[first...], duplicates: .kept)
      return true
    } catch {
      return error.byte > next - first
    }
  }

  /// Receipts in one line are longer than any line that a mail program or `base64` makes.
  private static func isWrappedBase64(_ line: ArraySlice<UInt8>) -> Bool {
    line.count <= 128 && Base64.isAlphabet(line)
  }

  /// A JWS has points between its parts; a line of base64 may begin as one does, and has none.
  private static func isSigned(_ line: ArraySlice<UInt8>) -> Bool {
    line.starts(with: "eyJ".utf8) && line.contains(UInt8(ascii: "."))
  }
}
