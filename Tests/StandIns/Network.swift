// Stands in for Network where that is missing: the declarations that MapStoreClient uses, for AppleAdapterTests.

public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public var status: Status { .satisfied }
  public var isExpensive: Bool { false }
  public var isConstrained: Bool { false }
}
public final class NWPathMonitor: AsyncSequence, Sendable {
  public typealias Element = NWPath
  public struct Iterator: AsyncIteratorProtocol {
    public mutating func next() async -> NWPath? { nil }
  }
  public init() {}
  public func makeAsyncIterator() -> Iterator { Iterator() }
}
