import Foundation
import MapStoreClient
import MapStoreWire
import PurchaseLedger
import Support
import TileIndex

/// An app store for tests and demonstrations: signs as Apple does, with an authority that nobody has to believe. It keeps a book of what it sold beside its keys.
struct MadeUpStore {
  private let authority: ThrowAwayAuthority
  private let bundleID: String
  private let book: MadeUpBook

  private struct File: Codable {
    var bundleId: String
    var authority: ThrowAwayAuthority.Keys
  }

  static func make(keyFile: String, bundleID: String) throws {
    let authority = try ThrowAwayAuthority()
    let before = umask(0o077)
    defer { umask(before) }
    try OutputFile.write(
      try WireJSON.encode(File(bundleId: bundleID, authority: authority.keys)), to: keyFile, replacing: false)
    try OutputFile.write(authority.rootCertificate, to: keyFile + ".root.der", replacing: true)
  }

  init(keyFile: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(keyFile)
    } catch {
      throw StoreKeyError(
        description: "\(keyFile): cannot be read: \(error); make one with mapstore client store-key", isUnreadable: true
      )
    }
    do {
      let file = try WireJSON.decode(File.self, from: bytes)
      (authority, bundleID) = (try ThrowAwayAuthority(file.authority), file.bundleId)
    } catch {
      throw StoreKeyError(
        description:
          "\(keyFile): is none of a made-up store's keys; make one under a new name: mapstore client store-key NEW-FILE",
        isUnreadable: false)
    }
    book = MadeUpBook(path: "\(keyFile).book.jsonl")
  }

  /// A signed transaction of somebody who has just paid. As in the real stores nobody pays twice for what lasts: who has it gets the transaction of then.
  func sell(_ product: String, to token: String, isSandbox: Bool) throws -> OutstandingTransaction {
    let environment: StoreEnvironment = isSandbox ? .sandbox : .production
    if let known = try book.standing(product, of: token, environment: environment.rawValue) {
      return OutstandingTransaction(id: known.sale.transactionId, signed: known.signed)
    }
    let id = String(UInt64.random(in: 1_000_000_000_000...999_999_999_999_999))
    let now = WallClock.now()
    let fact = StoreTransaction(
      store: .apple, environment: environment, transactionID: id, originalTransactionID: id,
      productID: product, productType: .nonConsumable, purchaseDate: now, ownership: .purchased,
      appAccountToken: UUID(uuidString: token).map(AccountToken.init), reason: "PURCHASE", signedDate: now,
      trust: .signed, statement: .purchased)
    let signed = String(decoding: try authority.transaction(fact, bundleID: bundleID), as: UTF8.self)
    try book.add(signed)
    return OutstandingTransaction(id: id, signed: signed)
  }

  /// Gives the money back for what an account bought last of a product.
  ///
  /// - Returns: the notification that the store sends to the shop; nil when it sold no such thing.
  func refund(_ product: String, of token: String) throws -> [UInt8]? {
    guard let line = try book.last(product, of: token) else { return nil }
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
    try book.replace(line.number, with: String(decoding: signed, as: UTF8.self))
    return Array("{\"signedPayload\":\"\(String(decoding: notification, as: UTF8.self))\"}".utf8)
  }
}
