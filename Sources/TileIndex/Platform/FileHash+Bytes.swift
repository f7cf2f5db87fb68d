import Crypto
import Support

extension FileHash {
  /// The SHA-256 of a text in UTF-8: 64 hexadecimal digits in lower case.
  package static func sha256(ofText text: String) -> String { Hexadecimal.text(SHA256.hash(data: Array(text.utf8))) }
}
