import Crypto
import LibC
import Support

/// Reads evidence from a file: one piece, or JSON Lines (docs/reference/ledger.md, The command). Needs the memory of
/// one line.
package final class EvidenceFile {
  private let name: String
  private let descriptor: Int32
  private let pieceBytesMax: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var line = 0
  private var isAtEnd = false
  private var isWhole: Bool?
  private var wide: UTF16Text?
  /// The number of bytes read so far; the total is nil for a pipe.
  package private(set) var bytesRead = 0
  package let bytesTotal: Int?
  /// The line of the last page of a store's list, if that says that there are more pages.
  package var lineOfUnfinishedPage: Int?

  private static let chunkBytes = 1 << 20

  /// - Parameter path: `-` is standard input.
  /// - Throws: `LedgerError` with code `input`.
  package init(path: String, evidenceBytesMax: Int) throws(LedgerError) {
    name = path
    // A wrapper escapes the evidence and adds members.
    pieceBytesMax = evidenceBytesMax * 2 + 65_536
    if path == "-" {
      (descriptor, bytesTotal) = (STDIN_FILENO, nil)
    } else {
      let status = try? FileSystem.status(path)
      guard status?.kind != .folder else {
        throw LedgerError(.input, at: path, "is a folder", remedy: "name the files in it")
      }
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        let reason = FileSystem.SystemError(number: errno)
        throw LedgerError(.input, at: path, "cannot be read: \(reason)", remedy: "check the name and permissions")
      }
      bytesTotal = status?.bytes
    }
  }

  deinit {
    if descriptor != STDIN_FILENO { close(descriptor) }
  }

  /// The next piece; nil at the end.
  package func next() throws -> EvidenceItem? {
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

  /// Reads the first line and some bytes after it, unless the line exceeds the size limit.
  private func lookAhead() throws {
    while buffer.count < Self.chunkBytes, try fill() {}
    // Some programs write a byte order mark, and PowerShell UTF-16.
    wide = UTF16Text(buffer)
    if wide != nil { buffer = wide!.utf8(buffer) }
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

  /// The end of the line that begins at `start`; nil at the end of the file. Only the beginning of an oversized line is
  /// kept.
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

  /// - Complexity: O(bytes), by `memchr`.
  private func newline(from start: Int) -> Int? {
    buffer.withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      return memchr(base + start, 0x0a, bytes.count - start).map { UnsafeRawPointer($0) - base }
    }
  }

  private func fill() throws -> Bool {
    guard !isAtEnd else { return false }
    let bytes = try FileSystem.read(descriptor, count: Self.chunkBytes)
    guard !bytes.isEmpty else {
      isAtEnd = true
      return false
    }
    bytesRead += bytes.count
    buffer.append(contentsOf: wide?.utf8(bytes) ?? bytes)
    return true
  }

  private func piece(_ bytes: ArraySlice<UInt8>) -> EvidenceItem {
    let isTooLarge = bytes.count > pieceBytesMax
    return EvidenceItem(source: name, line: line, bytes: isTooLarge ? [] : Array(bytes), isTooLarge: isTooLarge)
  }

  /// Whether the file is one piece (DER, a JSON document of several lines, or wrapped base64), judged by its beginning.
  ///
  /// - Parameter isAll: Whether these bytes are the whole file.
  private static func isOnePiece(_ bytes: [UInt8], isAll: Bool) -> Bool {
    guard let first = bytes.firstIndex(where: { $0 > 0x20 }) else { return false }
    if bytes[first] == UInt8(ascii: "["), !isAll || bytes[first...].contains(0x0a) { return isList(bytes, from: first) }
    if bytes[first] == 0x30, first + 1 < bytes.count, bytes[first + 1] >= 0x80 { return true }
    let line = bytes[first...].prefix { $0 != 0x0a && $0 != 0x0d }
    // An oversized line is refused by itself and tells nothing about the following lines.
    if line.endIndex == bytes.count && !isAll { return false }
    // If the following lines look like pieces of their own, the first line may be damaged or a title.
    guard let next = bytes[line.endIndex...].firstIndex(where: { $0 > 0x20 }), bytes[next] != UInt8(ascii: "{") else {
      return false
    }
    let others = bytes[line.endIndex...].split(separator: 0x0a, maxSplits: 2, omittingEmptySubsequences: true).prefix(2)
    guard !others.contains(where: isSigned) else { return false }
    if bytes[first] == UInt8(ascii: "{") { return goesOn(bytes, from: first, beyond: next) }
    return isWrappedBase64(line) && isWrappedBase64(bytes[next...].prefix { $0 != 0x0a && $0 != 0x0d })
  }

  /// Whether a list goes on behind its first line: it does where the line is no whole list, and the next is JSON too.
  private static func isList(_ bytes: [UInt8], from first: Int) -> Bool {
    let line = bytes[first...].prefix { $0 != 0x0a }
    if (try? JSONReader.read(line, duplicates: .kept)) != nil { return false }
    guard let next = bytes[line.endIndex...].firstIndex(where: { $0 > 0x20 }) else { return false }
    return goesOn(bytes, from: first, beyond: next)
  }

  /// Whether the JSON of the first line continues at `next`: a document of several lines does, also one with a later
  /// error; a truncated object does not.
  private static func goesOn(_ bytes: [UInt8], from first: Int, beyond next: Int) -> Bool {
    do {
      _ = try JSONReader.read(bytes[first...], duplicates: .kept)
      return true
    } catch {
      return error.byte > next - first
    }
  }

  /// Whether a line looks like wrapped base64; a receipt in one line is longer than the lines of mail programs and
  /// `base64`.
  private static func isWrappedBase64(_ line: ArraySlice<UInt8>) -> Bool {
    line.count <= 128 && Base64.isAlphabet(line)
  }

  /// Whether a line is a JWS, whose parts are separated by dots; base64 may begin alike but has no dots.
  private static func isSigned(_ line: ArraySlice<UInt8>) -> Bool {
    line.starts(with: "eyJ".utf8) && line.contains(UInt8(ascii: "."))
  }
}

/// One piece of evidence as read: a line of a file, or the whole file.
package struct EvidenceItem: Sendable {
  /// The file's name as given.
  package var source: String
  /// From 1.
  package var line: Int
  package var bytes: [UInt8]
  /// Whether it exceeds the size limit; then `bytes` is empty.
  package var isTooLarge: Bool
}

// MARK: - Lines with an account or options

/// The JSON Lines wrapper `{"account", "evidence", ...}` (docs/reference/ledger.md, The command).
///
/// Unknown members and values are refused by name, so that a typing error of the operator is not recorded as something
/// else.
package struct EvidenceWrapper {
  var account: String?
  /// The text of the member `evidence`, or its JSON unchanged.
  package private(set) var evidence: [UInt8]
  package private(set) var kind: EvidenceKind?
  var isExplicit = true
  package private(set) var context = EvidenceContext()
  /// How it arrived first; nil unless the line is of a spool.
  private(set) var channel: Submission.Channel?
  /// When it was submitted first, in milliseconds since 1970.
  private(set) var time: Int64?
  private var isBase64 = false
  private var sha256: String?

  private static let names = [
    "account", "environment", "evidence", "intent", "kind", "packageName", "productId", "purchaseDate", "purchaseToken",
  ]
  /// Members of the lines that the ledger itself writes (`SpoolLine`).
  private static let spoolNames = ["channel", "encoding", "sha256", "time"]

  /// Nil for JSON without a member `evidence`.
  ///
  /// - Complexity: O(bytes). The evidence's own JSON is skipped, because the verifier parses it.
  /// - Throws: `VerificationError` that names a member that is unknown, duplicate or has an invalid value.
  package init?(_ bytes: [UInt8]) throws(VerificationError) {
    guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
      let members = try? JSONReader.members(bytes[...]),
      let place = members.first(where: { $0.name == "evidence" })?.value
    else { return nil }
    for (index, member) in members.enumerated() {
      guard Self.names.contains(member.name) || Self.spoolNames.contains(member.name) else {
        throw Self.unknown("member", member.name, Self.names)
      }
      guard !members[..<index].contains(where: { $0.name == member.name }) else {
        throw VerificationError(.malformed, "the line has \"\(member.name)\" twice", remedy: "leave one of them")
      }
    }
    evidence = Array(bytes[place])
    if evidence.elementsEqual("null".utf8) { return nil }
    for (name, place) in members where name != "evidence" || evidence.first == UInt8(ascii: "\"") {
      let value: JSONValue
      do { value = try JSONReader.read(bytes[place]) } catch {
        throw VerificationError(.malformed, "\"\(name)\" of the line is not JSON: \(error.message)")
      }
      // null counts as absent.
      if value != .null { try take(name, value) }
    }
    if isBase64 {
      guard let bytes = Base64.decode(evidence) else {
        throw VerificationError(.malformed, "\"evidence\" of the line is not base64")
      }
      evidence = bytes
    }
    guard let sha256 else { return }
    guard Hexadecimal.text(SHA256.hash(data: evidence)) == sha256 else {
      throw VerificationError(
        .malformed, "the evidence has another SHA-256 than its line says", remedy: "take the line from another copy")
    }
  }

  private mutating func take(_ name: String, _ value: JSONValue) throws(VerificationError) {
    guard let text = value.identifier else {
      throw VerificationError(.malformed, "\"\(name)\" of the line must be a text in quotation marks")
    }
    switch name {
    case "account": account = text
    case "evidence": evidence = Array(text.utf8)
    case "productId": context.productID = text
    case "purchaseToken": context.purchaseToken = text
    case "packageName": context.packageName = text
    case "purchaseDate":
      context.purchaseDate = Int64(text)
      guard context.purchaseDate != nil else { throw Self.unknown(name, text, ["milliseconds since 1970"]) }
    case "channel":
      channel = Submission.Channel(name: text)
      guard channel != nil else { throw Self.unknown(name, text, ["import", "app", "notification"]) }
    case "encoding":
      guard text == "base64" else { throw Self.unknown(name, text, ["base64"]) }
      isBase64 = true
    case "sha256": sha256 = text
    case "time":
      time = Int64(text)
      guard time != nil else { throw Self.unknown(name, text, ["milliseconds since 1970"]) }
    case "intent":
      guard ["restore", "refresh"].contains(text) else { throw Self.unknown(name, text, ["restore", "refresh"]) }
      isExplicit = text == "restore"
    case "kind":
      kind = EvidenceKind(name: text)
      guard kind != nil else { throw Self.unknown(name, text, EvidenceKind.allCases.map(\.name)) }
    default:
      let environment = StoreEnvironment(storeText: text)
      guard environment.code != nil else { throw Self.unknown(name, text, ["Production", "Sandbox"]) }
      context.environment = environment
    }
  }

  /// Whether a line is a page of a store's list that says that there are more; nil if it is no page.
  static func pageHasMore(_ item: EvidenceItem) -> Bool? {
    guard item.bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"), !SpoolLine.isAccount(item) else { return nil }
    if let page = EvidenceForm.pageHasMore(item.bytes[...]) { return page }
    guard let members = try? JSONReader.members(item.bytes[...]),
      let place = members.first(where: { $0.name == "evidence" })?.value,
      item.bytes[place].first == UInt8(ascii: "{")
    else { return nil }
    return EvidenceForm.pageHasMore(item.bytes[place])
  }

  /// The pieces in a line, each with the line's other members; the line itself where it is refused.
  static func pieces(of item: EvidenceItem) -> [EvidenceItem] {
    // Most lines are a JWS or a receipt.
    guard let first = item.bytes.first(where: { $0 > 0x20 }),
      [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains(first),
      !SpoolLine.isAccount(item)
    else { return [item] }
    // In most wrapped lines, too: they are parsed once, when they are read as evidence.
    if let place = try? JSONReader.members(item.bytes[...])?.first(where: { $0.name == "evidence" })?.value,
      item.bytes[place].first == UInt8(ascii: "\""), item.bytes[place].dropFirst().first.map(Self.isLetter) == true
    {
      return [item]
    }
    let wrapper: EvidenceWrapper?
    do { wrapper = try EvidenceWrapper(item.bytes) } catch { return [item] }
    let evidence = wrapper?.evidence ?? item.bytes
    guard wrapper?.kind == nil, let pieces = try? EvidenceForm.pieces(in: evidence), pieces != [evidence] else {
      return [item]
    }
    let members = wrapper == nil ? [] : (try? JSONReader.read(item.bytes).members) ?? []
    return pieces.map { piece in
      var item = item
      item.bytes = piece
      if wrapper != nil {
        let text = JSONValue.Member("evidence", .string(String(decoding: piece, as: UTF8.self)))
        item.bytes = Array(JSONValue.object(members.map { $0.name == "evidence" ? text : $0 }).text.utf8)
      }
      return item
    }
  }

  /// What a JWS and base64 begin with.
  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
  }

  private static func unknown(_ what: String, _ text: String, _ known: [String]) -> VerificationError {
    VerificationError(
      .malformed, "\(what) \"\(text.prefix(40))\" of the line is not known; there are \(known.joined(separator: ", "))")
  }
}
