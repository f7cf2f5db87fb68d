// Stands in for StoreKit where that is missing: the declarations that MapStoreClient uses, for AppleAdapterTests.

public import Foundation

public enum VerificationResult<Signed: Sendable>: Sendable {
  case unverified(Signed, any Error)
  case verified(Signed)
  public var unsafePayloadValue: Signed { fatalError() }
}
extension VerificationResult where Signed == Transaction { public var jwsRepresentation: String { "" } }
public struct Transaction: Sendable {
  public struct Transactions: AsyncSequence, Sendable {
    public typealias Element = VerificationResult<Transaction>
    public struct AsyncIterator: AsyncIteratorProtocol {
      public mutating func next() async -> VerificationResult<Transaction>? { nil }
    }
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }
  public static var unfinished: Transactions { Transactions() }
  public static var updates: Transactions { Transactions() }
  public let id: UInt64
  public let productID: String
  public let purchaseDate: Date
  public func finish() async {}
}
public struct Product: Sendable {
  public struct PurchaseOption: Hashable, Sendable {
    public static func appAccountToken(_ token: UUID) -> PurchaseOption { PurchaseOption() }
  }
  public enum PurchaseResult: Sendable {
    case success(VerificationResult<Transaction>)
    case userCancelled
    case pending
  }
  public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult { .pending }
}
