import Crypto
import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

@Suite(.ownThread) struct CanonicalEncodingTests {
  /// The expected bytes come from an independent implementation of docs/reference/ledger-schema.md. The format is
  /// hashed, so it must never change.
  @Test func aRefundedTransactionEncodesToTheDocumentedBytes() {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "12345", originalTransactionID: "12345",
      productID: "com.example.product", productType: .nonConsumable, purchaseDate: 1_698_148_900_000,
      ownership: .purchased, appAccountToken: AccountToken("7e3fb20b-4cdb-47cc-936d-99d65f608138"),
      price: Money(milliunits: 10990, currency: "USD"), reason: "PURCHASE", signedDate: 1_698_149_950_000,
      trust: .signed, statement: .revoked, revocation: Revocation(date: 1_698_149_940_000, reason: "0"))
    var encoder = CanonicalEncoder()
    fact.encodeBody(into: &encoder)
    #expect(encoder.bytes.count == 198)
    #expect(hex(SHA256.hash(data: encoder.bytes)) == "72f7277ef8738a371295c29ff16c129cb2e7d1a96717feb2139b62dd875670cc")

    var keyed = CanonicalEncoder()
    keyed.u16(EventType.transaction.rawValue)
    keyed.raw(encoder.bytes)
    #expect(hex(SHA256.hash(data: keyed.bytes)).prefix(32) == "a4b5318f869f153d028a737913c0cceb")
  }

  @Test func uuidParsingMatchesFoundation() {
    let text = "7E3fb20b-4CDB-47cc-936d-99d65f608138"
    #expect(UUID(printed: text) == UUID(uuidString: text))
    for wrong in [
      "", "7e3fb20b4cdb47cc936d99d65f608138", "7e3fb20b-4cdb-47cc-936d-99d65f60813g", text + "0",
      "-" + text.dropFirst(),
    ] {
      #expect(UUID(printed: wrong) == nil)
    }
  }

  private func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
  }
}
