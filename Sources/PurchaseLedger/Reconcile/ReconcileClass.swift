/// How a deal stands in the two books. Integers are hashed in corrections; never renumbered.
public enum ReconcileClass: UInt8, Sendable, Hashable, CaseIterable {
  case matched = 0
  case storeOnly = 1
  case ownOnly = 2
  case stateDiffers = 3
  case accountConflict = 4
  case quarantined = 5

  /// As reports spell it.
  public var name: String {
    switch self {
    case .matched: "matched"
    case .storeOnly: "store-only"
    case .ownOnly: "own-only"
    case .stateDiffers: "state-differs"
    case .accountConflict: "account-conflict"
    case .quarantined: "quarantined"
    }
  }
}
