import Foundation
import PurchaseLedger
import StoreSimulators
import Support

/// Generated evidence, signed by an ephemeral certificate authority.
struct Evidences {
  let authority: EphemeralCA
  static let bundle = "com.example"
  static let app: Int64 = 41_234
  /// Two weeks before `testNow`.
  static let date: Int64 = 1_794_009_600_000

  init(_ shape: EphemeralCA.Shape = .init()) throws { authority = try EphemeralCA(shape) }

  func verifier(
    environment: StoreEnvironment? = nil, bundle: String? = Self.bundle, app: Int64? = Self.app
  ) throws -> EvidenceVerifier {
    try EvidenceVerifier(
      identity: StoreIdentity(
        rootCertificates: [authority.rootCertificate], bundleID: bundle, appAppleID: app,
        requiredEnvironment: environment))
  }

  func transaction(_ fact: StoreTransaction = Self.fact(), bundle: String = Self.bundle) throws -> [UInt8] {
    try authority.transaction(fact, bundleID: bundle)
  }

  func notification(
    _ type: String, of transaction: [UInt8]?, bundle: String = Self.bundle, app: Int64? = Self.app,
    environment: StoreEnvironment = .production, renewal: [UInt8]? = nil, signedDate: Int64 = Self.date
  ) throws -> [UInt8] {
    try authority.notification(
      type: type, uuid: "002e14d5-51f5-4503-b5a8-c3a1af68eb20", signedDate: signedDate, environment: environment,
      bundleID: bundle, appAppleID: app, transaction: transaction, renewal: renewal)
  }

  static func fact(
    id: String = "12345", environment: StoreEnvironment = .production, signedDate: Int64 = Self.date,
    revocation: Revocation? = nil
  ) -> StoreTransaction {
    StoreTransaction(
      store: .apple, environment: environment, transactionID: id, originalTransactionID: "12345",
      productID: "com.example.product", productType: .nonConsumable, purchaseDate: 1_698_148_900_000,
      ownership: .purchased, appAccountToken: AccountToken("7e3fb20b-4cdb-47cc-936d-99d65f608138"),
      price: Money(milliunits: 10990, currency: "USD"), reason: "PURCHASE", signedDate: signedDate, trust: .signed,
      statement: revocation == nil ? .purchased : .revoked, revocation: revocation)
  }

  /// A payload of a transaction with a field replaced by other JSON text.
  static func payload(_ fact: StoreTransaction = Self.fact(), replacing field: String, with value: String) -> [UInt8] {
    let json = EphemeralCA.payload(of: fact, bundleID: bundle)
    let start = json.range(of: "\"\(field)\":")!
    let end = json[start.upperBound...].firstIndex { $0 == "," || $0 == "}" }!
    return Array((json[..<start.upperBound] + value + json[end...]).utf8)
  }
}

/// The order n of P-256's group.
enum P256Order {
  private static let bytes = Base64.decode("/////wAAAAD//////////7zm+q2nF56E87nKwvxjJVE=".utf8)!

  /// n - s, big-endian.
  static func minus(_ s: ArraySlice<UInt8>) -> [UInt8] {
    var borrow = 0
    var result = [UInt8](repeating: 0, count: 32)
    for (index, (a, b)) in zip(bytes, s).enumerated().reversed() {
      let difference = Int(a) - Int(b) - borrow
      borrow = difference < 0 ? 1 : 0
      result[index] = UInt8(truncatingIfNeeded: difference)
    }
    return result
  }
}
