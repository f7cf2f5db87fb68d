/// The app store's list of transactions that the app has not finished yet: StoreKit's `Transaction.unfinished`, Google Play's purchases that are not acknowledged.
public protocol StoreQueue: Sendable {
  /// The oldest first.
  func outstanding() async throws -> [OutstandingTransaction]
  /// Tells the store that the buyer has what was paid for. From then on the store does not name the transaction again.
  func finish(_ id: String) async throws
}

/// Something that was paid, or is to be, and that our server may not know yet.
public struct OutstandingTransaction: Hashable, Sendable, Codable {
  /// The store's.
  public let id: String
  /// What the store signed, as its library gave it.
  public let signed: String

  public init(id: String, signed: String) { (self.id, self.signed) = (id, signed) }
}
