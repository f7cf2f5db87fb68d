import Foundation

/// JSON web tokens (RFC 7519) that our side signs to be let in.
enum WebToken {
  /// - Parameter sign: Signs the text before the second dot.
  static func make(
    header: [(String, JSONValue)], claims: [(String, JSONValue)], sign: (Data) throws -> Data
  ) rethrows -> String {
    let text = [header, claims].map { fields in
      base64URL(JSONValue.object(fields.map { .init(name: $0.0, value: $0.1) }).text.utf8)
    }.joined(separator: ".")
    return try text + "." + base64URL(sign(Data(text.utf8)))
  }

  private static func base64URL(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: Base64.encodeURL(bytes), as: UTF8.self)
  }
}
