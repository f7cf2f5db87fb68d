import Foundation
import MapStoreClient
import MapStoreWire
import PurchaseLedger
import TileIndex

/// Why a file is none of a made-up store's keys.
struct StoreKeyError: Error, CustomStringConvertible {
  let description: String
  let isUnreadable: Bool
}

/// An app store for tests and demonstrations: signs as Apple does, with an authority that nobody has to believe.
struct MadeUpStore {
  private let authority: ThrowAwayAuthority
  private let bundleID: String

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
        description: "\(keyFile): is none of a made-up store's keys; make one with mapstore client store-key",
        isUnreadable: false)
    }
  }

  /// A signed transaction of somebody who has just paid.
  func sell(_ product: String, to token: String, isSandbox: Bool) throws -> OutstandingTransaction {
    let id = String(UInt64.random(in: 1_000_000_000_000...999_999_999_999_999))
    let now = WallClock.now()
    let fact = StoreTransaction(
      store: .apple, environment: isSandbox ? .sandbox : .production, transactionID: id, originalTransactionID: id,
      productID: product, productType: .nonConsumable, purchaseDate: now, ownership: .purchased,
      appAccountToken: UUID(uuidString: token).map(AccountToken.init), reason: "PURCHASE", signedDate: now,
      trust: .signed, statement: .purchased)
    let signed = try authority.transaction(fact, bundleID: bundleID)
    return OutstandingTransaction(id: id, signed: String(decoding: signed, as: UTF8.self))
  }
}

/// The made-up store's list of what was paid and not finished, in the device's folder: `.mapstore-queue.json`.
final class MadeUpQueue: StoreQueue {
  private let path: String

  init(folder: String) { path = "\(folder)/.mapstore-queue.json" }

  func outstanding() async throws -> [OutstandingTransaction] { try read() }

  func add(_ transaction: OutstandingTransaction) throws { try write(try read() + [transaction]) }

  func finish(_ id: String) async throws { try write(try read().filter { $0.id != id }) }

  private func read() throws -> [OutstandingTransaction] {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch let error as JSONFile.Unreadable where error.isMissing {
      return []
    }
    do {
      return try WireJSON.decode([OutstandingTransaction].self, from: bytes)
    } catch {
      throw StoreKeyError(
        description: "\(path): \(error); remove it: what was paid can be restored", isUnreadable: false)
    }
  }

  private func write(_ transactions: [OutstandingTransaction]) throws {
    try OutputFile.write(try WireJSON.encode(transactions), to: path, replacing: true)
  }
}
