import Foundation
import Support

/// JSON web tokens (RFC 7519) that our side signs to be let in.
enum WebToken {
  /// - Parameter sign: Signs the text before the second dot.
  static func make(
    header: [(String, JSONValue)], claims: [(String, JSONValue)], sign: (Data) throws -> Data
  ) rethrows -> String {
    let text = [header, claims].map { fields in
      Base64.encodeURLText(JSONValue.object(fields.map { .init($0.0, $0.1) }).text.utf8)
    }.joined(separator: ".")
    return try text + "." + Base64.encodeURLText(sign(Data(text.utf8)))
  }
}
