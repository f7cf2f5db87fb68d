import MapStoreWire
import PurchaseLedger
import Support

/// A signed link to a file: which file of which edition, for which account, until when.
struct DownloadLink: Hashable, Sendable {
  var file: String
  /// The first 16 digits of the file's SHA-256: the link is not valid for a new file of the same name.
  var sha256Start: String
  var account: AccountID
  var region: String
  /// Of the account's password: the link ends with it.
  var generation: Int64
  /// Milliseconds since 1970.
  var expiresAt: Int64
  /// Distinguishes links with equal contents.
  var nonce: String

  static let sha256StartCount = 16

  private var signedText: String {
    // Each text is preceded by its length, so that no two links have the same bytes.
    let parts = [file, sha256Start, account.description, region, String(generation), String(expiresAt), nonce]
    return "map-store link 2" + parts.map { "\n\($0.utf8.count) \($0)" }.joined()
  }

  /// The link's path and query.
  func path(signedWith keys: HMACKeys) -> String {
    StoreRoute.file.path(file)
      + "?v=\(sha256Start)&a=\(account)&r=\(PercentEncoding.encode(region))&g=\(generation)&e=\(expiresAt)&n=\(nonce)"
      + "&k=\(keys.signingID)&s=\(keys.signature(of: signedText))"
  }

  /// Reads a link and checks its signature, but not its expiry.
  ///
  /// - Throws: `Problem` 403.
  init(file: String, query: Query, keys: HMACKeys) throws(Problem) {
    guard let start = query["v"], let account = query["a"].flatMap({ AccountID($0) }), let region = query["r"],
      let generation = query["g"].flatMap({ Int64($0) }), let expiresAt = query["e"].flatMap({ Int64($0) }),
      let nonce = query["n"], let key = query["k"],
      let signature = query["s"]
    else { throw .linkRefused("it is not signed", remedy: "ask for one") }
    self.init(
      file: file, sha256Start: start, account: account, region: region, generation: generation, expiresAt: expiresAt,
      nonce: nonce)
    guard keys.isSigned(signedText, by: key, signature) else {
      throw .linkRefused("its signature is wrong", remedy: "ask for another")
    }
  }

  init(
    file: String, sha256Start: String, account: AccountID, region: String, generation: Int64, expiresAt: Int64,
    nonce: String
  ) {
    (self.file, self.sha256Start, self.account) = (file, sha256Start, account)
    (self.region, self.generation, self.expiresAt, self.nonce) = (region, generation, expiresAt, nonce)
  }
}
