import Crypto
import CryptoExtras
import Support

/// Credentials for the Android Publisher API.
package enum GoogleCredentials: Sendable {
  /// An access token that is refreshed elsewhere.
  case accessToken(String)
  /// A service account: tokens are requested with a signed grant (RFC 7523) and cached until they expire.
  case serviceAccount(email: String, privateKey: String, tokenURI: String)

  /// Reads the JSON file of a service account.
  ///
  /// - Throws: `LedgerError` if a field is missing.
  package static func serviceAccount(json: [UInt8], file: String) throws(LedgerError) -> Self {
    guard let value = try? JSONReader.read(json), let email = value["client_email"]?.string,
      let key = value["private_key"]?.string
    else {
      throw LedgerError(
        .configuration, at: file,
        "lacks client_email or private_key", remedy: "use the JSON key of a service account of the Google Cloud console"
      )
    }
    return .serviceAccount(
      email: email, privateKey: key, tokenURI: value["token_uri"]?.string ?? "https://oauth2.googleapis.com/token")
  }
}

extension GoogleCredentials {
  /// For messages about a refusal.
  var key: StoreRequests.Key {
    let hint = "check its permissions in the Play Console, which take up to a day, and this machine's clock"
    return switch self {
    case .accessToken: .init(name: "the token of google.accessTokenFile", hint: "write a new token; " + hint)
    case .serviceAccount(let email, _, _): .init(name: "the service account \(email)", hint: hint)
    }
  }
}

/// Requests access tokens and caches the current one until a minute before it expires.
actor GoogleTokens {
  private let credentials: GoogleCredentials
  private let requests: StoreRequests
  private let key: _RSA.Signing.PrivateKey?
  private var token: (text: String, until: Int64)?

  /// - Throws: `LedgerError` if the key is not an RSA key.
  init(_ credentials: GoogleCredentials, requests: StoreRequests) throws(LedgerError) {
    self.credentials = credentials
    self.requests = requests
    do {
      if case .serviceAccount(_, let pem, _) = credentials {
        key = try _RSA.Signing.PrivateKey(pemRepresentation: pem)
      } else {
        key = nil
      }
    } catch {
      throw LedgerError(.configuration, at: "google.serviceAccount", "private_key is no RSA key in PEM form")
    }
  }

  /// The value of the `Authorization` field.
  ///
  /// - Parameter isRefused: True if the store rejected the cached token.
  func authorization(isRefused: Bool) async throws -> String {
    guard case .serviceAccount(let email, _, let uri) = credentials, let key else {
      if case .accessToken(let token) = credentials { return "Bearer \(token)" }
      throw LedgerError(.configuration, at: "google", "no credentials")
    }
    if !isRefused, let token, token.until > requests.clock.now { return "Bearer \(token.text)" }
    var answer = try await ask(email, key, uri)
    // The first refusal tells the time at Google, with which the next grant is made.
    if answer["access_token"] == nil { answer = try await ask(email, key, uri) }
    if answer["access_token"] == nil {
      // Not "not in the store", which would settle a question about a purchase.
      throw requests.refusal(StoreRequests.Request(url: uri), 401, answer)
    }
    let lifetime = answer["expires_in"]?.integer ?? 3600
    let text = answer["access_token"]?.string ?? ""
    token = (text, requests.clock.now + max(0, min(lifetime, 86_400) - 60) * 1000)
    return "Bearer \(text)"
  }

  /// The token, or Google's refusal of the grant.
  private func ask(_ email: String, _ key: _RSA.Signing.PrivateKey, _ uri: String) async throws -> JSONValue {
    // Backdated by a minute, as Google refuses what is issued in its future; it takes an hour at most.
    let seconds = requests.clock.now / 1000 - 60
    let grant = try WebToken.make(
      header: [("alg", .string("RS256")), ("typ", .string("JWT"))],
      claims: [
        ("iss", .string(email)), ("scope", .string("https://www.googleapis.com/auth/androidpublisher")),
        ("aud", .string(uri)), ("iat", .init(seconds)), ("exp", .init(seconds + 3600)),
      ],
      sign: { try key.signature(for: SHA256.hash(data: $0), padding: .insecurePKCS1v1_5).rawRepresentation })
    let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(grant)"
    let request = StoreRequests.Request(
      method: "POST", url: uri, contentType: "application/x-www-form-urlencoded", body: Array(form.utf8))
    return try await requests.send(
      request, passing: { status, _ in status == 400 },
      accept: { status, value -> JSONValue? in
        status == 400 || value?["access_token"]?.string != nil ? value ?? .null : nil
      })
  }
}
