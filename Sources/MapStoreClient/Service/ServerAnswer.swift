import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// What the server sends. Nothing of it is believed before it was looked at: names become files, sizes ranges, times sums, and texts reach terminals.
///
/// Whatever ``StoreClient`` decodes is one, so no answer goes around its check.
protocol ServerAnswer: Decodable {
  /// Looks at every member.
  ///
  /// - Throws: ``AnswerFault`` for the first that cannot be true.
  func check() throws
}

/// A member of an answer that cannot be true.
struct AnswerFault: Error, CustomStringConvertible {
  /// Where in the answer: `regions[3].bytes`.
  let place: String
  let complaint: String

  init(_ place: String, _ complaint: String) { (self.place, self.complaint) = (place, complaint) }

  var description: String { place.isEmpty ? complaint : "\(place) \(complaint)" }
}

/// The rules that members keep. What is not quoted in a complaint may be anything.
enum AnswerRule {
  /// Ids and editions, as publishers may choose them: they become names of files.
  static func name(_ text: String?, _ place: String) throws {
    guard let text, !RegionManifest.isName(text) else { return }
    throw AnswerFault(place, "is no name that a file may have")
  }

  /// A file of the shop's.
  static func file(_ text: String, _ place: String) throws {
    guard RegionManifest.isName(text, bytesMax: 200) else {
      throw AnswerFault(place, "is no name that a file may have")
    }
  }

  /// Codes and tokens: printable ASCII without spaces.
  static func code(_ text: String?, _ place: String, bytesMax: Int = 512) throws {
    guard let text else { return }
    guard (1...bytesMax).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw AnswerFault(place, "is not 1 to \(bytesMax) printable characters of ASCII")
    }
  }

  /// What is shown at the next sign-in, also one that was kept: with another a server may refuse to read the
  /// request, for as long as it is shown.
  static func deviceToken(_ text: String?) throws { try code(text, "deviceToken") }

  /// What people read: a line, unless it may have several. A terminal, or the order of a line's letters, is nothing
  /// for it to change.
  static func text(_ text: String?, _ place: String, keepingLines: Bool = false) throws {
    guard let text else { return }
    guard text.utf8.count <= 20_000, text.isPrintable(keepingLines: keepingLines) else {
      throw AnswerFault(place, "is too long, or holds characters that control a terminal")
    }
  }

  /// A file's bytes: file systems have none that are larger, and sums of many stay numbers.
  static func size(_ bytes: Int?, _ place: String) throws {
    guard let bytes, !(1...1 << 44).contains(bytes) else { return }
    throw AnswerFault(place, "is no size of a file")
  }

  static func count(_ number: Int, _ place: String) throws {
    guard (0...1 << 44).contains(number) else { throw AnswerFault(place, "is no number of things") }
  }

  static func sha256(_ text: String, _ place: String) throws {
    guard isHexadecimal(text), text.utf8.count == 64 else {
      throw AnswerFault(place, "is not 64 hexadecimal digits in lower case")
    }
  }

  /// An aggregate hash of tiles; which, is the publisher's affair.
  static func tilesHash(_ text: String, _ place: String) throws {
    guard isHexadecimal(text), (2...128).contains(text.utf8.count) else {
      throw AnswerFault(place, "is no hash in hexadecimal digits")
    }
  }

  private static func isHexadecimal(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Milliseconds since 1970, up to the year 9999.
  static func time(_ milliseconds: Int64, _ place: String) throws {
    guard (0...253_402_300_799_999).contains(milliseconds) else {
      throw AnswerFault(place, "is no time between 1970 and 9999")
    }
  }

  static func zooms(_ range: (min: Int, max: Int), _ place: String) throws {
    guard 0 <= range.min, range.min <= range.max, range.max <= TileID.zoomMax else {
      throw AnswerFault(place, "is no zoom")
    }
  }

  static func box(_ numbers: [Double]?, _ place: String) throws {
    guard let numbers else { return }
    guard numbers.count == 4, numbers[1] <= numbers[3] else {
      throw AnswerFault(place, "is not west, south, east, north")
    }
    try position(numbers[0], numbers[1], place)
    try position(numbers[2], numbers[3], place)
  }

  static func position(_ longitude: Double, _ latitude: Double, _ place: String) throws {
    guard abs(longitude) <= 540, abs(latitude) <= 90.000001 else { throw AnswerFault(place, "is not in degrees") }
  }

  /// A path on the server, or an address; `https` stays `https`.
  ///
  /// - Parameter server: the address that was asked.
  static func url(_ text: String?, _ place: String, of server: String) throws {
    guard let text else { return }
    let isWhole = text.hasPrefix("https://") || (text.hasPrefix("http://") && !server.lowercased().hasPrefix("https:"))
    let host = isWhole ? text.split(separator: "/", omittingEmptySubsequences: false)[2] : "-"
    guard isWhole || text.hasPrefix("/"), !host.isEmpty, !host.contains("@"), text.utf8.count <= 8_192,
      text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") })
    else { throw AnswerFault(place, "is no address that may be loaded from") }
  }

  static func base64URL(_ text: String, _ place: String) throws {
    guard Base64URL.decode(text) != nil else { throw AnswerFault(place, "is not base64url") }
  }

  /// Parts of an answer, each by its own rules; no two may have the same key.
  static func each<Part: ServerAnswer>(
    _ parts: [Part]?, _ place: String, by key: (Part) -> String? = { _ in nil }
  ) throws {
    var seen: Set<String> = []
    for (index, part) in (parts ?? []).enumerated() {
      try within("\(place)[\(index)]", part)
      if let key = key(part), !seen.insert(key).inserted { throw AnswerFault("\(place)[\(index)]", "is there twice") }
    }
  }

  static func within(_ place: @autoclosure () -> String, _ part: (some ServerAnswer)?) throws {
    do {
      try part?.check()
    } catch let fault as AnswerFault {
      throw AnswerFault([place(), fault.place].filter { !$0.isEmpty }.joined(separator: "."), fault.complaint)
    }
  }
}
