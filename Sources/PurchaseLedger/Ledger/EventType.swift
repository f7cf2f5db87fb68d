/// What happened. Integers are hashed; never renumbered. Fields: docs/ledger.md, Types.
public enum EventType: UInt16, Sendable, Hashable, CaseIterable {
  case transaction = 1
  case notification = 2
  case claim = 3
  case accountOpened = 4
  case accountErased = 5
  case policy = 6
  case quarantine = 7
  case decision = 8
  case correction = 9
  case acknowledgement = 10
  case audit = 11
  case amendment = 12
}
