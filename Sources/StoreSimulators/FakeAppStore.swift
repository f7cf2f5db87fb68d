@_exported public import LocalizedErrors
import PurchaseLedger
@_exported public import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A fake app store for tests and demonstrations. It signs as Apple does, with a certification authority that only
/// servers configured with its root trust, and lists its sales in a file beside its keys.
///
/// Never configure its root on a real map store.
public struct FakeAppStore {
  private let authority: EphemeralCA
  private let bundleID: String
  private let records: FakeStoreRecords

  private struct File: Codable {
    var bundleId: String
    var authority: EphemeralCA.Keys
  }

  /// Makes the keys of a store: `keyFile`, and `keyFile.root.der` with its root certificate.
  ///
  /// - Throws: ``FakeStoreFileError``, also if the file exists.
  public static func make(keyFile: String, bundleID: String) throws {
    let authority = try EphemeralCA()
    let keys = try JSONValue(encoding: File(bundleId: bundleID, authority: authority.keys)).bytes
    try FakeStoreFileError.writing(keyFile) { try AtomicFile.write(keys, to: keyFile, replacing: false, mode: 0o600) }
    let root = keyFile + ".root.der"
    try FakeStoreFileError.writing(root) { try AtomicFile.write(authority.rootCertificate, to: root) }
  }

  /// Opens a store by its keys.
  ///
  /// - Throws: ``FakeStoreFileError``.
  public init(keyFile: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(keyFile)
    } catch let error as JSONFile.Unreadable where error.isMissing {
      throw FakeStoreFileError(
        .unreadable, path: keyFile, "there is no such file", remedy: "make one", repair: .makeKeys)
    } catch {
      throw FakeStoreFileError(
        .unreadable, path: keyFile, "cannot be read: \(error)", remedy: "check its permissions")
    }
    do {
      let file = try JSONValue(parsing: bytes).decoded(as: File.self)
      (authority, bundleID) = (try EphemeralCA(file.authority), file.bundleId)
    } catch {
      throw FakeStoreFileError(
        .damaged, path: keyFile, "is not a fake store's key file", remedy: "make one under a new name",
        repair: .makeKeys)
    }
    records = FakeStoreRecords(path: "\(keyFile).sales.jsonl")
  }

  /// A purchase that the store has signed.
  public struct SignedPurchase: Hashable, Sendable {
    /// The store's id.
    public let id: String
    /// The signed transaction (JWS), as StoreKit gives it to an app.
    public let signed: String
  }

  /// A signed transaction for a purchase. As in real stores a non-consumable product is paid once: an account that owns
  /// it gets the transaction of the first purchase.
  ///
  /// - Parameter token: the account's `appAccountToken`.
  /// - Throws: ``FakeStoreFileError``.
  public func sell(_ product: String, to token: String, isSandbox: Bool = false) throws -> SignedPurchase {
    let environment: StoreEnvironment = isSandbox ? .sandbox : .production
    if let known = try records.standing(product, of: token, environment: environment.rawValue) {
      return SignedPurchase(id: known.sale.transactionId, signed: known.signed)
    }
    let id = String(UInt64.random(in: 1_000_000_000_000...999_999_999_999_999))
    let now = WallClock.now()
    let fact = StoreTransaction(
      store: .apple, environment: environment, transactionID: id, originalTransactionID: id,
      productID: product, productType: .nonConsumable, purchaseDate: now, ownership: .purchased,
      appAccountToken: UUID(uuidString: token).map(AccountToken.init), reason: "PURCHASE", signedDate: now,
      trust: .signed, statement: .purchased)
    let signed = String(decoding: try authority.transaction(fact, bundleID: bundleID), as: UTF8.self)
    try records.add(signed)
    return SignedPurchase(id: id, signed: signed)
  }

  /// Refunds an account's last purchase of a product.
  ///
  /// - Returns: the notification that the fake store sends to the map store; nil when there was no such purchase.
  public func refund(_ product: String, of token: String) throws -> [UInt8]? {
    guard let line = try records.last(product, of: token) else { return nil }
    let sold = line.sale
    let now = WallClock.now()
    let environment: StoreEnvironment = sold.environment == StoreEnvironment.sandbox.rawValue ? .sandbox : .production
    var fact = StoreTransaction(
      store: .apple, environment: environment, transactionID: sold.transactionId,
      originalTransactionID: sold.originalTransactionId, productID: sold.productId, productType: .nonConsumable,
      purchaseDate: sold.purchaseDate, ownership: .purchased,
      appAccountToken: UUID(uuidString: token).map(AccountToken.init), reason: "PURCHASE", signedDate: now,
      trust: .signed, statement: .revoked)
    fact.revocation = Revocation(date: now, reason: "0")
    let signed = try authority.transaction(fact, bundleID: bundleID)
    let notification = try authority.notification(
      type: "REFUND", uuid: UUID().uuidString.lowercased(), signedDate: now, environment: environment,
      bundleID: bundleID, transaction: signed)
    try records.replace(line.number, with: String(decoding: signed, as: UTF8.self))
    return Array("{\"signedPayload\":\"\(String(decoding: notification, as: UTF8.self))\"}".utf8)
  }
}

/// The sales of a fake store in their latest state, one signed transaction per line, in the form that `purchase-ledger
/// reconcile --against` reads.
private struct FakeStoreRecords {
  let path: String

  /// The fields of a transaction that are needed to sign it again.
  struct Sale: Decodable {
    let transactionId: String
    let originalTransactionId: String
    let productId: String
    let purchaseDate: Int64
    let environment: String
    let appAccountToken: String?
    /// When it was refunded.
    let revocationDate: Int64?
  }

  func add(_ signed: String) throws { try write(try lines() + [signed]) }

  func replace(_ number: Int, with signed: String) throws {
    var lines = try lines()
    lines[number] = signed
    try write(lines)
  }

  /// The last sale of a product to an account.
  func last(_ product: String, of token: String) throws -> (number: Int, sale: Sale, signed: String)? {
    try find { $0.productId == product && $0.appAccountToken?.lowercased() == token.lowercased() }
  }

  /// An account's sale of a product that was not refunded.
  func standing(
    _ product: String, of token: String, environment: String
  ) throws -> (number: Int, sale: Sale, signed: String)? {
    try find {
      $0.productId == product && $0.appAccountToken?.lowercased() == token.lowercased()
        && $0.environment == environment && $0.revocationDate == nil
    }
  }

  private func find(_ isWanted: (Sale) -> Bool) throws -> (number: Int, sale: Sale, signed: String)? {
    let lines = try lines()
    for number in lines.indices.reversed() {
      let sale = try sale(lines[number])
      if isWanted(sale) { return (number, sale, lines[number]) }
    }
    return nil
  }

  private func sale(_ signed: String) throws -> Sale {
    let parts = signed.split(separator: ".")
    guard parts.count == 3, let payload = Base64.decode(parts[1].utf8),
      let sale = try? JSONValue(parsing: payload).decoded(as: Sale.self)
    else {
      throw FakeStoreFileError(
        .damaged, path: path, "holds a line that is no transaction", remedy: "remove that line")
    }
    return sale
  }

  private func lines() throws -> [String] {
    do {
      return String(decoding: try JSONFile.bytes(path), as: UTF8.self).split(separator: "\n").map(String.init)
    } catch let error as JSONFile.Unreadable where error.isMissing {
      return []
    }
  }

  private func write(_ lines: [String]) throws {
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    try FakeStoreFileError.writing(path) { try AtomicFile.write(bytes, to: path) }
  }
}

/// The error for an unusable file of the fake store.
public struct FakeStoreFileError: ToolkitError, LocalizedError {
  /// What is wrong with the file.
  public let code: Code
  public let path: String?
  public let message: String
  public let remedy: String?
  /// ``Repair/makeKeys`` where new keys are the remedy.
  public let repair: Repair?

  /// What can be wrong with a file.
  public enum Code: Sendable {
    /// It cannot be read at all.
    case unreadable
    /// Its contents are not what they should be.
    case damaged
    /// It cannot be written.
    case unwritable
  }

  /// What mends it.
  public enum Repair: Sendable {
    /// ``FakeAppStore/make(keyFile:bundleID:)``
    case makeKeys
  }

  package init(_ code: Code, path: String, _ message: String, remedy: String? = nil, repair: Repair? = nil) {
    (self.code, self.path, self.message, self.remedy, self.repair) = (code, path, message, remedy, repair)
  }

  fileprivate static func writing(_ path: String, _ write: () throws -> Void) throws {
    do {
      try write()
    } catch let error as FileSystem.SystemError {
      throw error.isExisting
        ? FakeStoreFileError(.unwritable, path: path, "exists already", remedy: "choose another name")
        : FakeStoreFileError(.unwritable, path: path, "cannot be written: \(error)", remedy: error.writingRemedy)
    }
  }
}
