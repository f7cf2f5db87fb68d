import Crypto
import CryptoExtras

/// What is left of a verified certificate chain: the leaf's key and the time in which all three certificates are valid.
struct SigningChain: Sendable {
  enum Key: Sendable {
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  let key: Key
  /// Milliseconds since 1970, both inclusive.
  let notBefore: Int64
  let notAfter: Int64
  /// SHA-256 after the bytes that stand before every payload of this chain (a JWS header and its point).
  var hasher = SHA256()

  /// Whether the chain was valid when it signed; whether it is now says nothing about old evidence.
  func checkValidity(at signedDate: Int64) throws(Refusal) {
    guard notBefore <= signedDate, signedDate <= notAfter else {
      throw Refusal(
        .certificateNotValidAtSigning,
        "the certificates are valid from \(notBefore) to \(notAfter), but it was signed at \(signedDate)")
    }
  }
}
