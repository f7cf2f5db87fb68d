public import MapStoreWire

/// What a sync has done.
public struct SyncReport: Sendable {
  public struct Purchase: Sendable, Hashable {
    public let id: String
    public let result: PurchaseResult
    /// The store was told that it is done with.
    public let isFinished: Bool

    /// Whether something is left to do for this account: it waits, or was refused and is no other account's.
    public var isOpen: Bool { !isFinished && !result.isAnotherAccounts }
  }

  public struct Resumed: Sendable {
    public let part: ShelfPart
    public let result: Result<InstalledFile, any Error>
  }

  public var purchases: [Purchase] = []
  /// All regions afterwards.
  public var regions: [ShelfRegion] = []
  /// Why there is no new grant document, where that failed.
  public var grantsError: (any Error)?
  /// Downloads that had been interrupted.
  public var resumed: [Resumed] = []
}
