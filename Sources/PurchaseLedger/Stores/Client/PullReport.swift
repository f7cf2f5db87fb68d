/// What a pull brought.
public struct PullReport: Sendable {
  public var pages = 0
  /// Pieces that verified and went into the snapshot.
  public var pieces = 0
  /// Pieces that did not, with their reasons; the pages they came with count all the same.
  public var refusals: [Refusal] = []
  /// A feed has a hole: what happened in it must be asked for by itself.
  public var isWindowLost = false

  /// Something was refused that another configuration would take: the places to go on from stay before it, so that the next pull asks for it again.
  public var isHeld = false

  public init() {}

  /// Notes a refusal.
  mutating func refuse(_ refusal: Refusal) {
    refusals.append(refusal)
    if refusal.code.isOfConfiguration { isHeld = true }
  }
}
