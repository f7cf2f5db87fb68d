import MapStoreWire
import RegionCatalog
import Support
import TileIndex

/// A message from the server, which is checked before it is used: names become files, sizes ranges, times sums, and
/// texts reach terminals.
///
/// ``StoreClient`` decodes only such types, so that no answer skips the check.
protocol ServerAnswer: Decodable {
  /// Checks every member.
  ///
  /// - Throws: ``AnswerFault`` for the first invalid one.
  func check() throws
}

/// An invalid member of an answer.
struct AnswerFault: Error, CustomStringConvertible {
  /// The path of the member: `regions[3].bytes`.
  let place: String
  let complaint: String

  init(_ place: String, _ complaint: String) { (self.place, self.complaint) = (place, complaint) }

  var description: String { place.isEmpty ? complaint : "\(place) \(complaint)" }
}

/// The rules for members. Complaints do not quote the values, which may be anything.
enum AnswerRule {
  /// Ids and editions: they become file names.
  static func name(_ text: String?, _ place: String) throws {
    guard let text, !RegionNames.isName(text) else { return }
    throw AnswerFault(place, "is not a valid file name")
  }

  /// The name of a file of the catalogue.
  static func file(_ text: String, _ place: String) throws {
    guard RegionNames.isName(text, bytesMax: 200) else {
      throw AnswerFault(place, "is not a valid file name")
    }
  }

  /// Codes and tokens: printable ASCII without spaces.
  static func code(_ text: String?, _ place: String, bytesMax: Int = 512) throws {
    guard let text else { return }
    guard (1...bytesMax).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw AnswerFault(place, "is not 1 to \(bytesMax) printable characters of ASCII")
    }
  }

  /// The device token that is sent at the next sign-in, also a stored one: with an invalid one, the server might refuse
  /// every sign-in.
  static func deviceToken(_ text: String?) throws { try code(text, "deviceToken") }

  /// Text for people: one line, unless several are allowed, without characters that control a terminal or the direction
  /// of writing.
  static func text(_ text: String?, _ place: String, keepingLines: Bool = false) throws {
    guard let text else { return }
    guard text.utf8.count <= 20_000, text.isPrintable(keepingLines: keepingLines) else {
      throw AnswerFault(place, "is too long, or holds characters that control a terminal")
    }
  }

  /// The size of a file, up to 16 TiB: no file system has larger files, and sums of many do not overflow.
  static func size(_ bytes: Int?, _ place: String) throws {
    guard let bytes, !(1...1 << 44).contains(bytes) else { return }
    throw AnswerFault(place, "is not a valid file size")
  }

  static func count(_ number: Int, _ place: String) throws {
    guard (0...1 << 44).contains(number) else { throw AnswerFault(place, "is not a valid count") }
  }

  static func sha256(_ text: String, _ place: String) throws {
    guard isHexadecimal(text), text.utf8.count == 64 else {
      throw AnswerFault(place, "is not 64 hexadecimal digits in lower case")
    }
  }

  /// An aggregate hash of tiles; the publisher chooses the algorithm.
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

  /// A path on the server, or a URL; never `http` from an `https` server.
  ///
  /// - Parameter server: the base URL of the server.
  static func url(_ text: String?, _ place: String, of server: String) throws {
    guard let text else { return }
    guard text.utf8.count <= 8_192 else { throw AnswerFault(place, "is not an address that downloads may use") }
    let url: HTTPAddress
    // The place of a path's server is taken by any name.
    do { url = try HTTPAddress(text.hasPrefix("/") ? "https://server\(text)" : text) } catch {
      throw AnswerFault(place, "is not an address that downloads may use: it \(error)")
    }
    guard url.scheme == .https || !server.hasPrefix("https:") else {
      throw AnswerFault(place, "is not an address that downloads may use: it must begin with https://")
    }
  }

  static func base64URL(_ text: String, _ place: String) throws {
    guard Base64URL.decode(text) != nil else { throw AnswerFault(place, "is not base64url") }
  }

  /// Checks each element by its own rules; no two may have the same key.
  static func each<Part: ServerAnswer>(
    _ parts: [Part]?, _ place: String, by key: (Part) -> String? = { _ in nil }
  ) throws {
    var seen: Set<String> = []
    for (index, part) in (parts ?? []).enumerated() {
      try within("\(place)[\(index)]", part)
      if let key = key(part), !seen.insert(key).inserted { throw AnswerFault("\(place)[\(index)]", "occurs twice") }
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
