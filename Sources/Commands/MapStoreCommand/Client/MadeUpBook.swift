import MapStoreWire
import PurchaseLedger
import Support
import TileIndex

/// What a made-up store sold, in its last state: a signed transaction a line, as `purchase-ledger reconcile --store` reads them.
struct MadeUpBook {
  let path: String

  /// What is needed of a transaction to sign it again.
  struct Sale: Decodable {
    let transactionId: String
    let originalTransactionId: String
    let productId: String
    let purchaseDate: Int64
    let environment: String
    let appAccountToken: String?
    /// The money was given back.
    let revocationDate: Int64?
  }

  func add(_ signed: String) throws { try write(try lines() + [signed]) }

  func replace(_ number: Int, with signed: String) throws {
    var lines = try lines()
    lines[number] = signed
    try write(lines)
  }

  /// The last sale of a product to an account, its line and the number of that.
  func last(_ product: String, of token: String) throws -> (number: Int, sale: Sale, signed: String)? {
    try find { $0.productId == product && $0.appAccountToken?.lowercased() == token.lowercased() }
  }

  /// What an account has of a product: the sale that was not given back.
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
      let sale = try? WireJSON.decode(Sale.self, from: payload)
    else {
      throw StoreKeyError(
        description: "\(path): holds a line that is no transaction; remove that line", isUnreadable: false)
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
    try OutputFile.write(Array(lines.map { $0 + "\n" }.joined().utf8), to: path, replacing: true)
  }
}
