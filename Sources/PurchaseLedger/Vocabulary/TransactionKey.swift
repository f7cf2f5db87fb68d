/// Names one deal of a store, or, with the id of an original transaction, one grant.
public struct TransactionKey: Sendable, Hashable, Codable {
  public var store: Store
  public var environment: StoreEnvironment
  public var id: String

  public init(store: Store, environment: StoreEnvironment, id: String) {
    self.store = store
    self.environment = environment
    self.id = id
  }
}
