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

extension EventType {
  /// Of facts and messages: what a store says by the evidence that the event names.
  static let stating: [Self] = [.transaction, .notification, .amendment]
  /// These and claims: what such an event names was verified when it was booked.
  static let vouching = stating + [.claim]

  /// As SQL writes them.
  static func list(_ types: [Self]) -> String { "(" + types.map { "\($0.rawValue)" }.joined(separator: ", ") + ")" }
}
