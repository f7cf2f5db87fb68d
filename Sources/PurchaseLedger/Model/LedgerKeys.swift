#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A pseudonymous account id: the only reference to a person in events.
public struct AccountID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The value.
  public let uuid: UUID

  /// The id of this value.
  public init(_ uuid: UUID) { self.uuid = uuid }

  /// Parses the printed form of a UUID.
  public init?(_ text: String) {
    guard let uuid = UUID(printed: text) else { return nil }
    self.init(uuid)
  }

  package static func random() -> Self { Self(UUID()) }

  public var description: String { uuid.uuidString.lowercased() }
}

// MARK: Keys in tables

/// Store, environment and id as stored in the tables: the key of a transaction, or of a grant by its original
/// transaction.
struct RowKey: Sendable, Hashable, Comparable {
  var store: UInt8
  var environment: UInt8
  var id: String

  /// The order of the tables' primary keys. Ids are ASCII, for which Swift orders text like its bytes.
  static func < (a: Self, b: Self) -> Bool {
    if a.store != b.store { return a.store < b.store }
    if a.environment != b.environment { return a.environment < b.environment }
    return a.id < b.id
  }

  func with(id: String) -> Self { Self(store: store, environment: environment, id: id) }

  /// Whether this is a purchase that Google calls a test.
  var isTestOrder: Bool { store == 2 && environment == 2 }
  /// The same id in production.
  var production: Self { Self(store: store, environment: 1, id: id) }
  /// The key that a production purchase of Google's has where the store calls it a test; nil for others.
  var testOrder: Self? { store == 2 && environment == 1 ? Self(store: store, environment: 2, id: id) : nil }
}

extension RowKey {
  /// Nil for an environment that is never recorded.
  init?(_ key: TransactionKey) {
    guard let environment = key.environment.code else { return nil }
    self.init(store: key.store.code, environment: environment, id: key.id)
  }

  /// The decoded key. Codes that no version wrote decode as Apple, production; `verify` reports the row.
  var transactionKey: TransactionKey {
    TransactionKey(
      store: Store(code: store) ?? .apple, environment: StoreEnvironment(code: environment) ?? .production, id: id)
  }
}
