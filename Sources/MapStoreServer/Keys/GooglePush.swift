import Crypto
import CryptoExtras
import Logging
import MapStoreWire
import PurchaseLedger
import Support
import Synchronization
import TileIndex

/// Verifies the tokens that Pub/Sub sends with Google's notifications (OpenID Connect, a JWT with RS256), by public
/// keys in a file of the operator's.
///
/// Google changes the keys every few days. The file (https://www.googleapis.com/oauth2/v3/certs, a JSON Web Key Set,
/// RFC 7517) is read again after it was replaced.
final class GooglePush: Sendable {
  private let options: StoreOptions.PushRule
  private let logger: Logger

  private struct State {
    var keys: [String: _RSA.Signing.PublicKey]
    var stamp: FileStamp?
    /// Why the file could not be read, and when it was tried, in milliseconds since 1970.
    var failure: String?
    var triedAt: Int64 = 0
  }

  private let state: Mutex<State>

  /// - Throws: ``StoreError`` that names the file.
  init(_ options: StoreOptions.PushRule, logger: Logger) throws {
    (self.options, self.logger) = (options, logger)
    let stamp = FileStamp(options.keys)
    state = Mutex(State(keys: try Self.keys(options.keys), stamp: stamp))
  }

  /// - Parameters:
  ///   - authorization: the field of the request.
  ///   - now: milliseconds since 1970.
  /// - Throws: `Problem` 401 for anything but a token of Google's for this service.
  func check(_ authorization: String?, now: Int64) throws(Problem) {
    let words = (authorization ?? "").split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else { throw .pushRefused("it carries no token") }
    let token = try WebToken(words[1])
    guard token.header.alg == "RS256" else { throw .pushRefused("its token is not signed with RS256") }
    guard let key = key(token.header.kid ?? "", now: now) else {
      throw .pushRefused("its token names a key that is not known")
    }
    let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)
    guard key.isValidSignature(signature, for: SHA256.hash(data: token.signed), padding: .insecurePKCS1v1_5) else {
      throw .pushRefused("the signature of its token is wrong")
    }
    let claims = token.claims
    guard ["https://accounts.google.com", "accounts.google.com"].contains(claims.iss) else {
      throw .pushRefused("its token is another issuer's")
    }
    guard claims.aud == options.audience else { throw .pushRefused("its token is for another audience") }
    guard claims.exp > now / 1000 - Self.skewSeconds, (claims.iat ?? 0) < now / 1000 + Self.skewSeconds else {
      throw .pushRefused("its token has ended, or not begun")
    }
    if let account = options.account {
      guard claims.email == account, claims.isEmailVerified == true else {
        throw .pushRefused("its token is another service account's")
      }
    }
  }

  private static let skewSeconds: Int64 = 60

  /// A key of the current file.
  private func key(_ id: String, now: Int64) -> _RSA.Signing.PublicKey? {
    let stamp = FileStamp(options.keys)
    return state.withLock { state in
      // After a failure the file is tried again each second: a corrected permission does not show in the stamp.
      if state.stamp != stamp || (state.failure != nil && abs(now - state.triedAt) >= 1000) {
        (state.stamp, state.triedAt) = (stamp, now)
        do {
          (state.keys, state.failure) = (try Self.keys(options.keys), nil)
        } catch {
          let failure = "\(error)"
          if state.failure != failure {
            logger.error(
              "the keys of Google's pushes have changed, but cannot be used; the last ones are kept: \(failure)")
          }
          state.failure = failure
        }
      }
      return state.keys[id]
    }
  }

  private struct KeySet: Decodable {
    struct Key: Decodable {
      var kty: String
      var kid: String?
      var n: String?
      var e: String?
    }
    var keys: [Key]
  }

  private static func keys(_ path: String) throws -> [String: _RSA.Signing.PublicKey] {
    func refused(_ message: String) -> StoreError {
      StoreError(
        .unreadableInput, at: path, message,
        remedy: "fetch it from https://www.googleapis.com/oauth2/v3/certs")
    }
    guard let bytes = try? RegularFile(path)?.allBytes(countMax: 1 << 20) else { throw refused("cannot be read") }
    let set: KeySet
    do { set = try WireJSON.decode(KeySet.self, from: bytes) } catch { throw refused("is no key set: \(error)") }
    var keys: [String: _RSA.Signing.PublicKey] = [:]
    for key in set.keys where key.kty == "RSA" {
      guard let id = key.kid, let n = key.n.flatMap({ Base64.decode($0.utf8) }),
        let e = key.e.flatMap({ Base64.decode($0.utf8) }), let found = try? _RSA.Signing.PublicKey(n: n, e: e)
      else { throw refused("holds a key that is no RSA key") }
      keys[id] = found
    }
    guard !keys.isEmpty else { throw refused("holds no RSA key") }
    return keys
  }
}

/// A parsed JSON Web Token (RFC 7519), not verified.
private struct WebToken {
  struct Header: Decodable {
    var alg: String
    var kid: String?
  }

  struct Claims: Decodable {
    var iss: String
    var aud: String
    /// Seconds since 1970.
    var exp: Int64
    var iat: Int64?
    var email: String?
    var isEmailVerified: Bool?

    private enum CodingKeys: String, CodingKey {
      case iss, aud, exp, iat, email
      case isEmailVerified = "email_verified"
    }
  }

  let header: Header
  let claims: Claims
  let signature: [UInt8]
  let signed: [UInt8]

  private static let bytesMax = 16_384

  init(_ text: Substring) throws(Problem) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.bytesMax, parts.count == 3, let head = Base64.decode(parts[0].utf8),
      let body = Base64.decode(parts[1].utf8), let signature = Base64.decode(parts[2].utf8),
      let header = try? WireJSON.decode(Header.self, from: head),
      let claims = try? WireJSON.decode(Claims.self, from: body)
    else { throw .pushRefused("its token cannot be read") }
    (self.header, self.claims, self.signature) = (header, claims, signature)
    signed = Array("\(parts[0]).\(parts[1])".utf8)
  }
}

extension Problem {
  fileprivate static func pushRefused(_ detail: String) -> Self {
    Self(.unauthorized, title: "the push is not Google's", status: 401, detail: detail)
  }
}
