/// What a pull brought.
public struct PullReport: Sendable {
  public var pages = 0
  /// Pieces that verified and went into the snapshot.
  public var pieces = 0
  /// Pieces that did not, with their reasons; the pages they came with count all the same.
  public var refusals: [Refusal] = []
  /// A feed has a hole: what happened in it must be asked for by itself.
  public var isWindowLost = false

  public init() {}
}
